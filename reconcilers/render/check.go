// SPDX-License-Identifier: Apache-2.0

package render

import (
	"cmp"
	"fmt"
	"maps"
	"path"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"sigs.k8s.io/kustomize/api/konfig"
	"sigs.k8s.io/kustomize/api/resource"
	kyaml "sigs.k8s.io/kustomize/kyaml/yaml"

	cachev1alpha1 "github.com/example/memcached-operator/apis/v1alpha1"
	"github.com/example/memcached-operator/manifests"
)

// check tries the templates with the example that they hold, and returns the kinds
// that come out.
func (r *Renderer) check() ([]schema.GroupVersionKind, error) {
	if !r.tree.hasDir(baseDir) {
		return nil, fmt.Errorf("%s: there is no such directory", baseDir)
	}
	mc, in, err := r.example()
	if err != nil {
		return nil, err
	}
	if r.parsed, err = parse(r.tree); err != nil {
		return nil, err
	}
	if err := r.tree.checkFiles(r.kustomizations, r.checker); err != nil {
		return nil, err
	}
	if r.kustomizations[baseDir] == nil {
		return nil, fmt.Errorf("%s/%s: there is no such file", baseDir, kustomizationFile)
	}
	all := r.tree.components()
	for _, name := range all {
		if !slices.Contains(in.active(all), name) {
			return nil, fmt.Errorf("%s/%s: nothing turns this component on: neither spec.%s in %s nor %s in %s is set",
				componentsDir, name, name, memcachedFile, name, valuesFile)
		}
	}
	kinds, err := r.trySets(all, mc, in)
	if err != nil {
		return nil, err
	}
	if err := r.tree.checkTargets(r.kustomizations); err != nil {
		return nil, err
	}
	return slices.SortedFunc(maps.Keys(kinds), func(a, b schema.GroupVersionKind) int {
		return strings.Compare(a.String(), b.String())
	}), nil
}

// trySets tries the base alone, with each of the components called all that is not as
// it was shipped, and with all of them. It notes what comes out of them together: the
// kinds, which of them are optional, and the main objects.
func (r *Renderer) trySets(all []string, mc *cachev1alpha1.Memcached, in input) (map[schema.GroupVersionKind]bool, error) {
	sets := [][]string{nil}
	shipped, err := LoadTree(manifests.FS)
	if err != nil {
		return nil, err
	}
	for _, name := range all {
		// Tests have tried those that are shipped; it takes time that a start has not got.
		if !r.tree.sameIn(componentsDir+"/"+name, shipped) {
			sets = append(sets, withParents(name, all))
		}
	}
	sets = append(sets, all)
	kinds := map[schema.GroupVersionKind]bool{}
	r.optional = map[schema.GroupVersionKind]bool{}
	var tried []*plan
	for _, components := range sets {
		p, err := r.try(components, mc, in)
		if err != nil {
			return nil, err
		}
		if len(p.templates) == 0 {
			return nil, fmt.Errorf("%s/%s: no object comes out of it; list the files under resources", baseDir, kustomizationFile)
		}
		for _, object := range p.naming.objects {
			kind := schema.FromAPIVersionAndKind(object.apiVersion, object.kind)
			if !kinds[kind] {
				r.optional[kind] = len(components) > 0 && !clientgoscheme.Scheme.Recognizes(kind)
			}
			kinds[kind] = true
		}
		tried = append(tried, p)
	}
	// The last set has every component on. It decides, but for what one component
	// takes away.
	r.mains.add(tried[len(tried)-1].templates)
	for _, p := range tried {
		r.mains.add(p.templates)
	}
	return kinds, nil
}

// example is the Memcached and the Values that the tree holds to be tried with.
func (r *Renderer) example() (*cachev1alpha1.Memcached, input, error) {
	mc := &cachev1alpha1.Memcached{}
	if err := decodeStrict(r.tree[memcachedFile], mc); err != nil {
		return nil, input{}, fmt.Errorf("%s: %w", memcachedFile, err)
	}
	if mc.Name == "" {
		return nil, input{}, fmt.Errorf("%s: the example Memcached is missing or has no metadata.name", memcachedFile)
	}
	var values struct {
		APIVersion string         `json:"apiVersion"`
		Kind       string         `json:"kind"`
		Metadata   map[string]any `json:"metadata"`
		Values     `json:",inline"`
	}
	if err := decodeStrict(r.tree[valuesFile], &values); err != nil {
		return nil, input{}, fmt.Errorf("%s: %w", valuesFile, err)
	}
	in, err := newInput(mc, values.Values)
	return mc, in, err
}

// try renders the example with components and checks what comes out. That is enough
// for one component; where something is wrong, and for the base and for all of them
// together, it also checks what stands in the templates before anything is filled in,
// so that the error can name the file. What no whole build has confirmed is good
// enough when it is in order.
func (r *Renderer) try(components []string, mc *cachev1alpha1.Memcached, in input) (*plan, error) {
	p, err := compile(r.parsed, components, in, nil)
	if err != nil {
		return nil, describe(components, err)
	}
	wrong := r.tryPlan(p, mc, in)
	if wrong != nil || len(components) == 0 || len(components) == len(r.tree.components()) {
		if err := r.checkSources(p, in); err != nil {
			return nil, describe(components, err)
		}
	}
	if wrong != nil || len(components) == 0 {
		if err := p.prove(in); err != nil {
			return nil, describe(components, err)
		}
		wrong = r.tryPlan(p, mc, in)
	}
	if wrong != nil {
		return nil, describe(components, wrong)
	}
	return p, nil
}

// tryPlan fills in and finishes p, and checks the objects.
func (r *Renderer) tryPlan(p *plan, mc *cachev1alpha1.Memcached, in input) error {
	raw, err := p.objects(in)
	if err != nil {
		return err
	}
	objects, err := p.finish(raw, mc)
	if err != nil {
		return err
	}
	for _, object := range objects {
		if err := r.checker.check(object); err != nil {
			return fmt.Errorf("%s %s, filled in from %s: %w", object.GetKind(), object.GetName(), memcachedFile, err)
		}
	}
	return nil
}

// withParents is the component called name and those among all whose names its own
// begins with: a field is present only together with those around it.
func withParents(name string, all []string) []string {
	var set []string
	for _, other := range all {
		if other == name || strings.HasPrefix(name, other+".") {
			set = append(set, other)
		}
	}
	return set
}

func describe(components []string, err error) error {
	if len(components) == 0 {
		return err
	}
	return fmt.Errorf("with component %s: %w", strings.Join(components, ", "), err)
}

// checkSources checks the templates before anything is filled in, with kustomize
// saying which file each came from.
func (r *Renderer) checkSources(p *plan, in input) error {
	built, err := p.buildHeld(in, "buildMetadata: [originAnnotations, transformerAnnotations]\n")
	if err != nil {
		return err
	}
	for _, resource := range built.Resources() {
		if isInput(&resource.RNode) {
			continue
		}
		source, changes, err := cutOrigin(resource)
		if err != nil {
			return err
		}
		file := source + changes
		objects, err := toObjects([]*kyaml.RNode{&resource.RNode})
		if err != nil {
			return fmt.Errorf("%s: %w", file, err)
		}
		object := &unstructured.Unstructured{Object: objects[0]}
		if err := r.checker.checkTemplate(object); err != nil {
			return fmt.Errorf("%s: %s %s: %w", file, object.GetKind(), object.GetName(), err)
		}
		if kind := object.GroupVersionKind(); r.sources[kind] == "" {
			r.sources[kind] = source
		}
	}
	return nil
}

// cutOrigin takes kustomize's notes off a resource and tells the file it came from
// and, in words, the kustomizations that may have changed it.
func cutOrigin(r *resource.Resource) (source, changes string, err error) {
	source = "?"
	if origin, err := r.GetOrigin(); err == nil && origin != nil {
		source = cmp.Or(origin.Path, origin.ConfiguredIn)
	}
	transformations, err := r.GetTransformations()
	if err != nil {
		return "", "", err
	}
	for _, transformation := range transformations {
		changes += ", changed by " + transformation.ConfiguredIn
	}
	if err := r.SetOrigin(nil); err != nil {
		return "", "", err
	}
	return source, changes, r.ClearTransformations()
}

func isKustomization(name string) bool {
	return slices.Contains(konfig.RecognizedKustomizationFileNames(), path.Base(name))
}
