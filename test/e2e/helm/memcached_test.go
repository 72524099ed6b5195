// SPDX-License-Identifier: Apache-2.0

//go:build e2e

package helm

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"

	"sigs.k8s.io/controller-runtime/pkg/client"

	cachev1alpha1 "github.com/example/memcached-operator/apis/v1alpha1"
	"github.com/example/memcached-operator/test/e2e/cluster"
)

// filled is a Memcached each of whose pods holds a key, and is to keep it.
type filled struct {
	mc     *cachev1alpha1.Memcached
	lives  string
	caches map[string]*cluster.Cache
}

// fill makes a Memcached of size pods and sets a key in each.
func fill(t *testing.T, namespace, name string, size int32) filled {
	t.Helper()
	return hold(t, suite.NewMemcached(t, namespace, name, size))
}

// hold sets a key in each pod of a Memcached that is, or becomes, ready.
func hold(t *testing.T, mc *cachev1alpha1.Memcached) filled {
	t.Helper()
	f := filled{mc: suite.Ready(t, mc), caches: map[string]*cluster.Cache{}}
	pods := suite.Pods(t, mc.Namespace, mc.Name)
	if got := cluster.Names(pods); !slices.Equal(got, mc.Status.Nodes) {
		t.Fatalf("the pods are %v, status.nodes is %v", got, mc.Status.Nodes)
	}
	f.lives = cluster.Lives(pods)
	for _, pod := range pods {
		f.caches[pod.Name] = suite.Cache(t, mc.Namespace, pod.Name, cluster.Port)
		f.caches[pod.Name].Set("kept", pod.Name)
	}
	return f
}

// wantKept fails unless the pods are those that they were, none was restarted, and they answer.
func (f filled) wantKept(t *testing.T, after string) {
	t.Helper()
	if lives := cluster.Lives(suite.Pods(t, f.mc.Namespace, f.mc.Name)); lives != f.lives {
		t.Fatalf("the pods were\n%sand are, after %s:\n%s", f.lives, after, lives)
	}
	for pod, cache := range f.caches {
		if got := cache.Get("kept"); got != pod {
			t.Errorf("pod %s has %q for its key after %s", pod, got, after)
		}
		cache.Set("since", after)
	}
}

// versions are the resource versions of the Memcached and its objects.
func (f filled) versions(t *testing.T) string {
	t.Helper()
	var b strings.Builder
	for _, object := range append(cluster.Children(f.mc.Namespace, f.mc.Name), f.mc) {
		cluster.Must(t, suite.Get(t.Context(), client.ObjectKeyFromObject(object), object))
		fmt.Fprintf(&b, "%T %s %s\n", object, object.GetName(), object.GetResourceVersion())
	}
	return b.String()
}

// lookedAt waits until the leading operator has looked at the three objects of each of count Memcacheds,
// and returns its metrics. Reader is a token that may read them.
func (r release) lookedAt(t *testing.T, reader string, count int) string {
	t.Helper()
	leader := r.Leader(t)
	var metrics string
	cluster.Eventually(t, fmt.Sprintf("the operator has looked at %d Memcacheds", count), func(context.Context) (bool, string, error) {
		metrics = r.Metrics(t, leader, reader)
		objects := cluster.Value(t, metrics, "memcached_operator_objects_total")
		return objects >= float64(3*count), fmt.Sprintf("%.0f objects", objects), nil
	})
	return metrics
}
