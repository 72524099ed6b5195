// SPDX-License-Identifier: Apache-2.0

package render

import (
	"bytes"
	"fmt"
	"maps"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/example/memcached-operator/reconcilers/render/template"
)

// exampleName is the name of the Memcached of [Renderer.Examples], which no other object should have.
const exampleName = "memcached-operator-dry-run"

// Example is an object of the example Memcached.
type Example struct {
	Object *unstructured.Unstructured
	// Source is the file, followed by the kind and the name of the template, for [Renderer.Problems].
	Source string
	// Set names the components with which it is built; empty for those of an empty Memcached.
	Set string
}

// IsShipped reports whether the templates are the embedded ones.
func (r *Renderer) IsShipped() bool { return maps.EqualFunc(r.tree, r.shipped, bytes.Equal) }

// Examples returns the objects that New has checked, in namespace and without an owner: those of
// the example with the components of an empty Memcached, with each component that differs from
// the shipped one, and with all components.
func (r *Renderer) Examples(namespace string) ([]Example, error) {
	defer template.FreeSchema()
	defer template.HoldSchema()()
	sets, err := r.setsToValidate()
	if err != nil {
		return nil, err
	}
	var examples []Example
	for _, set := range sets {
		p, problems := r.templates.Validate(set.components, false)
		if err := problems.Err(); err != nil {
			return nil, err
		}
		objects, err := objectsNamed(p, r.templates.Example(set.components).Named(exampleName), exampleName)
		if err != nil {
			return nil, err
		}
		for i, object := range objects {
			id := p.Names().Objects[i]
			object.SetNamespace(namespace)
			object.SetOwnerReferences(nil)
			examples = append(examples, Example{object, fmt.Sprintf("%s: %s %s", r.templates.File(id), id.Kind, id.Name), set.name})
		}
	}
	return examples, nil
}

// Problems returns the problems of errs, with the lines of the templates that they name: the message
// of an error begins with a file, kind and name of an object, and the path of a field.
func (r *Renderer) Problems(errs ...error) Problems { return r.tree.Problems(errs...) }
