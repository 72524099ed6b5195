// SPDX-License-Identifier: Apache-2.0

//go:build e2e

package cluster

import (
	"fmt"
	"slices"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/yaml"

	cachev1alpha1 "github.com/example/memcached-operator/apis/v1alpha1"
	"github.com/example/memcached-operator/internal/memcached"
	"github.com/example/memcached-operator/test/testenv"
)

// Filled is a Memcached with a key in each of its pods.
type Filled struct {
	Memcached *cachev1alpha1.Memcached
	// Pods are those of the start, and Caches connections to them.
	Pods   []corev1.Pod
	Caches map[types.UID]*Cache

	cluster *Cluster
}

// Fill creates a Memcached of size pods, with what edits change, and sets a key in each.
func (c *Cluster) Fill(t *testing.T, namespace, name string, size int32, edits ...func(*cachev1alpha1.MemcachedSpec)) Filled {
	t.Helper()
	return c.FillBy(t, c.NewMemcached(t, namespace, name, size, edits...), memcached.Access{})
}

// FillBy sets a key in each pod of mc, once it is ready.
func (c *Cluster) FillBy(t *testing.T, mc *cachev1alpha1.Memcached, access memcached.Access) Filled {
	t.Helper()
	f := Filled{Memcached: c.Ready(t, mc), cluster: c, Pods: c.Pods(t, mc.Namespace, mc.Name), Caches: map[types.UID]*Cache{}}
	if got := Names(f.Pods); !slices.Equal(got, mc.Status.Nodes) {
		t.Fatalf("the pods are %v, status.nodes is %v", got, mc.Status.Nodes)
	}
	for _, pod := range f.Pods {
		f.Caches[pod.UID] = c.Cache(t, mc.Namespace, pod.Name, access)
		f.Caches[pod.UID].Set("kept", pod.Name)
	}
	return f
}

// Kept returns how many pods of the start are there still. It fails the test if one of them has lost its key.
func (f Filled) Kept(t *testing.T) int {
	t.Helper()
	kept := 0
	for _, pod := range f.cluster.Pods(t, f.Memcached.Namespace, f.Memcached.Name) {
		if cache := f.Caches[pod.UID]; cache != nil {
			kept++
			if got := cache.Get("kept"); got != pod.Name {
				t.Errorf("pod %s has %q for its key", pod.Name, got)
			}
		}
	}
	return kept
}

// WantKept fails unless the pods are the same, none was restarted, and they have their keys and
// take new ones. After says what happened.
func (f Filled) WantKept(t *testing.T, after string) {
	t.Helper()
	if was, now := Lives(f.Pods), Lives(f.cluster.Pods(t, f.Memcached.Namespace, f.Memcached.Name)); was != now {
		t.Fatalf("the pods were\n%sand are, after %s:\n%s", was, after, now)
	}
	f.Kept(t)
	for _, cache := range f.Caches {
		cache.Set("since", after)
	}
}

// Versions returns the Memcached and its objects without what follows the pods, which a busy node takes for not ready at any time: the
// status, and the versions that it makes.
func (f Filled) Versions(t *testing.T) testenv.State {
	t.Helper()
	versions := testenv.State{}
	for _, object := range append(Children(f.Memcached.Namespace, f.Memcached.Name), f.Memcached) {
		f.cluster.Get(t, object)
		content, err := runtime.DefaultUnstructuredConverter.ToUnstructured(object)
		testenv.NoError(t, err)
		version := unstructured.Unstructured{Object: content}
		version.SetResourceVersion("")
		version.SetManagedFields(slices.DeleteFunc(version.GetManagedFields(), func(entry metav1.ManagedFieldsEntry) bool { return entry.Subresource == "status" }))
		delete(content, "status")
		text, err := yaml.Marshal(content)
		testenv.NoError(t, err)
		versions[fmt.Sprintf("%T %s", object, object.GetName())] = string(text)
	}
	return versions
}

// WantVersions fails unless nobody has written the Memcached and its objects since before, which is a result of Versions.
// After says what happened.
func (f Filled) WantVersions(t *testing.T, before testenv.State, after string) {
	t.Helper()
	if changed := f.Versions(t).Diff(before); changed != "" {
		t.Errorf("%s changed what it should not:\n%s", after, changed)
	}
}

// WantPickedUp fails unless the operator, which was installed again, found all objects of f unchanged.
func (o *Operator) WantPickedUp(t *testing.T, f Filled, versions testenv.State) {
	t.Helper()
	metrics := o.Applied(t, 1)
	f.WantVersions(t, versions, "the next install")
	unchanged, all := testenv.Metric(t, metrics, objectsTotal+`{action="unchanged"`), testenv.Metric(t, metrics, objectsTotal)
	if unchanged != all {
		t.Errorf("of %.0f objects the operator found %.0f unchanged", all, unchanged)
	}
	f.WantKept(t, "the next install")
}
