// SPDX-License-Identifier: Apache-2.0

package render

import (
	"fmt"
	"slices"
	"strings"
	"sync"
	"sync/atomic"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	metav1ac "k8s.io/client-go/applyconfigurations/meta/v1"
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

	// maxPlans bounds the memory that sets of components take (about 100 KB each):
	// authors of Memcacheds choose the sets.
	maxPlans = 256
	// maxPatched bounds the memory of patched objects, at about 40 KB each.
	maxPatched = 128
)

// Renderer turns Memcacheds into objects. It is safe for use by many goroutines.
type Renderer struct {
	parsed
	defaults Defaults
	checker  checker
	kinds    []schema.GroupVersionKind
	sources  map[schema.GroupVersionKind]string
	optional map[schema.GroupVersionKind]bool
	mains    mains

	// patched remembers what patches came to, by digest of objects and patches.
	patched *lru.Cache

	openShift atomic.Bool

	mu    sync.Mutex
	plans map[string]*planOnce
}

type planOnce struct {
	sync.Once
	plan *plan
	err  error
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
		mains:    mains{},
		patched:  lru.New(maxPatched),
		plans:    map[string]*planOnce{},
	}
	defer forgetSchema()
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
	p, err := r.planFor(in)
	if err != nil {
		return nil, err
	}
	objects, err := p.objects(in)
	if err != nil {
		return nil, err
	}
	finished, err := p.finish(objects, mc)
	if err != nil {
		return nil, err
	}
	return r.patch(finished, mc.Spec.Patches)
}

// input is what goes into the build for mc.
func (r *Renderer) input(mc *cachev1alpha1.Memcached) (input, error) {
	return newInput(mc, r.defaults.valuesFor(mc, r.openShift.Load()))
}

// planFor returns the plan for the components that in turns on, and makes it the
// first time.
func (r *Renderer) planFor(in input) (*plan, error) {
	components := in.active(r.tree.components())
	key := strings.Join(components, ",")
	r.mu.Lock()
	once, ok := r.plans[key]
	if !ok {
		if len(r.plans) >= maxPlans {
			clear(r.plans)
		}
		once = &planOnce{}
		r.plans[key] = once
	}
	r.mu.Unlock()
	once.Do(func() {
		defer forgetSchema()
		once.plan, once.err = newPlan(r.parsed, components, in, r.mains)
	})
	return once.plan, once.err
}

// finish gives the objects what is not the templates' to say: name, namespace,
// owner and the label that marks them as the operator's.
func (p *plan) finish(objects []map[string]any, mc *cachev1alpha1.Memcached) ([]*unstructured.Unstructured, error) {
	if err := p.naming.check(objects); err != nil {
		return nil, err
	}
	p.naming.apply(objects, mc.Name)
	owner, err := ownerReference(mc)
	if err != nil {
		return nil, err
	}
	result := make([]*unstructured.Unstructured, 0, len(objects))
	for _, object := range objects {
		u := &unstructured.Unstructured{Object: object}
		metadata := object["metadata"].(map[string]any)
		metadata["namespace"] = mc.Namespace
		metadata["ownerReferences"] = []any{runtime.DeepCopyJSON(owner)}
		labels, ok := metadata["labels"].(map[string]any)
		if !ok {
			labels = map[string]any{}
			metadata["labels"] = labels
		}
		labels[ManagedByLabel] = ManagedBy
		mirrorServiceAccount(object)
		result = append(result, u)
	}
	slices.SortStableFunc(result, inApplyOrder)
	return result, nil
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

func ownerReference(mc *cachev1alpha1.Memcached) (map[string]any, error) {
	return runtime.DefaultUnstructuredConverter.ToUnstructured(metav1ac.OwnerReference().
		WithAPIVersion(cachev1alpha1.SchemeGroupVersion.String()).
		WithKind(memcachedKind).
		WithName(mc.Name).
		WithUID(mc.UID).
		WithController(true).
		WithBlockOwnerDeletion(true))
}
