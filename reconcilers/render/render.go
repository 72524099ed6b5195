// SPDX-License-Identifier: Apache-2.0

package render

import (
	"fmt"
	"slices"
	"strings"
	"sync"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	cachev1alpha1 "github.com/example/memcached-operator/apis/v1alpha1"
	"github.com/example/memcached-operator/manifests"
	"github.com/example/memcached-operator/reconcilers/guarded"
	"github.com/example/memcached-operator/reconcilers/nodes"
	"github.com/example/memcached-operator/reconcilers/render/patch"
	"github.com/example/memcached-operator/reconcilers/render/template"
)

// InvalidPatchError says which of spec.patches is invalid, and why.
type InvalidPatchError = patch.Error

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
	openShift bool
	// operandImages returns the images that a Memcached may name without privileged fields.
	operandImages func() (guarded.Images, error)
}

// New checks the files of tree, and the objects of each of its components alone and of
// all together, built from the example in tree; of a tree that tests have validated, the
// plain objects only. The error wraps [Problems] unless the templates are valid.
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
	shipped, err := LoadTree(manifests.FS)
	if err != nil {
		return nil, nil, err
	}
	r := &Renderer{tree: tree, shipped: shipped, defaults: defaults, validator: template.NewValidator()}
	r.operandImages = sync.OnceValues(r.loadOperandImages)
	return r, r.check(), nil
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

// ForOpenShift returns r, or a copy of it, that renders for OpenShift if is, which assigns users and groups to pods.
func (r *Renderer) ForOpenShift(is bool) *Renderer {
	if r.openShift == is {
		return r
	}
	other := *r
	other.openShift = is
	return &other
}

// IsForOpenShift reports whether r renders for OpenShift.
func (r *Renderer) IsForOpenShift() bool { return r.openShift }

// FileOfKind returns the file with the first object of kind, one of Kinds.
func (r *Renderer) FileOfKind(kind schema.GroupVersionKind) string {
	return r.templates.FileOfKind(kind)
}

// FileOf returns the template file of object, which was rendered for the Memcached called memcached.
func (r *Renderer) FileOf(memcached string, object *unstructured.Unstructured) string {
	return r.templates.File(templateOf(memcached, object))
}

// templateOf returns the identity in the templates of object, which was rendered for the Memcached called memcached.
func templateOf(memcached string, object *unstructured.Unstructured) template.ObjectID {
	name := template.MainName
	if object.GetName() != memcached {
		name = strings.TrimPrefix(object.GetName(), memcached+"-")
	}
	return template.ObjectID{APIVersion: object.GetAPIVersion(), Kind: object.GetKind(), Name: name}
}

// Source is where an object comes from.
type Source struct {
	// File is the template file.
	File string
	// Components are those that change the object, in the order in which they do.
	Components []string
}

// Sources returns the source of each of objects, which were rendered for mc. It builds the templates once for each of their
// components, and once more.
func (r *Renderer) Sources(mc *cachev1alpha1.Memcached, objects []*unstructured.Unstructured) ([]Source, error) {
	in, err := r.input(mc, nodes.Layout{})
	if err != nil {
		return nil, err
	}
	changes := r.templates.Changes(in)
	sources := make([]Source, len(objects))
	for i, object := range objects {
		sources[i] = Source{File: r.FileOf(mc.Name, object), Components: changes[templateOf(mc.Name, object)]}
	}
	return sources, nil
}

// Render is [Renderer.RenderWith] for a Memcached of which no pods were observed.
func (r *Renderer) Render(mc *cachev1alpha1.Memcached) ([]*unstructured.Unstructured, error) {
	return r.RenderWith(mc, nodes.Layout{})
}

// RenderWith returns the desired objects of mc, whose pods have the stable names in layout, in the order in which to apply them. An
// error is caused by the templates or by the spec of mc, and persists until one of them changes.
func (r *Renderer) RenderWith(mc *cachev1alpha1.Memcached, layout nodes.Layout) ([]*unstructured.Unstructured, error) {
	if err := r.checkGuarded(mc); err != nil {
		return nil, err
	}
	return r.render(mc, layout)
}

func (r *Renderer) render(mc *cachev1alpha1.Memcached, layout nodes.Layout) ([]*unstructured.Unstructured, error) {
	in, err := r.input(mc, layout)
	if err != nil {
		return nil, err
	}
	if err := checkSpec(in.Memcached["spec"].(map[string]any)); err != nil {
		return nil, err
	}
	if err := r.parameters.check(mc.Spec.Parameters); err != nil {
		return nil, err
	}
	set, err := r.sets.get(in, mc.Namespace)
	if err != nil {
		return nil, err
	}
	result, err := desiredObjects(set.Objects, in, mc)
	if err != nil {
		return nil, err
	}
	if err := patch.Apply(r.validator, result, mc.Spec.Patches); err != nil {
		return nil, err
	}
	for _, object := range result {
		mirrorServiceAccount(object.Object)
	}
	if err := checkServes(result, mc.Name); err != nil {
		return nil, err
	}
	return result, checkSizes(result)
}

// input returns the input of the build for mc.
func (r *Renderer) input(mc *cachev1alpha1.Memcached, layout nodes.Layout) (template.Input, error) {
	values := r.defaults.valuesFor(mc, r.plain, r.openShift)
	values.Nodes, values.Proxy = nodesValues(mc, layout), proxyValues(mc, layout, r.openShift)
	if values.Proxy != nil && mc.Spec.Proxy.HandoverSeconds != nil {
		values.Proxy.HandOver, values.OmitPreStop = handOverValues(&mc.Spec, values.CacheFile), false
	}
	in, err := newInput(mc, values)
	if err == nil && values.CacheFile != nil {
		delete(in.Memcached["spec"].(map[string]any), "extraArgs") // CacheFile has them, and components/extraArgs another command.
	}
	return in, err
}

// builder builds the objects for an input, with the names that name gives their templates.
type builder func(in template.Input, name func(template string) string) ([]map[string]any, error)

// desiredObjects returns the objects that build builds for mc, in the order in which to apply them.
func desiredObjects(build builder, in template.Input, mc *cachev1alpha1.Memcached) ([]*unstructured.Unstructured, error) {
	objects, err := builtObjects(build, in, mc)
	slices.SortStableFunc(objects, inApplyOrder)
	return objects, err
}

// builtObjects returns the objects that build builds for mc, in the order of the templates.
func builtObjects(build builder, in template.Input, mc *cachev1alpha1.Memcached) ([]*unstructured.Unstructured, error) {
	objects, err := build(in, func(template string) string { return objectName(mc.Name, template) })
	if err != nil {
		return nil, err
	}
	return setMetadata(objects, mc), nil
}
