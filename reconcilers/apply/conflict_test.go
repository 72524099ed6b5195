// SPDX-License-Identifier: Apache-2.0

package apply_test

import (
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/example/memcached-operator/reconcilers/apply"
)

// The object that was looked at is the one that is written to, or none.
func TestApply_DoesNotChangeObjectReplacedBeforeWrite(t *testing.T) {
	t.Parallel()
	for sentence, test := range map[string]struct {
		// before makes what the operator looks at.
		before func(w *env) *unstructured.Unstructured
		write  string
		want   []string
	}{
		"between the look into the cache and the apply": {
			func(w *env) *unstructured.Unstructured {
				object := w.deployment()
				w.applied(object)
				set(w.t, object, int64(7), "spec", "replicas")
				return object
			},
			"apply deployments/cache",
			[]string{"apply deployments/cache 422"},
		},
		"between the read from the API server and the adoption": {
			func(w *env) *unstructured.Unstructured {
				w.tutorial("manager")
				return w.deployment()
			},
			"patch deployments/cache",
			[]string{"apply deployments/cache 409", "get deployments/cache", "patch deployments/cache 409"},
		},
	} {
		t.Run(sentence, func(t *testing.T) {
			t.Parallel()
			w := newEnv(t)
			object := test.before(w)
			var stranger *unstructured.Unstructured
			w.requests.between(test.write, func() {
				w.delete(object)
				stranger = w.create("someone", w.foreign(podTemplate(`{containers: [{name: a, image: a}]}`)))
			})
			result := w.apply("with the stranger", apply.Failed, object)[0]
			w.requests.mustBe(t, "with the stranger", test.want...)
			if apply.IsTerminal(result.Err) {
				t.Errorf("%v is terminal", result.Err)
			}
			if stranger == nil {
				t.Fatal("the object was not replaced")
			}
			w.mustBeUntouched(stranger)

			w.settle(object)
			mustBeRefused(t, w.applyAll([]*unstructured.Unstructured{object})[0], "Deployment", "cache", "")
			w.mustBeUntouched(stranger)
		})
	}
}

// An object that goes between two steps is made at the next try.
func TestApply_RecreatesObjectDeletedBeforeWrite(t *testing.T) {
	t.Parallel()
	w := newEnv(t)
	object := w.deployment()
	w.applied(object)
	resized := object.DeepCopy()
	set(t, resized, int64(7), "spec", "replicas")
	w.requests.between("apply deployments/cache", func() { w.delete(object) })
	result := w.apply("when it goes", apply.Failed, resized)[0]
	if apply.IsTerminal(result.Err) {
		t.Errorf("%v is terminal", result.Err)
	}
	w.settle(object)
	w.apply("at the next try", apply.Created, resized)
	w.requests.mustBe(t, "in all", "apply deployments/cache 409", "apply deployments/cache")
	w.mustHold("afterwards", resized)
}

// A name that is freed while we ask who holds it is not a failure for long.
func TestApply_CreatesObjectWhenConflictDisappears(t *testing.T) {
	t.Parallel()
	w := newEnv(t)
	object := w.deployment()
	stranger := w.create("someone", w.foreign(podTemplate(`{containers: [{name: a, image: a}]}`)))
	w.requests.between("get deployments/cache", func() { w.delete(stranger) })
	result := w.apply("while we ask", apply.Failed, object)[0]
	w.requests.mustBe(t, "while we ask", "apply deployments/cache 409", "get deployments/cache 404")
	if apply.IsTerminal(result.Err) {
		t.Errorf("%v is terminal", result.Err)
	}
	w.apply("at the next try", apply.Created, object)
}
