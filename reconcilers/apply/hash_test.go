// SPDX-License-Identifier: Apache-2.0

package apply_test

import (
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/example/memcached-operator/reconcilers/apply"
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
			results, err := w.applier.Apply(t.Context(), owner, []*unstructured.Unstructured{object})
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
