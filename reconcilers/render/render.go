// SPDX-License-Identifier: Apache-2.0

package render

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"sync/atomic"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/utils/keymutex"
	"k8s.io/utils/lru"
	"sigs.k8s.io/kustomize/kyaml/resid"

	cachev1alpha1 "github.com/example/memcached-operator/apis/v1alpha1"
	"github.com/example/memcached-operator/reconcilers/guarded"
)

const (
	// ManagedByLabel is on every object that is rendered, with the value ManagedBy;
	// the operator's caches select by it.
	ManagedByLabel = "app.kubernetes.io/managed-by"
	// ManagedBy is the value of ManagedByLabel, and the operator's name.
	ManagedBy = "memcached-operator"

	// maxSets bounds the memory that sets of components take, at about 15 KB each: authors
	// of Memcacheds choose the sets.
	maxSets = 1024
	// maxBuilders is how many locks the namespaces share, by a hash of their names.
	maxBuilders = 256
)

// Renderer turns Memcacheds into objects. It is safe for use by many goroutines.
type Renderer struct {
	parsed
	defaults Defaults
	checker  checker
	kinds    []schema.GroupVersionKind
	sources  map[schema.GroupVersionKind]string
	optional map[schema.GroupVersionKind]bool
	// example is the tree's own, from which all sets of components are built.
	example input
	// files are where the objects of the templates stand.
	files map[templateName]string

	openShift atomic.Bool

	// mu makes a set be built once by those who ask for it at the same time.
	mu   sync.Mutex
	sets *lru.Cache
	// builders has each namespace build one set at a time: a build takes up to 250 ms of CPU,
	// and a namespace with many sets must not take the CPU from the others.
	builders keymutex.KeyMutex
	// parts are those of the smallest and the largest set.
	parts *parts
}

// New checks tree, every component of it alone and all together, with the example
// that it holds. The error names the file and the field.
func New(tree Tree, defaults Defaults) (*Renderer, error) {
	if len(defaults.OperandImages) == 0 {
		images, err := defaults.Images(tree)
		if err != nil {
			return nil, fmt.Errorf("templates: %w", err)
		}
		defaults.OperandImages = guarded.Repositories(images...)
	}
	r := &Renderer{
		parsed:   parsed{tree: tree},
		defaults: defaults,
		checker:  newChecker(),
		sources:  map[schema.GroupVersionKind]string{},
		sets:     lru.New(maxSets),
		parts:    newParts(),
		builders: keymutex.NewHashed(maxBuilders),
	}
	defer builds.freeSchema()
	builds.begin()
	defer builds.end()
	specBounds() // Now, and not when the first Memcached waits for it.
	kinds, err := r.check()
	if err != nil {
		return nil, fmt.Errorf("templates: %w", err)
	}
	r.kinds = kinds
	return r, nil
}

// Kinds are the kinds of all objects that the templates can make, sorted.
func (r *Renderer) Kinds() []schema.GroupVersionKind {
	return slices.Clone(r.kinds)
}

// IsOptional tells whether the operator can do without kind, one of Kinds: only
// components bring it, and client-go does not know it, so that an API server need
// not serve it.
func (r *Renderer) IsOptional(kind schema.GroupVersionKind) bool {
	return r.optional[kind]
}

// SetOpenShift says that the cluster is OpenShift, which assigns users and groups to
// pods by itself. It may be called at any time.
func (r *Renderer) SetOpenShift(is bool) {
	r.openShift.Store(is)
}

// Source is the file that holds the first object of kind, one of Kinds.
func (r *Renderer) Source(kind schema.GroupVersionKind) string {
	return r.sources[kind]
}

// Render returns the objects that should exist for mc, in the order in which to
// apply them. An error speaks of the templates or of mc's spec: it stays until one
// of the two changes.
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
	if err := checkSpec(in.memcached["spec"].(map[string]any)); err != nil {
		return nil, err
	}
	p, err := r.prebuiltFor(in, nil)
	if err != nil {
		return nil, err
	}
	objects, size, err := p.objects(in)
	if kind, ok := errors.AsType[*kindError](err); ok {
		objects, size, err = r.objectsOfOtherKinds(in, kind)
	}
	if err != nil {
		return nil, err
	}
	result := p.setMetadata(objects, mc)
	slices.SortStableFunc(result, inApplyOrder)
	if err := r.checker.patch(result, mc.Spec.Patches); err != nil {
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

// input is what goes into the build for mc.
func (r *Renderer) input(mc *cachev1alpha1.Memcached) (input, error) {
	return newInput(mc, r.defaults.valuesFor(mc, r.openShift.Load()))
}

// prebuiltFor returns the prebuilt for the components that in turns on, and builds it
// the first time. kinds are the fields whose values in in are of another kind than
// those of the example.
func (r *Renderer) prebuiltFor(in input, kinds [][]any) (*prebuilt, error) {
	components := in.active(r.tree.components())
	key := slices.Clone(components)
	example := r.example
	for _, source := range kinds {
		value := exampleOfKind(lookup(in.fields(), source))
		example = example.copy()
		setAt(example.fields(), source, value)
		key = append(key, fmt.Sprintf("%s=%T", dotted(source), value))
	}
	name := strings.Join(key, ",")
	set := r.set(name, func() (*prebuilt, error) { return r.prebuild(components, example) })
	if !set.built.Load() {
		namespace := in.namespace()
		r.builders.LockKey(namespace)
		defer func() { _ = r.builders.UnlockKey(namespace) }()
	}
	return set.prebuilt()
}

// set is a set of components.
type set struct {
	// prebuilt builds the set the first time, and returns what it built then.
	prebuilt func() (*prebuilt, error)
	built    atomic.Bool
}

// set returns the set that is kept under name, or a new one that is made by build.
func (r *Renderer) set(name string, build func() (*prebuilt, error)) *set {
	r.mu.Lock()
	defer r.mu.Unlock()
	if kept, ok := r.sets.Get(name); ok {
		return kept.(*set)
	}
	s := &set{}
	s.prebuilt = sync.OnceValues(func() (*prebuilt, error) {
		defer s.built.Store(true)
		return build()
	})
	r.sets.Add(name, s)
	return s
}

// prebuild compiles and verifies the set components.
func (r *Renderer) prebuild(components []string, example input) (*prebuilt, error) {
	builds.begin()
	defer builds.end()
	example = example.without(r.off(components))
	p, err := compile(r.parsed, components, example)
	if err != nil {
		return nil, err
	}
	if err := p.verify(example); err != nil {
		return nil, err
	}
	r.parts.share(p.placeholders)
	if p.placeholders == nil {
		r.defaults.Log.Info("Rendering by full builds, which takes 10 to 100 times longer: the templates change what a replacement filled in", "components", components)
	}
	return p, nil
}

// objectsOfOtherKinds returns the objects for in, in which the values that errors of
// the kind of first name are of another kind than in the example.
func (r *Renderer) objectsOfOtherKinds(in input, first *kindError) (objects []map[string]any, size int, err error) {
	kinds := [][]any{first.source}
	for {
		p, err := r.prebuiltFor(in, kinds)
		if err != nil {
			return nil, 0, err
		}
		objects, size, err := p.objects(in)
		next, ok := errors.AsType[*kindError](err)
		if !ok || slices.ContainsFunc(kinds, func(source []any) bool { return slices.Equal(source, next.source) }) {
			return objects, size, err
		}
		kinds = append(kinds, next.source)
	}
}

// exampleOfKind returns an example of the kind of value, a number or a string.
func exampleOfKind(value any) any {
	if _, isNumber := value.(int64); isNumber {
		return int64(1)
	}
	return "example"
}

// setMetadata sets the metadata that the operator owns: name, namespace, owner
// reference and managed-by label.
func (p *prebuilt) setMetadata(objects []map[string]any, mc *cachev1alpha1.Memcached) []*unstructured.Unstructured {
	p.naming.apply(objects, mc.Name)
	result := make([]*unstructured.Unstructured, 0, len(objects))
	for _, object := range objects {
		u := &unstructured.Unstructured{Object: object}
		metadata := object["metadata"].(map[string]any)
		metadata["namespace"] = mc.Namespace
		metadata["ownerReferences"] = []any{ownerReference(mc)}
		labels, ok := metadata["labels"].(map[string]any)
		if !ok {
			labels = map[string]any{}
			metadata["labels"] = labels
		}
		labels[ManagedByLabel] = ManagedBy
		mirrorServiceAccount(object)
		result = append(result, u)
	}
	return result
}

// inApplyOrder puts what others need first, as kustomize and Helm do: configuration
// and services before workloads.
func inApplyOrder(a, b *unstructured.Unstructured) int {
	x, y := gvk(a), gvk(b)
	switch {
	case x.IsLessThan(y):
		return -1
	case y.IsLessThan(x):
		return 1
	default:
		return 0
	}
}

func gvk(u *unstructured.Unstructured) resid.Gvk {
	k := u.GroupVersionKind()
	return resid.Gvk{Group: k.Group, Version: k.Version, Kind: k.Kind}
}

// ownerReference is a map, since an apply configuration takes as long to convert as all
// else that a plain Memcached takes.
func ownerReference(mc *cachev1alpha1.Memcached) map[string]any {
	return map[string]any{
		"apiVersion":         cachev1alpha1.SchemeGroupVersion.String(),
		"kind":               memcachedKind,
		"name":               mc.Name,
		"uid":                string(mc.UID),
		"controller":         true,
		"blockOwnerDeletion": true,
	}
}
