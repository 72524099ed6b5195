// SPDX-License-Identifier: Apache-2.0

package render

import (
	"fmt"
	"slices"
	"sync/atomic"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	cachev1alpha1 "github.com/example/memcached-operator/apis/v1alpha1"
	"github.com/example/memcached-operator/manifests"
	"github.com/example/memcached-operator/reconcilers/guarded"
	"github.com/example/memcached-operator/reconcilers/render/template"
)

// Renderer renders the objects of Memcacheds. It is safe for concurrent use.
type Renderer struct {
	tree Tree
	// shipped is the embedded tree.
	shipped    Tree
	templates  *template.Templates
	parameters parameters
	sets       *sets
	// plain is read from the templates by check; until then it is that of no templates.
	plain     plainPod
	defaults  Defaults
	validator template.Validator
	kinds     []schema.GroupVersionKind
	optional  map[schema.GroupVersionKind]bool
	openShift atomic.Bool
}

// New checks the files of tree, and the objects of each of its components alone and of
// all together, built from the example in tree. The error wraps [Problems] unless the
// templates are valid.
func New(tree Tree, defaults Defaults) (*Renderer, error) {
	r, problems, err := check(tree, defaults)
	if err == nil {
		err = problems.Err()
	}
	if err != nil {
		return nil, fmt.Errorf("templates: %w", err)
	}
	return r, nil
}

// Check is [New] that returns all problems, and warnings of what has no effect in the files that
// differ from the embedded ones. The renderer is nil if there are problems.
func Check(tree Tree, defaults Defaults) (r *Renderer, problems, warnings Problems, err error) {
	if r, problems, err = check(tree, defaults); err != nil {
		return nil, nil, nil, err
	}
	if r.templates.CanBuild() {
		if warnings, err = r.warnings(); err != nil {
			return nil, nil, nil, err
		}
	}
	if len(problems) > 0 {
		r = nil
	}
	return r, problems, warnings, nil
}

func check(tree Tree, defaults Defaults) (*Renderer, Problems, error) {
	defer template.FreeSchema()
	defer template.HoldSchema()()
	specBounds() // Loaded at the start, so that the first Memcached does not wait for it.
	shipped, err := LoadTree(manifests.FS)
	if err != nil {
		return nil, nil, err
	}
	r := &Renderer{tree: tree, shipped: shipped, defaults: defaults, validator: template.NewValidator()}
	problems := r.check()
	if len(problems) == 0 && len(defaults.OperandImages) == 0 {
		images, err := defaults.Images(tree)
		if err != nil {
			return nil, nil, err
		}
		r.defaults.OperandImages = guarded.Repositories(images...)
	}
	return r, problems, nil
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
	if err := checkCapacity(result, mc.Name); err != nil {
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
	return newInput(mc, r.defaults.valuesFor(mc, r.plain, r.openShift.Load()))
}

// desiredObjects turns objects of the templates into those of mc, in the order in which to apply
// them.
func desiredObjects(objects []map[string]any, names template.Names, mc *cachev1alpha1.Memcached) []*unstructured.Unstructured {
	result := setMetadata(objects, names, mc)
	slices.SortStableFunc(result, inApplyOrder)
	return result
}
