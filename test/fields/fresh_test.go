// SPDX-License-Identifier: Apache-2.0

package fields

import (
	"context"
	"encoding/json"
	"strings"
	"sync"
	"testing"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	cachev1alpha1 "github.com/example/memcached-operator/apis/v1alpha1"
	"github.com/example/memcached-operator/test/testenv"
)

// newMemcached creates a Memcached in a namespace of its own. It has no pods.
func newMemcached(t *testing.T, spec object) *cachev1alpha1.Memcached {
	t.Helper()
	mc := testenv.Memcached(suite.NewNamespace(t), "sample", 0)
	u := &unstructured.Unstructured{Object: object{"spec": withoutPods(spec)}}
	u.SetGroupVersionKind(cachev1alpha1.MemcachedKind)
	u.SetNamespace(mc.Namespace)
	u.SetName(mc.Name)
	if err := suite.Client.Create(t.Context(), u); err != nil {
		t.Fatalf("creating %s: %v", short(spec), err)
	}
	return mc
}

// setSpec replaces the spec of mc.
func setSpec(t *testing.T, mc *cachev1alpha1.Memcached, spec object) {
	t.Helper()
	patch, err := json.Marshal(list{object{"op": "replace", "path": "/spec", "value": withoutPods(spec)}})
	testenv.NoError(t, err)
	if err := suite.Client.Patch(t.Context(), mc, client.RawPatch(types.JSONPatchType, patch)); err != nil {
		t.Fatalf("changing the spec to %s: %v", short(spec), err)
	}
}

// withoutPods is spec with size 0, and not paused: the operator changes nothing for a paused Memcached.
func withoutPods(spec object) object {
	spec = with(copyOf(spec).(object), "size", int64(0))
	delete(spec, "paused")
	return spec
}

// settled waits until the operator has applied the spec of mc.
func settled(t *testing.T, mc *cachev1alpha1.Memcached) {
	t.Helper()
	testenv.EventuallyObject(t, &suite.Env, mc, "the Memcached should be ready", func(mc *cachev1alpha1.Memcached) bool {
		return mc.Status.ObservedGeneration == mc.Generation && testenv.HasCondition(mc, cachev1alpha1.ConditionReady, metav1.ConditionTrue, "")
	})
	if ready := meta.FindStatusCondition(mc.Status.Conditions, cachev1alpha1.ConditionReady); strings.Contains(ready.Message, "skipped") {
		t.Fatal(ready.Message)
	}
}

// mustEqualFresh checks that the objects of mc are those of a new Memcached with spec, which is that of mc.
func mustEqualFresh(t *testing.T, mc *cachev1alpha1.Memcached, spec object) {
	t.Helper()
	want := fresh(t, spec)
	settled(t, mc)
	if difference := children(t, mc).Diff(want); difference != "" {
		t.Fatalf("the objects differ from those of a new Memcached with %s\n%s", short(spec), difference)
	}
}

// freshStates has what fresh returned, by the spec's JSON.
var freshStates sync.Map

type freshState struct {
	sync.Mutex

	state testenv.State
}

// fresh returns the state of the objects of a new Memcached with spec, which is deleted again. Many tests ask for the same.
func fresh(t *testing.T, spec object) testenv.State {
	t.Helper()
	key, err := json.Marshal(withoutPods(spec))
	testenv.NoError(t, err)
	found, _ := freshStates.LoadOrStore(string(key), &freshState{})
	known := found.(*freshState)
	known.Lock()
	defer known.Unlock()
	if known.state == nil {
		mc := newMemcached(t, spec)
		settled(t, mc)
		known.state = children(t, mc)
		suite.Delete(t, mc)
	}
	return known.state
}

// children is the state of the objects of mc.
func children(t *testing.T, mc *cachev1alpha1.Memcached) testenv.State {
	t.Helper()
	state, err := suite.State(context.WithoutCancel(t.Context()), mc.Namespace, testenv.StateOptions{Kinds: suite.operator.Renderer.Kinds(), NoStatus: true})
	testenv.NoError(t, err)
	if len(state) < 2 {
		t.Fatalf("there are %d objects, want a Service and a Deployment at least", len(state))
	}
	return state
}
