// SPDX-License-Identifier: Apache-2.0

package render

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/runtime/schema"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"

	cachev1alpha1 "github.com/example/memcached-operator/apis/v1alpha1"
	"github.com/example/memcached-operator/manifests"
	"github.com/example/memcached-operator/reconcilers/render/template"
)

// readExample returns the input that tree contains as the example of every field, with the examples of
// parameters.
func readExample(tree Tree, parameters parameters) (template.Input, error) {
	if len(tree[template.MemcachedFile]) == 0 {
		return template.Input{}, fmt.Errorf("%s: no such file, or it is empty", template.MemcachedFile)
	}
	mc := &cachev1alpha1.Memcached{}
	if err := template.DecodeStrict(tree[template.MemcachedFile], mc); err != nil {
		return template.Input{}, fmt.Errorf("%s: %w", template.MemcachedFile, err)
	}
	if mc.Name == "" {
		return template.Input{}, fmt.Errorf("%s: metadata.name of the example Memcached is missing", template.MemcachedFile)
	}
	mc.Spec.Parameters = parameters.examples()
	var values struct {
		APIVersion string         `json:"apiVersion"`
		Kind       string         `json:"kind"`
		Metadata   map[string]any `json:"metadata"`
		Values     `json:",inline"`
	}
	if err := template.DecodeStrict(tree[template.ValuesFile], &values); err != nil {
		return template.Input{}, fmt.Errorf("%s: %w", template.ValuesFile, err)
	}
	return newInput(mc, values.Values)
}

// check validates the components of an empty Memcached, these with each component that
// differs from the shipped one, and all components. It sets the kinds of the objects that
// they build, and which of them are optional.
func (r *Renderer) check() error {
	sets, err := r.setsToValidate()
	if err != nil {
		return err
	}
	kinds := map[schema.GroupVersionKind]bool{}
	r.optional = map[schema.GroupVersionKind]bool{}
	for i, components := range sets {
		p, err := r.validate(components, i == 0)
		if err != nil {
			return err
		}
		for _, id := range p.Names().Objects {
			kind := id.GroupVersionKind()
			if !kinds[kind] {
				r.optional[kind] = i > 0 && !clientgoscheme.Scheme.Recognizes(kind)
			}
			kinds[kind] = true
		}
	}
	r.kinds = slices.SortedFunc(maps.Keys(kinds), func(a, b schema.GroupVersionKind) int {
		return strings.Compare(a.String(), b.String())
	})
	return nil
}

func (r *Renderer) setsToValidate() ([][]string, error) {
	shipped, err := LoadTree(manifests.FS)
	if err != nil {
		return nil, err
	}
	empty, err := r.input(&cachev1alpha1.Memcached{})
	if err != nil {
		return nil, err
	}
	all := r.templates.Components()
	least := empty.Active(all)
	sets := [][]string{least}
	for _, name := range all {
		// Tests validate the shipped components; doing so at each start would take too long.
		if !r.templates.IsComponentOf(shipped, name) {
			set := slices.Concat(least, withParents(name, all))
			slices.Sort(set)
			sets = append(sets, slices.Compact(set))
		}
	}
	return append(sets, all), nil
}

// withParents returns the component called name and those of all that contain its field:
// a field is present only together with these.
func withParents(name string, all []string) []string {
	var set []string
	for _, other := range all {
		if other == name || strings.HasPrefix(name, other+".") {
			set = append(set, other)
		}
	}
	return set
}

// validate validates the objects of components, and their names. verify also verifies
// the placeholders.
func (r *Renderer) validate(components []string, verify bool) (*template.Prebuilt, error) {
	p, err := r.templates.Validate(components, verify)
	if err == nil {
		err = checkNames(r.templates, p, r.templates.Example(components))
	}
	if err != nil && len(components) > 0 {
		return nil, fmt.Errorf("with component %s: %w", strings.Join(components, ", "), err)
	}
	return p, err
}
