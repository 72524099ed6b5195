// SPDX-License-Identifier: Apache-2.0

//go:build e2e

package olm

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
	f := filled{mc: suite.Ready(t, suite.NewMemcached(t, namespace, name, size)), caches: map[string]*cluster.Cache{}}
	pods := suite.Pods(t, namespace, name)
	if got := cluster.Names(pods); len(got) != int(size) || !slices.Equal(got, f.mc.Status.Nodes) {
		t.Fatalf("the pods are %v, status.nodes is %v", got, f.mc.Status.Nodes)
	}
	f.lives = cluster.Lives(pods)
	for _, pod := range pods {
		f.caches[pod.Name] = suite.Cache(t, namespace, pod.Name, cluster.Port)
		f.caches[pod.Name].Set("kept", pod.Name)
	}
	return f
}

// wantKept fails unless the pods are those that they were, none was restarted, and they have their keys.
func (f filled) wantKept(t *testing.T, after string) {
	t.Helper()
	if lives := cluster.Lives(suite.Pods(t, f.mc.Namespace, f.mc.Name)); lives != f.lives {
		t.Fatalf("the pods were\n%sand are, after %s:\n%s", f.lives, after, lives)
	}
	for pod, cache := range f.caches {
		if got := cache.Get("kept"); got != pod {
			t.Errorf("pod %s has %q for its key after %s", pod, got, after)
		}
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

// lookedAt waits until the leading operator has looked at the three objects of a Memcached, and returns
// its metrics. Reader is a token that may read them.
func (i install) lookedAt(t *testing.T, reader string) string {
	t.Helper()
	leader := i.Leader(t)
	var metrics string
	cluster.Eventually(t, "the operator has looked at a Memcached", func(context.Context) (bool, string, error) {
		metrics = i.Metrics(t, leader, reader)
		objects := cluster.Value(t, metrics, "memcached_operator_objects_total")
		return objects >= 3, fmt.Sprintf("%.0f objects", objects), nil
	})
	return metrics
}

// wantUntouched fails if an operator did anything about a Memcached.
func wantUntouched(t *testing.T, mc *cachev1alpha1.Memcached) {
	t.Helper()
	cluster.Must(t, suite.Get(t.Context(), client.ObjectKeyFromObject(mc), mc))
	if mc.Status.ObservedGeneration != 0 || len(mc.Status.Conditions) > 0 {
		t.Errorf("the Memcached %s/%s has a status, and no OperatorGroup has its namespace: %+v", mc.Namespace, mc.Name, mc.Status)
	}
	for _, child := range cluster.Children(mc.Namespace, mc.Name) {
		if err := suite.Get(t.Context(), client.ObjectKeyFromObject(child), child); err == nil {
			t.Errorf("there is a %T %s/%s, and no OperatorGroup has its namespace", child, mc.Namespace, mc.Name)
		}
	}
}
