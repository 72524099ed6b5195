// SPDX-License-Identifier: Apache-2.0

package render

import (
	"bytes"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"

	cachev1alpha1 "github.com/example/memcached-operator/apis/v1alpha1"
	"github.com/example/memcached-operator/reconcilers/render/template"
)

// readExample returns the input that tree contains as the example of every field, with the examples of
// parameters. The error joins those of both files.
func readExample(tree Tree, parameters parameters) (template.Input, error) {
	mc, errMemcached := readExampleMemcached(tree)
	var values struct {
		APIVersion string         `json:"apiVersion"`
		Kind       string         `json:"kind"`
		Metadata   map[string]any `json:"metadata"`
		Values     `json:",inline"`
	}
	errValues := template.Prefixed(template.ValuesFile, template.DecodeStrict(tree[template.ValuesFile], &values))
	if err := errors.Join(errMemcached, errValues); err != nil {
		return template.Input{}, err
	}
	mc.Spec.Parameters = parameters.examples()
	return newInput(mc, values.Values)
}

func readExampleMemcached(tree Tree) (*cachev1alpha1.Memcached, error) {
	mc := &cachev1alpha1.Memcached{}
	if len(tree[template.MemcachedFile]) == 0 {
		return nil, fmt.Errorf("%s: no such file, or it is empty", template.MemcachedFile)
	}
	if err := template.DecodeStrict(tree[template.MemcachedFile], mc); err != nil {
		return nil, template.Prefixed(template.MemcachedFile, err)
	}
	if mc.Name == "" {
		return nil, fmt.Errorf("%s: metadata.name of the example Memcached is missing", template.MemcachedFile)
	}
	return mc, nil
}

// check checks the files; the components of an empty Memcached, these with each component that
// differs from the shipped one, and all components. It sets the kinds of the objects that
// they build, and which of them are optional.
func (r *Renderer) check() template.Problems {
	var errParameters error
	r.parameters, errParameters = readParameters(r.tree)
	example, err := readExample(r.tree, r.parameters)
	problems := r.tree.Problems(errParameters, err)
	var found template.Problems
	r.templates, found = template.Parse(r.tree, example, r.validator)
	problems = append(problems, found...)
	if r.templates.CanBuild() {
		r.sets = newSets(r.templates, r.defaults.Log)
		problems = append(problems, r.checkSets()...)
	}
	return withoutConsequences(problems.Sorted(), r.tree, r.shipped)
}

// checkSets validates the sets of components.
func (r *Renderer) checkSets() (problems template.Problems) {
	sets, err := r.setsToValidate()
	if err != nil {
		return r.tree.Problems(err)
	}
	kinds := map[schema.GroupVersionKind]bool{}
	r.optional = map[schema.GroupVersionKind]bool{}
	for i, set := range sets {
		p, found := r.validate(set, i == 0)
		problems = append(problems, found...)
		if p == nil {
			continue
		}
		if i == 0 {
			problems = append(problems, r.tree.Problems(r.readPlain(p, r.templates.Example(set.components)))...)
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
	return problems
}

// withoutConsequences returns problems without those in files that are as shipped, if there are
// others, of which they are consequences: a replacement no longer finds a field that was misspelt.
func withoutConsequences(problems template.Problems, tree, shipped Tree) template.Problems {
	isShipped := func(p template.Problem) bool {
		content, ok := shipped[p.File]
		return ok && bytes.Equal(content, tree[p.File])
	}
	if changed := slices.DeleteFunc(slices.Clone(problems), isShipped); len(changed) > 0 {
		return changed
	}
	return problems
}

// componentSet is a set of components to validate.
type componentSet struct {
	components []string
	// name says which, for messages; empty for those of an empty Memcached.
	name string
}

// file returns the file of the component that the set is about: the site's for those of an empty Memcached.
func (s componentSet) file() string {
	component, ok := strings.CutPrefix(s.name, "with component ")
	if !ok {
		component = "site"
	}
	return "components/" + component + "/kustomization.yaml"
}

func (r *Renderer) setsToValidate() ([]componentSet, error) {
	empty, err := r.input(&cachev1alpha1.Memcached{})
	if err != nil {
		return nil, err
	}
	all := r.templates.Components()
	least := empty.Active(all)
	sets := []componentSet{{components: least}}
	for _, name := range all {
		// Tests validate the shipped components; doing so at each start would take too long.
		if !r.templates.IsComponentOf(r.shipped, name) {
			set := slices.Concat(least, withParents(name, all))
			slices.Sort(set)
			sets = append(sets, componentSet{slices.Compact(set), "with component " + name})
		}
	}
	return append(sets, componentSet{all, "with all components"}), nil
}

// warnings returns what has no effect in the templates.
func (r *Renderer) warnings() (Problems, error) {
	empty, err := r.input(&cachev1alpha1.Memcached{})
	if err != nil {
		return nil, err
	}
	return r.templates.Warnings(r.shipped, empty.Active(r.templates.Components())), nil
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

// validate validates the objects of a set, and their names. verify also verifies the placeholders.
func (r *Renderer) validate(set componentSet, verify bool) (p *template.Prebuilt, problems template.Problems) {
	defer func() {
		if cause := recover(); cause != nil { // in kustomize, or in what prepares its templates
			p, problems = nil, r.tree.Problems(fmt.Errorf("%s: the build crashes: %v; undo the last edit, and report it", set.file(), cause))
		}
	}()
	p, problems = r.templates.Validate(set.components, verify)
	if p != nil {
		example := r.templates.Example(set.components)
		problems = r.tree.Problems(checkNames(r.templates, p, example), checkExampleSizes(r.templates, p, example))
	}
	for i := range problems {
		problems[i].Set = set.name
	}
	return p, problems
}

// readPlain reads what values depend on from the objects of p, the set of a Memcached without fields, and fails if they would
// be refused.
func (r *Renderer) readPlain(p *template.Prebuilt, example template.Input) error {
	objects, err := objectsNamed(p, example, exampleName)
	if err != nil {
		return err
	}
	if err := checkCapacity(objects, exampleName); err != nil {
		return fmt.Errorf("%s: no Memcached could be rendered: %w", r.templates.FileOfKind(deployment), err)
	}
	container := memcachedContainer(objects, exampleName)
	r.plain.capacity = capacityOf(container)
	r.plain.sleepSeconds, _, _ = unstructured.NestedInt64(container, "lifecycle", "preStop", "sleep", "seconds")
	return nil
}
