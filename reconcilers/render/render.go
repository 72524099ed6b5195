// SPDX-License-Identifier: Apache-2.0

package render

import (
	"fmt"
	"slices"
	"sync/atomic"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	cachev1alpha1 "github.com/example/memcached-operator/apis/v1alpha1"
	"github.com/example/memcached-operator/reconcilers/guarded"
	"github.com/example/memcached-operator/reconcilers/render/template"
)

// Renderer renders the objects of Memcacheds. It is safe for concurrent use.
type Renderer struct {
	tree       Tree
	templates  *template.Templates
	parameters parameters
	sets       *sets
	defaults   Defaults
	validator  template.Validator
	kinds      []schema.GroupVersionKind
	optional   map[schema.GroupVersionKind]bool
	openShift  atomic.Bool
}

// New checks the files of tree, and the objects of each of its components alone and of
// all together, built from the example in tree. The error names the file and the field.
func New(tree Tree, defaults Defaults) (*Renderer, error) {
	if len(defaults.OperandImages) == 0 {
		images, err := defaults.Images(tree)
		if err != nil {
			return nil, fmt.Errorf("templates: %w", err)
		}
		defaults.OperandImages = guarded.Repositories(images...)
	}
	defer template.FreeSchema()
	defer template.HoldSchema()()
	specBounds() // Loaded at the start, so that the first Memcached does not wait for it.
	r := &Renderer{tree: tree, defaults: defaults, validator: template.NewValidator()}
	if err := r.parse(); err != nil {
		return nil, fmt.Errorf("templates: %w", err)
	}
	return r, nil
}

func (r *Renderer) parse() error {
	var err error
	if r.parameters, err = readParameters(r.tree); err != nil {
		return err
	}
	example, err := readExample(r.tree, r.parameters)
	if err != nil {
		return err
	}
	if r.templates, err = template.Parse(r.tree, example, r.validator); err != nil {
		return err
	}
	r.sets = newSets(r.templates, r.defaults.Log)
	return r.check()
}

// Kinds returns the kinds of all objects in the templates, sorted.
func (r *Renderer) Kinds() []schema.GroupVersionKind {
	return slices.Clone(r.kinds)
}

// IsOptional reports whether an API server need not serve kind, one of Kinds: only
// components contain it, and client-go does not know it.
func (r *Renderer) IsOptional(kind schema.GroupVersionKind) bool {
	return r.optional[kind]
}

// SetOpenShift sets whether the cluster is OpenShift, which assigns users and groups to
// pods. It may be called at any time.
func (r *Renderer) SetOpenShift(is bool) {
	r.openShift.Store(is)
}

// Source returns the file with the first object of kind, one of Kinds.
func (r *Renderer) Source(kind schema.GroupVersionKind) string {
	return r.templates.FileOfKind(kind)
}

// Render returns the desired objects of mc in the order in which to apply them. An error
// is caused by the templates or by the spec of mc, and persists until one of them changes.
func (r *Renderer) Render(mc *cachev1alpha1.Memcached) ([]*unstructured.Unstructured, error) {
	if !r.defaults.AllowPrivilegedFields {
		if err := guarded.Check(mc, r.defaults.OperandImages); err != nil {
			return nil, err
		}
	}
	in, err := r.input(mc)
	if err != nil {
		return nil, err
	}
	if err := checkSpec(in.Memcached["spec"].(map[string]any)); err != nil {
		return nil, err
	}
	if err := r.parameters.check(mc.Spec.Parameters); err != nil {
		return nil, err
	}
	p, raw, size, err := r.sets.objects(in, mc.Namespace)
	if err != nil {
		return nil, err
	}
	result := desiredObjects(raw, p.Names(), mc)
	if err := applySpecPatches(r.validator, result, mc.Spec.Patches); err != nil {
		return nil, err
	}
	if size <= smallJSON && len(mc.Spec.Patches) == 0 {
		return result, nil
	}
	if err := checkSizes(result); err != nil {
		return nil, err
	}
	return result, nil
}

// input returns the input of the build for mc.
func (r *Renderer) input(mc *cachev1alpha1.Memcached) (template.Input, error) {
	return newInput(mc, r.defaults.valuesFor(mc, r.openShift.Load()))
}

// desiredObjects turns objects of the templates into those of mc, in the order in which to apply
// them.
func desiredObjects(objects []map[string]any, names template.Names, mc *cachev1alpha1.Memcached) []*unstructured.Unstructured {
	result := setMetadata(objects, names, mc)
	slices.SortStableFunc(result, inApplyOrder)
	return result
}
