// SPDX-License-Identifier: Apache-2.0

//go:build e2e

package cluster

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"

	"sigs.k8s.io/controller-runtime/pkg/client"

	cachev1alpha1 "github.com/example/memcached-operator/apis/v1alpha1"
)

// Filled is a Memcached with a key in each of its pods.
type Filled struct {
	Memcached *cachev1alpha1.Memcached
	cluster   *Cluster
	lives     string
	caches    map[string]*Cache
}

// Fill creates a Memcached of size pods and sets a key in each.
func (c *Cluster) Fill(t *testing.T, namespace, name string, size int32) Filled {
	t.Helper()
	return c.FillExisting(t, c.NewMemcached(t, namespace, name, size))
}

// FillExisting sets a key in each pod of mc, once it is ready.
func (c *Cluster) FillExisting(t *testing.T, mc *cachev1alpha1.Memcached) Filled {
	t.Helper()
	f := Filled{Memcached: c.Ready(t, mc), cluster: c, caches: map[string]*Cache{}}
	pods := c.Pods(t, mc.Namespace, mc.Name)
	if got := Names(pods); len(got) != int(*f.Memcached.Spec.Size) || !slices.Equal(got, f.Memcached.Status.Nodes) {
		t.Fatalf("the pods are %v, status.nodes is %v", got, f.Memcached.Status.Nodes)
	}
	f.lives = Lives(pods)
	for _, pod := range pods {
		f.caches[pod.Name] = c.Cache(t, mc.Namespace, pod.Name, Port)
		f.caches[pod.Name].Set("kept", pod.Name)
	}
	return f
}

// WantKept fails unless the pods are the same, none was restarted, and they have their keys and
// take new ones. After says what happened.
func (f Filled) WantKept(t *testing.T, after string) {
	t.Helper()
	if lives := Lives(f.cluster.Pods(t, f.Memcached.Namespace, f.Memcached.Name)); lives != f.lives {
		t.Fatalf("the pods were\n%sand are, after %s:\n%s", f.lives, after, lives)
	}
	for pod, cache := range f.caches {
		if got := cache.Get("kept"); got != pod {
			t.Errorf("pod %s has %q for its key after %s", pod, got, after)
		}
		cache.Set("since", after)
	}
}

// Versions returns the resource versions of the Memcached and its objects.
func (f Filled) Versions(t *testing.T) string {
	t.Helper()
	var b strings.Builder
	for _, object := range append(Children(f.Memcached.Namespace, f.Memcached.Name), f.Memcached) {
		Must(t, f.cluster.Get(t.Context(), client.ObjectKeyFromObject(object), object))
		fmt.Fprintf(&b, "%T %s %s\n", object, object.GetName(), object.GetResourceVersion())
	}
	return b.String()
}

// WantVersions fails unless the resource versions of the Memcached and its objects are still those of before, which
// is a result of Versions. After says what happened.
func (f Filled) WantVersions(t *testing.T, before, after string) {
	t.Helper()
	if now := f.Versions(t); now != before {
		t.Errorf("before:\n%safter %s:\n%s", before, after, now)
	}
}

// WantPickedUp fails unless the operator, which was installed again, found all objects of f unchanged. Reader is a
// token that may read its metrics.
func (o *Operator) WantPickedUp(t *testing.T, f Filled, versions, reader string) {
	t.Helper()
	metrics := o.Applied(t, reader, 1)
	f.WantVersions(t, versions, "the next install")
	const objects = "memcached_operator_objects_total"
	if unchanged, all := Value(t, metrics, objects, `action="unchanged"`), Value(t, metrics, objects); unchanged != all {
		t.Errorf("of %.0f objects the operator found %.0f unchanged", all, unchanged)
	}
	f.WantKept(t, "the next install")
}

// Applied waits until the leading operator has applied, or found unchanged, the three objects of
// each of count Memcacheds, and returns its metrics. Reader is a token that may read them.
func (o *Operator) Applied(t *testing.T, reader string, count int) string {
	t.Helper()
	leader := o.Leader(t)
	var metrics string
	Eventually(t, fmt.Sprintf("the operator has applied %d Memcacheds", count), func(context.Context) (bool, string, error) {
		metrics = o.Metrics(t, leader, reader)
		objects := Value(t, metrics, "memcached_operator_objects_total")
		return objects >= float64(3*count), fmt.Sprintf("%.0f objects", objects), nil
	})
	return metrics
}
