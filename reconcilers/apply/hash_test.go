// SPDX-License-Identifier: Apache-2.0

package apply_test

import (
	"maps"
	"reflect"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/example/memcached-operator/reconcilers/apply"
	"github.com/example/memcached-operator/reconcilers/render"
	"github.com/example/memcached-operator/test/testenv"
)

// An earlier release applied the Deployment without a hash, and it has pods: what the apply changes is not known before.
func TestApply_WithoutHashWaitsForItsTurn(t *testing.T) {
	t.Parallel()
	w := newEnv(t)
	object := w.deployment()
	testenv.NoError(t, suite.Client.Apply(t.Context(), client.ApplyConfigurationFromUnstructured(object.DeepCopy()), client.FieldOwner(apply.FieldManager)))
	w.updateStatus(object, func(live *unstructured.Unstructured) { live.Object["status"] = map[string]any{"replicas": int64(3)} })
	w.settle(object)
	before := w.live(object)
	owner := w.applier.Owner(w.owner)
	for _, turn := range []struct {
		may  bool
		want apply.Action
	}{{false, apply.Deferred}, {true, apply.Configured}} {
		owner.MayReplacePods = func(string) bool { return turn.may }
		results, err := w.applier.Apply(t.Context(), owner, w.desired([]*unstructured.Unstructured{object}))
		testenv.NoError(t, err)
		if results[0].Action != turn.want {
			t.Errorf("it is %s (%v), want %s", results[0].Action, results[0].Err, turn.want)
		}
	}
	if live := w.live(object); !reflect.DeepEqual(before.Object["spec"], live.Object["spec"]) {
		t.Errorf("its spec was\n%v\nand is\n%v", before.Object["spec"], live.Object["spec"])
	}
}

// The pods must not be replaced now. A change of the replicas arrives all the same, and nothing with it.
func TestApply_ScalesWhatIsDeferred(t *testing.T) {
	t.Parallel()
	w := newEnv(t)
	object, other := w.deployment(), w.made(extras["of another name"])
	w.apply("at first", apply.Created, object, other)
	w.updateStatus(object, func(live *unstructured.Unstructured) { live.Object["status"] = map[string]any{"replicas": int64(3)} })
	w.settle(object, other)
	other.SetLabels(map[string]string{"example.com/changed": "true", render.ManagedByLabel: render.ManagedBy})
	owner := w.applier.Owner(w.owner)
	states := map[string]bool{}
	owner.MayReplacePods = func(outdated string) bool { states[outdated] = true; return false }
	container(object)["image"] = "memcached:1.6.46"
	before := w.live(object)
	for _, replicas := range []int64{5, 5, 2, 2} {
		set(t, object, replicas, "spec", "replicas")
		results, err := w.applier.Apply(t.Context(), owner, w.desired([]*unstructured.Unstructured{object, other}))
		testenv.NoError(t, err)
		for _, result := range results { // The whole Memcached waits: the other object may depend on the pods.
			if result.Action != apply.Deferred {
				t.Fatalf("%s is %s: %v", result.Object.GetKind(), result.Action, result.Err)
			}
		}
		w.settle(object)
		now := w.live(object)
		set(t, before, replicas, "spec", "replicas")
		if generation := map[int64]int64{5: 2, 2: 3}[replicas]; now.GetGeneration() != generation {
			t.Errorf("with %d replicas it has generation %d, want %d", replicas, now.GetGeneration(), generation)
		}
		if !reflect.DeepEqual(before.Object["spec"], now.Object["spec"]) || !maps.Equal(before.GetAnnotations(), now.GetAnnotations()) {
			t.Errorf("scaled, it is\n%v\nwant\n%v", now.Object, before.Object)
		}
	}
	if len(states) != 1 {
		t.Error("the scaling is taken for a change by another client")
	}
	w.apply("in its turn", apply.Configured, object)
	if image := container(w.live(object))["image"]; image != "memcached:1.6.46" {
		t.Errorf("in its turn it gets the image %s", image)
	}
}
