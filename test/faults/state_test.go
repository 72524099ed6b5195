// SPDX-License-Identifier: Apache-2.0

//go:build faults

package faults

import (
	"context"
	"fmt"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"

	cachev1alpha1 "github.com/example/memcached-operator/apis/v1alpha1"
	"github.com/example/memcached-operator/test/testenv"
)

var (
	memcachedKind = cachev1alpha1.MemcachedKind
	replicaSet    = schema.GroupVersionKind{Group: "apps", Version: "v1", Kind: "ReplicaSet"}
	pod           = schema.GroupVersionKind{Version: "v1", Kind: "Pod"}
	// childKinds are the kinds that the operator writes for the Memcacheds of this suite.
	childKinds = []schema.GroupVersionKind{
		{Group: "apps", Version: "v1", Kind: "Deployment"},
		{Version: "v1", Kind: "Service"},
		{Group: "policy", Version: "v1", Kind: "PodDisruptionBudget"},
		{Group: "networking.k8s.io", Version: "v1", Kind: "NetworkPolicy"},
	}
)

// list returns the objects of kind in namespace.
func list(ctx context.Context, namespace string, kind schema.GroupVersionKind) ([]unstructured.Unstructured, error) {
	objects := testenv.List(kind)
	err := suite.Client.List(ctx, objects, client.InNamespace(namespace))
	return objects.Items, err
}

// stateOf reads the state of namespace, with the number of its pods. An exact state also has ReplicaSets.
func stateOf(ctx context.Context, namespace string, exact bool) (testenv.State, error) {
	kinds := append([]schema.GroupVersionKind{memcachedKind}, childKinds...)
	if exact {
		kinds = append(kinds, replicaSet)
	}
	s, err := suite.State(ctx, namespace, testenv.StateOptions{Kinds: kinds, Exact: exact})
	if err != nil {
		return nil, err
	}
	pods, err := list(ctx, namespace, pod)
	s["Pods"] = fmt.Sprint(len(pods))
	return s, err
}

// equalsFresh waits until the objects of mc are those of a Memcached that is new and has the
// same spec.
func equalsFresh(t *testing.T, o *operator, mc *cachev1alpha1.Memcached) {
	t.Helper()
	settled(t, mc)
	namespace := o.fresh
	if namespace == "" {
		namespace = suite.NewNamespace(t)
	}
	fresh := newMemcached(t, namespace, mc.Spec)
	settled(t, fresh)
	difference := ""
	t.Cleanup(func() {
		if difference != "" {
			t.Logf("%s differs from a fresh Memcached:\n%s", mc.Namespace, difference)
		}
	})
	eventually(t, "the state should be that of a fresh Memcached", func(ctx context.Context) (bool, error) {
		want, err := stateOf(ctx, fresh.Namespace, false)
		if err != nil {
			return false, err
		}
		now, err := stateOf(ctx, mc.Namespace, false)
		if err != nil {
			return false, err
		}
		difference = now.Diff(want)
		return difference == "", nil
	})
	remove(t, fresh)
	emptied(t, namespace)
}

// isEmpty reports whether namespace has no Memcached, no child and no pod.
func isEmpty(ctx context.Context, namespace string) (bool, error) {
	s, err := stateOf(ctx, namespace, true)
	return len(s) == 1 && s["Pods"] == "0", err
}
