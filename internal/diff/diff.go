// SPDX-License-Identifier: Apache-2.0

package diff

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"

	discoveryv1 "k8s.io/api/discovery/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	cachev1alpha1 "github.com/example/memcached-operator/apis/v1alpha1"
	"github.com/example/memcached-operator/reconcilers/apply"
	"github.com/example/memcached-operator/reconcilers/nodes"
	"github.com/example/memcached-operator/reconcilers/render"
)

// maxConcurrent is how many Memcacheds are compared at once.
const maxConcurrent = 8

// Change is an object that the operator would create, change or delete.
type Change struct {
	// Before is the live object, or nil if it would be created.
	Before *unstructured.Unstructured
	// After is the object after the apply, or nil if it would be deleted.
	After *unstructured.Unstructured
}

// object returns the object after the apply, or the deleted one.
func (c Change) object() *unstructured.Unstructured {
	if c.After != nil {
		return c.After
	}
	return c.Before
}

// describe returns the kind and the name of the object, for messages.
func (c Change) describe() string { return describe(c.object()) }

// Comparison is the result for one Memcached.
type Comparison struct {
	Namespace, Name string
	// Changes are in the order of apply, the deleted objects last.
	Changes []Change
	// Replacements are the workloads among the changed objects whose pods would be replaced.
	Replacements []Replacement
	// Paused reports that the operator applies nothing, because spec.paused is set.
	Paused bool
	// Skipped are the optional kinds of objects that the operator skips, since the API server does not serve them.
	Skipped []string
	// Errs holds why the Memcached cannot be rendered, or an object not be applied.
	Errs []error
}

// Compare compares the objects that renderer renders for memcacheds with the live objects of cluster. The
// comparisons have the order of memcacheds. The error is that of a request; what is wrong with one Memcached
// is in its comparison.
func Compare(ctx context.Context, cluster *Cluster, renderer *render.Renderer, memcacheds []Memcached) ([]Comparison, error) {
	comparisons, errs := make([]Comparison, len(memcacheds)), make([]error, len(memcacheds))
	var group sync.WaitGroup
	slots := make(chan struct{}, maxConcurrent)
	for i, mc := range memcacheds {
		slots <- struct{}{}
		group.Go(func() {
			defer func() { <-slots }()
			comparisons[i], errs[i] = compare(ctx, cluster, renderer, mc)
		})
	}
	group.Wait()
	for _, err := range errs {
		if err != nil {
			return nil, err
		}
	}
	return comparisons, nil
}

func compare(ctx context.Context, cluster *Cluster, renderer *render.Renderer, mc Memcached) (Comparison, error) {
	result := Comparison{Namespace: mc.Namespace, Name: mc.Name}
	if mc.Spec.Paused != nil && *mc.Spec.Paused {
		result.Paused = true
		return result, nil
	}
	desired, err := renderer.RenderWith(&mc.Memcached, mc.layout())
	if err != nil {
		result.Errs = append(result.Errs, fmt.Errorf("cannot be rendered: %w", err))
		return result, nil
	}
	for _, rendered := range desired {
		if kind := rendered.GroupVersionKind(); !cluster.serves(kind) && renderer.IsOptional(kind) {
			result.Skipped = append(result.Skipped, kind.Kind)
			continue
		}
		live, err := cluster.find(ctx, mc, rendered)
		if err != nil {
			return result, err
		}
		if live != nil && !metav1.IsControlledBy(live, &mc) {
			result.Errs = append(result.Errs, fmt.Errorf("%s exists and is not controlled by the Memcached: delete or rename it", describe(live)))
			continue
		}
		after, err := cluster.apply(ctx, rendered, live)
		if err != nil {
			result.Errs = append(result.Errs, fmt.Errorf("%s: %w", describe(rendered), err))
		}
		if after == nil {
			continue
		}
		result.add(live, Change{cluster.normalize(live), cluster.normalize(after)})
	}
	for _, live := range mc.Controlled {
		if !slices.ContainsFunc(desired, func(rendered *unstructured.Unstructured) bool { return isSame(rendered, live) }) {
			result.add(live, Change{Before: cluster.normalize(live)})
		}
	}
	result.Replacements = slices.DeleteFunc(result.Replacements, func(r Replacement) bool { return r.isInPlace(&mc.Memcached) })
	return result, nil
}

// add adds change, which concerns live, unless nothing differs.
func (c *Comparison) add(live *unstructured.Unstructured, change Change) {
	if change.Before != nil && change.After != nil && equality.Semantic.DeepEqual(change.Before.Object, change.After.Object) {
		return
	}
	c.Changes = append(c.Changes, change)
	if replacement, ok := replacementOf(change, live); ok {
		c.Replacements = append(c.Replacements, replacement)
	}
}

// isSame reports whether a and b are the same object, in any version of its API.
func isSame(a, b *unstructured.Unstructured) bool {
	return a.GroupVersionKind().GroupKind() == b.GroupVersionKind().GroupKind() && a.GetName() == b.GetName()
}

func describe(object *unstructured.Unstructured) string {
	return object.GetKind() + " " + object.GetName()
}

// Memcached is a Memcached and the objects that it controls.
type Memcached struct {
	cachev1alpha1.Memcached
	Controlled []*unstructured.Unstructured
}

// layout returns which pods have the stable names of mc, and what its proxies know of them.
func (mc Memcached) layout() nodes.Layout {
	list := ""
	var endpointSlices []discoveryv1.EndpointSlice
	for _, object := range mc.Controlled {
		slice := discoveryv1.EndpointSlice{}
		if object.GroupVersionKind() == apply.EndpointSliceKind && runtime.DefaultUnstructuredConverter.FromUnstructured(object.Object, &slice) == nil {
			endpointSlices = append(endpointSlices, slice)
		}
		if object.GetKind() == "ConfigMap" && object.GetName() == nodes.ListName(mc.Name) {
			list, _, _ = unstructured.NestedString(object.Object, "data", "nodes")
		}
	}
	return nodes.Remembered(mc.Name, endpointSlices).WithList(list)
}

// List returns the Memcacheds of namespace, or of all namespaces if it is empty, sorted by namespace and
// name. With names it returns these alone, and an error if one does not exist.
func (c *Cluster) List(ctx context.Context, namespace string, names ...string) ([]Memcached, error) {
	list := &cachev1alpha1.MemcachedList{}
	if err := c.client.List(ctx, list, client.InNamespace(namespace)); err != nil {
		return nil, fmt.Errorf("listing Memcacheds: %w", err)
	}
	controlled, err := c.listControlled(ctx, namespace)
	if err != nil {
		return nil, err
	}
	var memcacheds []Memcached
	for _, mc := range list.Items {
		if mc.DeletionTimestamp == nil && (len(names) == 0 || slices.Contains(names, mc.Name)) {
			memcacheds = append(memcacheds, Memcached{mc, controlled[mc.UID]})
		}
	}
	for _, name := range names {
		if !slices.ContainsFunc(memcacheds, func(mc Memcached) bool { return mc.Name == name }) {
			return nil, fmt.Errorf("no Memcached %s in namespace %s", name, namespace)
		}
	}
	slices.SortFunc(memcacheds, func(a, b Memcached) int {
		return strings.Compare(a.Namespace+"/"+a.Name, b.Namespace+"/"+b.Name)
	})
	return memcacheds, nil
}
