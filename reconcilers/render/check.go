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

// check validates the templates with the example that they hold, and returns the kinds
// that come out.
func (r *Renderer) check() ([]schema.GroupVersionKind, error) {
	if !r.tree.hasDir(baseDir) {
		return nil, fmt.Errorf("%s: there is no such directory", baseDir)
	}
	var err error
	if r.example, err = r.tree.example(); err != nil {
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
	if r.files, r.sources, err = r.tree.files(r.kustomizations); err != nil {
		return nil, err
	}
	if !slices.ContainsFunc(slices.Collect(maps.Values(r.files)), isObjectOfBase) {
		return nil, fmt.Errorf("%s/%s: no object comes out of it; list the files under resources", baseDir, kustomizationFile)
	}
	all := r.tree.components()
	for _, name := range all {
		if !slices.Contains(r.example.active(all), name) {
			return nil, fmt.Errorf("%s/%s: nothing turns this component on: neither spec.%s in %s nor %s in %s is set",
				componentsDir, name, name, memcachedFile, name, valuesFile)
		}
	}
	if err := cmp.Or(r.checkReplacements(), r.tree.checkTargets(r.kustomizations)); err != nil {
		return nil, err
	}
	kinds, err := r.validateSets(all)
	if err != nil {
		return nil, err
	}
	return slices.SortedFunc(maps.Keys(kinds), func(a, b schema.GroupVersionKind) int {
		return strings.Compare(a.String(), b.String())
	}), nil
}

func isObjectOfBase(file string) bool {
	return strings.HasPrefix(file, baseDir+"/") && file != memcachedFile && file != valuesFile
}

// validateSets validates the components of an empty Memcached, these with each of the
// components called all that is not as it was shipped, and all of them. It returns the
// kinds that come out of them together, and notes which of them are optional.
func (r *Renderer) validateSets(all []string) (map[schema.GroupVersionKind]bool, error) {
	sets, err := r.setsToValidate(all)
	if err != nil {
		return nil, err
	}
	kinds := map[schema.GroupVersionKind]bool{}
	r.optional = map[schema.GroupVersionKind]bool{}
	for i, components := range sets {
		objects, err := r.validate(components, i == 0)
		if err != nil {
			return nil, err
		}
		for _, kind := range objects {
			if !kinds[kind] {
				r.optional[kind] = i > 0 && !clientgoscheme.Scheme.Recognizes(kind)
			}
			kinds[kind] = true
		}
	}
	return kinds, nil
}

func (r *Renderer) setsToValidate(all []string) ([][]string, error) {
	shipped, err := LoadTree(manifests.FS)
	if err != nil {
		return nil, err
	}
	empty, err := r.input(&cachev1alpha1.Memcached{})
	if err != nil {
		return nil, err
	}
	least := empty.active(all)
	sets := [][]string{least}
	for _, name := range all {
		// Tests have validated those that are shipped; a start has not got the time.
		if !r.tree.sameIn(componentsDir+"/"+name, shipped) {
			set := slices.Concat(least, withParents(name, all))
			slices.Sort(set)
			sets = append(sets, slices.Compact(set))
		}
	}
	return append(sets, all), nil
}

// example returns the Memcached and the Values that the tree holds to be built with.
func (t Tree) example() (input, error) {
	mc := &cachev1alpha1.Memcached{}
	if err := decodeStrict(t[memcachedFile], mc); err != nil {
		return input{}, fmt.Errorf("%s: %w", memcachedFile, err)
	}
	if mc.Name == "" {
		return input{}, fmt.Errorf("%s: the example Memcached is missing or has no metadata.name", memcachedFile)
	}
	var values struct {
		APIVersion string         `json:"apiVersion"`
		Kind       string         `json:"kind"`
		Metadata   map[string]any `json:"metadata"`
		Values     `json:",inline"`
	}
	if err := decodeStrict(t[valuesFile], &values); err != nil {
		return input{}, fmt.Errorf("%s: %w", valuesFile, err)
	}
	return newInput(mc, values.Values)
}

// validate builds the example with components, checks what comes out and returns the
// kinds of it. Where something is wrong, a second build lets kustomize say which file it
// comes from. verify also verifies the placeholders, as the first render of every set
// does.
func (r *Renderer) validate(components []string, verify bool) ([]schema.GroupVersionKind, error) {
	example := r.example.without(r.off(components))
	p, err := compile(r.parsed, components, example)
	if err == nil && verify {
		err = p.verify(example)
	}
	if err != nil {
		return nil, describe(components, err)
	}
	if err := cmp.Or(r.validateObjects(p, example), r.validateNames(p, example)); err != nil {
		return nil, describe(components, err)
	}
	r.parts.add(p.placeholders)
	var kinds []schema.GroupVersionKind
	for _, object := range p.naming.objects {
		kinds = append(kinds, schema.FromAPIVersionAndKind(object.apiVersion, object.kind))
	}
	return kinds, nil
}

func (r *Renderer) validateObjects(p *prebuilt, example input) error {
	objects, _, err := p.objects(example)
	if err != nil {
		return err
	}
	for _, object := range objects {
		u := &unstructured.Unstructured{Object: object}
		if err := r.checker.checkTemplate(u); err != nil {
			err = fmt.Errorf("%s %s, filled in from %s: %w", u.GetKind(), u.GetName(), memcachedFile, err)
			return cmp.Or(r.checkOrigins(p, example), err)
		}
	}
	return nil
}

// off returns the components that are not among components.
func (r *Renderer) off(components []string) []string {
	return slices.DeleteFunc(r.tree.components(), func(name string) bool { return slices.Contains(components, name) })
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

// checkOrigins checks the objects of a full build, with kustomize saying which file each
// came from.
func (r *Renderer) checkOrigins(p *prebuilt, example input) error {
	tree := maps.Clone(p.tree)
	if err := example.place(tree); err != nil {
		return err
	}
	built, err := build(tree, p.root+"buildMetadata: [originAnnotations, transformerAnnotations]\n")
	if err != nil {
		return err
	}
	for _, resource := range built.Resources() {
		file, err := cutOrigin(resource)
		if err != nil {
			return err
		}
		objects, err := toObjects([]*kyaml.RNode{&resource.RNode})
		if err != nil {
			return fmt.Errorf("%s: %w", file, err)
		}
		object := &unstructured.Unstructured{Object: objects[0]}
		if err := r.checker.checkTemplate(object); err != nil {
			return fmt.Errorf("%s: %s %s: %w", file, object.GetKind(), object.GetName(), err)
		}
	}
	return nil
}

// cutOrigin takes kustomize's annotations off a resource and returns the file it came
// from, with the kustomizations that may have changed it.
func cutOrigin(r *resource.Resource) (file string, err error) {
	file = "?"
	if origin, err := r.GetOrigin(); err == nil && origin != nil {
		file = cmp.Or(origin.Path, origin.ConfiguredIn)
	}
	transformations, err := r.GetTransformations()
	if err != nil {
		return "", err
	}
	for _, transformation := range transformations {
		file += ", changed by " + transformation.ConfiguredIn
	}
	if err := r.SetOrigin(nil); err != nil {
		return "", err
	}
	return file, r.ClearTransformations()
}

func isKustomization(name string) bool {
	return slices.Contains(konfig.RecognizedKustomizationFileNames(), path.Base(name))
}
