// SPDX-License-Identifier: Apache-2.0

package template

import (
	"cmp"
	"fmt"
	"maps"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/kustomize/api/resource"
	kyaml "sigs.k8s.io/kustomize/kyaml/yaml"
)

// validateObjects validates the objects that p builds from example. On a mistake, a
// second build finds the file that contains it.
func (t *Templates) validateObjects(p *Prebuilt, example Input) error {
	objects, _, err := p.Objects(example)
	if err != nil {
		return err
	}
	for _, object := range objects {
		u := &unstructured.Unstructured{Object: object}
		if err := t.validator.validateTemplate(u); err != nil {
			err = fmt.Errorf("%s %s, filled in from %s: %w", u.GetKind(), u.GetName(), MemcachedFile, err)
			return cmp.Or(t.validateOrigins(p, example), err)
		}
	}
	return nil
}

// validateOrigins validates the objects of a full build that records the file of each
// object, and names the file in its error.
func (t *Templates) validateOrigins(p *Prebuilt, example Input) error {
	tree := maps.Clone(p.tree)
	if err := example.addTo(tree); err != nil {
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
		if err := t.validator.validateTemplate(object); err != nil {
			return fmt.Errorf("%s: %s %s: %w", file, object.GetKind(), object.GetName(), err)
		}
	}
	return nil
}

// cutOrigin removes kustomize's annotations from a resource and returns its file, with
// the kustomizations that may have changed it.
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
