// SPDX-License-Identifier: Apache-2.0

package render

import (
	"bytes"
	"maps"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// exampleName is the name of the Memcached of [Renderer.Examples], which no other object should have.
const exampleName = "memcached-operator-dry-run"

// Example is an object of the example Memcached.
type Example struct {
	Object *unstructured.Unstructured
	// Place is a problem of its template without a message, for [Renderer.Problem].
	Place Problem
}

// IsShipped reports whether the templates are the embedded ones.
func (r *Renderer) IsShipped() bool { return maps.EqualFunc(r.tree, r.shipped, bytes.Equal) }

// Examples returns the objects that New has checked, in namespace and without an owner: those of
// the example with the components of an empty Memcached, with each component that differs from
// the shipped one, and with all components.
func (r *Renderer) Examples(namespace string) ([]Example, error) {
	sets, err := r.setsToValidate()
	if err != nil {
		return nil, err
	}
	var examples []Example
	for _, set := range sets {
		built, problems := r.templates.Validate(set.components, false)
		if err := problems.Err(); err != nil {
			return nil, err
		}
		objects, err := objectsNamed(built, r.templates.Example(set.components), exampleName)
		if err != nil {
			return nil, err
		}
		for i, object := range objects {
			id := built.Names()[i]
			object.SetNamespace(namespace)
			object.SetOwnerReferences(nil)
			examples = append(examples, Example{object, Problem{File: r.templates.File(id), Object: id.Kind + " " + id.Name, Set: set.name}})
		}
	}
	return examples, nil
}

// Problem returns p with its line.
func (r *Renderer) Problem(p Problem) Problem { return r.tree.Problems(p)[0] }
