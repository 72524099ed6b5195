// SPDX-License-Identifier: Apache-2.0

package apply_test

import (
	"testing"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/example/memcached-operator/reconcilers/apply"
)

// Nothing is written to an object that is being deleted; the next one is made when
// it is gone.
func TestApply_WaitsForObjectBeingDeleted(t *testing.T) {
	t.Parallel()
	for sentence, test := range map[string]struct {
		change change
		want   []string
	}{
		"in the cache":                          {unchanged, []string{"get deployments/cache"}},
		"in the cache, with a difference":       {func(_ *env, live *unstructured.Unstructured) { container(live)["image"] = "memcached:latest" }, []string{"get deployments/cache"}},
		"in the cache, without owner reference": {uncontrolled, []string{"get deployments/cache"}},
		"not in the cache":                      {unlabel, []string{"apply deployments/cache 409", "get deployments/cache"}},
	} {
		t.Run(sentence, func(t *testing.T) {
			t.Parallel()
			w := newEnv(t)
			object := w.deployment()
			w.applied(object)
			w.update("someone", object, func(live *unstructured.Unstructured) {
				live.SetFinalizers([]string{"example.com/wait"})
				test.change(w, live)
			})
			w.delete(object)
			going := w.live(object)
			w.settle(object)
			result := w.apply("while it goes", apply.Waiting, object)[0]
			w.requests.mustBe(t, "while it goes", test.want...)
			if result.Err != nil || result.Live == nil || result.Live.GetUID() != going.GetUID() {
				t.Errorf("result %+v", result)
			}
			w.mustBeUntouched(going)

			w.remove(going)
			w.settle(object)
			w.apply("when it is gone", apply.Created, object)
			w.requests.mustBe(t, "when it is gone", "apply deployments/cache")
			w.mustHold("when it is gone", object)
		})
	}
}

// In a namespace that is being deleted nothing can be made, and nothing has to be.
func TestApply_WaitsForNamespaceBeingDeleted(t *testing.T) {
	t.Parallel()
	w := newEnv(t)
	objects := w.rendered()
	w.applied(objects[0])
	suite.Delete(t, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: w.namespace}})
	w.eventuallyAdmits(func(_ *unstructured.Unstructured, err error) bool {
		return apierrors.HasStatusCause(err, corev1.NamespaceTerminatingCause)
	})

	results := w.applyAll(objects)
	w.requests.mustBe(t, "in the namespace that goes", "apply deployments/cache 403", "apply poddisruptionbudgets/cache 403")
	for i, want := range []apply.Action{apply.Unchanged, apply.Waiting, apply.Waiting} {
		if results[i].Action != want || results[i].Err != nil {
			t.Errorf("%s is %s (%v), want %s", results[i].Object.GetKind(), results[i].Action, results[i].Err, want)
		}
	}
}
