// SPDX-License-Identifier: Apache-2.0

package render

import (
	"errors"
	"fmt"
	"maps"
	"path"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/managedfields"
	"k8s.io/client-go/applyconfigurations"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"sigs.k8s.io/kustomize/api/konfig"
	kyaml "sigs.k8s.io/kustomize/kyaml/yaml"
	"sigs.k8s.io/yaml"

	cachev1alpha1 "github.com/example/memcached-operator/apis/v1alpha1"
)

// reservedMetadata are the fields of metadata that the operator or the server sets.
var reservedMetadata = []string{
	"namespace", "generateName", "uid", "resourceVersion", "generation",
	"creationTimestamp", "deletionTimestamp", "managedFields", "ownerReferences", "finalizers",
}

// check tries the base alone, with each component and with all of them, and returns
// the kinds that come out.
func (r *Renderer) check() ([]schema.GroupVersionKind, error) {
	if !r.tree.hasDir(baseDir) {
		return nil, fmt.Errorf("%s: there is no such directory", baseDir)
	}
	mc, in, err := r.example()
	if err != nil {
		return nil, err
	}
	if _, err := r.tree.kustomizations(); err != nil {
		return nil, err
	}
	all := r.tree.components()
	for _, name := range all {
		if !slices.Contains(in.active(all), name) {
			return nil, fmt.Errorf("%s/%s: nothing turns this component on: neither spec.%s in %s nor %s in %s is set",
				componentsDir, name, name, memcachedFile, name, valuesFile)
		}
	}
	sets := [][]string{nil}
	for _, name := range all {
		sets = append(sets, []string{name})
	}
	sets = append(sets, all)
	kinds := map[schema.GroupVersionKind]bool{}
	checker := newChecker()
	for _, components := range sets {
		objects, err := r.try(components, mc, in, checker)
		if err != nil {
			return nil, err
		}
		for _, object := range objects {
			kinds[object.GroupVersionKind()] = true
		}
	}
	return slices.SortedFunc(maps.Keys(kinds), func(a, b schema.GroupVersionKind) int {
		return strings.Compare(a.String(), b.String())
	}), nil
}

// example is the Memcached and the Values that the tree holds to be tried with.
func (r *Renderer) example() (*cachev1alpha1.Memcached, input, error) {
	mc := &cachev1alpha1.Memcached{}
	if err := yaml.UnmarshalStrict(r.tree[memcachedFile], mc); err != nil {
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
	if err := yaml.UnmarshalStrict(r.tree[valuesFile], &values); err != nil {
		return nil, input{}, fmt.Errorf("%s: %w", valuesFile, err)
	}
	in, err := newInput(mc, values.Values)
	return mc, in, err
}

// try renders the example with components and checks what comes out, first as it
// stands in the templates (the error can name the file), then filled in.
func (r *Renderer) try(components []string, mc *cachev1alpha1.Memcached, in input, c checker) ([]*unstructured.Unstructured, error) {
	p, err := newPlan(r.tree, components, in)
	if err != nil {
		return nil, describe(components, err)
	}
	if err := p.checkSources(in, c); err != nil {
		return nil, describe(components, err)
	}
	raw, err := p.objects(in)
	if err != nil {
		return nil, describe(components, err)
	}
	objects, err := p.finish(raw, mc)
	if err != nil {
		return nil, describe(components, err)
	}
	for _, object := range objects {
		if err := c.check(object); err != nil {
			return nil, describe(components, fmt.Errorf("%s %s, filled in from %s: %w", object.GetKind(), object.GetName(), memcachedFile, err))
		}
	}
	return objects, nil
}

func describe(components []string, err error) error {
	if len(components) == 0 {
		return err
	}
	return fmt.Errorf("with component %s: %w", strings.Join(components, ", "), err)
}

// checkSources checks the templates before anything is filled in, with kustomize
// saying which file each came from.
func (p *plan) checkSources(in input, c checker) error {
	held, err := p.tree.withoutReplacements()
	if err != nil {
		return err
	}
	if err := in.place(held, true); err != nil {
		return err
	}
	built, err := build(held, p.root+"buildMetadata: [originAnnotations]\n")
	if err != nil {
		return err
	}
	for _, resource := range built.Resources() {
		file := "?"
		if origin, err := resource.GetOrigin(); err == nil && origin != nil {
			file = origin.Path
			if file == "" {
				file = origin.ConfiguredIn
			}
		}
		if err := resource.SetOrigin(nil); err != nil {
			return err
		}
		objects, err := toObjects([]*kyaml.RNode{&resource.RNode})
		if err != nil {
			return fmt.Errorf("%s: %w", file, err)
		}
		object := &unstructured.Unstructured{Object: objects[0]}
		if err := checkMetadata(object); err != nil {
			return fmt.Errorf("%s: %s %s: %w", file, object.GetKind(), object.GetName(), err)
		}
		if err := c.check(object); err != nil {
			return fmt.Errorf("%s: %s %s: %w", file, object.GetKind(), object.GetName(), err)
		}
	}
	return nil
}

func checkMetadata(object *unstructured.Unstructured) error {
	if object.GroupVersionKind() == (schema.GroupVersionKind{Version: "v1", Kind: "Secret"}) {
		return errors.New("the operator reads and writes no Secrets; make it beside the Memcached and mount it by name")
	}
	metadata, _ := object.Object["metadata"].(map[string]any)
	for _, field := range reservedMetadata {
		if _, set := metadata[field]; set {
			return fmt.Errorf("metadata.%s is not a template's to set; remove it", field)
		}
	}
	if _, set := object.Object["status"]; set {
		return errors.New("status is not a template's to set; remove it")
	}
	return nil
}

// checker checks objects against the schemas that client-go's apply configurations
// carry: an unknown or miscased field, or a value of the wrong type, is an error.
type checker struct {
	types managedfields.TypeConverter
}

func newChecker() checker {
	return checker{applyconfigurations.NewTypeConverter(clientgoscheme.Scheme)}
}

// check passes kinds that client-go does not know: their server will say.
func (c checker) check(object *unstructured.Unstructured) error {
	if !clientgoscheme.Scheme.Recognizes(object.GroupVersionKind()) {
		return nil
	}
	_, err := c.types.ObjectToTyped(object)
	return err
}

func isKustomization(name string) bool {
	return slices.Contains(konfig.RecognizedKustomizationFileNames(), path.Base(name))
}
