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

// An earlier release applied the Deployment without a hash, and it has pods.
func TestApply_AddsHashWithoutRollOut(t *testing.T) {
	t.Parallel()
	for sentence, test := range map[string]struct {
		render       func(object *unstructured.Unstructured)
		replacesPods bool
	}{
		"the same is rendered":        {func(*unstructured.Unstructured) {}, false},
		"it is scaled":                {func(object *unstructured.Unstructured) { set(t, object, int64(5), "spec", "replicas") }, false},
		"another image is rendered":   {func(object *unstructured.Unstructured) { container(object)["image"] = "memcached:1.6.46" }, true},
		"a field is rendered no more": {func(object *unstructured.Unstructured) { delete(container(object), "lifecycle") }, true},
		"a field is rendered false":   {func(object *unstructured.Unstructured) { container(object)["stdin"] = false }, true},
	} {
		t.Run(sentence, func(t *testing.T) {
			t.Parallel()
			w := newEnv(t)
			object := w.deployment()
			testenv.NoError(t, suite.Client.Apply(t.Context(), client.ApplyConfigurationFromUnstructured(object.DeepCopy()), client.FieldOwner(apply.FieldManager)))
			w.updateStatus(object, func(live *unstructured.Unstructured) { live.Object["status"] = map[string]any{"replicas": int64(3)} })
			w.settle(object)
			test.render(object)

			asked := false
			owner := w.applier.Owner(w.owner)
			owner.MayReplacePods = func(string) bool { asked = true; return false }
			results, err := w.applier.Apply(t.Context(), owner, w.desired([]*unstructured.Unstructured{object}))
			testenv.NoError(t, err)
			want := apply.Configured
			if test.replacesPods {
				want = apply.Deferred
			}
			if results[0].Action != want || asked != test.replacesPods {
				t.Errorf("it is %s (%v), and was asked for: %v", results[0].Action, results[0].Err, asked)
			}
		})
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
