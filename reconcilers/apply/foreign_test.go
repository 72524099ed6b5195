// SPDX-License-Identifier: Apache-2.0

package apply_test

import (
	"errors"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"

	"github.com/example/memcached-operator/reconcilers/apply"
	"github.com/example/memcached-operator/reconcilers/render"
)

const someService = `{apiVersion: v1, kind: Service, spec: {selector: {app: other}, ports: [{port: 80, protocol: TCP}]}}`

// An object of a name that we need and that belongs to another owner is never
// touched; our other objects are made, and it heals when the object goes.
func TestApply_DoesNotChangeObjectsOfOtherOwners(t *testing.T) {
	t.Parallel()
	// The label shows it to us in the cache; without it, the server is asked.
	asked := []string{"apply services/cache 409", "get services/cache"}
	for sentence, test := range map[string]struct {
		make       func(w *env, object *unstructured.Unstructured)
		controller string
		want       []string
	}{
		"nobody's": {
			func(*env, *unstructured.Unstructured) {}, "", asked,
		},
		"nobody's, with our label": {
			func(_ *env, object *unstructured.Unstructured) { label(object) }, "", nil,
		},
		"a ConfigMap's": {
			func(_ *env, object *unstructured.Unstructured) {
				control(object, "v1", "ConfigMap", "elsewhere", "1")
			},
			"ConfigMap elsewhere", asked,
		},
		"a ConfigMap's, with our label": {
			func(_ *env, object *unstructured.Unstructured) {
				label(object)
				control(object, "v1", "ConfigMap", "elsewhere", "1")
			},
			"ConfigMap elsewhere", nil,
		},
		"another Memcached's": {
			func(w *env, object *unstructured.Unstructured) {
				label(object)
				other := w.memcached("other", 1)
				control(object, "cache.example.com/v1alpha1", "Memcached", "other", string(other.UID))
			},
			"Memcached other", nil,
		},
		"that of a Memcached of our name, but of another API group": {
			func(_ *env, object *unstructured.Unstructured) {
				control(object, "memcached.example.org/v1", "Memcached", "cache", "1")
			},
			"Memcached cache", asked,
		},
		"owned by our Memcached, but not controlled": {
			func(w *env, object *unstructured.Unstructured) {
				control(object, "cache.example.com/v1alpha1", "Memcached", "cache", string(w.owner.UID))
				references := object.GetOwnerReferences()
				references[0].Controller = nil
				object.SetOwnerReferences(references)
			},
			"", asked,
		},
		"is being deleted, with another owner": {
			func(_ *env, object *unstructured.Unstructured) {
				label(object)
				object.SetFinalizers([]string{"example.com/wait"})
				object.SetAnnotations(map[string]string{"example.com/delete": "now"})
			},
			"", nil,
		},
	} {
		t.Run(sentence, func(t *testing.T) {
			t.Parallel()
			w := newEnv(t)
			stranger := w.foreign(someService)
			test.make(w, stranger)
			stranger = w.create("someone", stranger)
			if stranger.GetAnnotations()["example.com/delete"] != "" {
				w.delete(stranger)
				stranger = w.live(stranger)
			}
			w.settle(stranger)

			objects := w.rendered()
			results := w.applyAll(objects)
			w.requests.mustBe(t, "at first", append(test.want, "apply deployments/cache", "apply poddisruptionbudgets/cache")...)
			mustBeRefused(t, results[0], "Service", "cache", test.controller)
			for _, result := range results[1:] {
				if result.Action != apply.Created {
					t.Errorf("%s is %s: %v", result.Object.GetKind(), result.Action, result.Err)
				}
			}
			w.applyAll(objects)
			w.requests.mustBe(t, "again", test.want...)
			w.mustBeUntouched(stranger)

			w.remove(stranger)
			w.settle(objects...)
			w.apply("when it is gone", apply.Created, objects[0])
			w.requests.mustBe(t, "when it is gone", "apply services/cache")
			w.mustHold("when it is gone", objects...)
		})
	}
}

// An object of ours that another controller adopted is no longer ours.
func TestApply_ReportsConflictWhenAnotherOwnerAdopts(t *testing.T) {
	t.Parallel()
	w := newEnv(t)
	object := w.deployment()
	w.applied(object)
	w.update("someone", object, func(live *unstructured.Unstructured) { control(live, "v1", "ConfigMap", "elsewhere", "1") })
	w.settle(object)
	live := w.live(object)
	mustBeRefused(t, w.applyAll([]*unstructured.Unstructured{object})[0], "Deployment", "cache", "ConfigMap elsewhere")
	w.requests.mustBe(t, "once it is adopted")
	w.mustBeUntouched(live)
}

// The objects of an earlier Memcached of the same name will be collected: that is
// waited for, not refused.
func TestApply_WaitsForObjectsOfDeletedOwner(t *testing.T) {
	t.Parallel()
	for sentence, test := range map[string]struct {
		label   bool
		version string
		want    []string
	}{
		"in the cache":                 {true, "v1alpha1", nil},
		"not in the cache":             {false, "v1alpha1", []string{"apply services/cache 409", "get services/cache"}},
		"known in another API version": {true, "v1beta1", nil},
	} {
		t.Run(sentence, func(t *testing.T) {
			t.Parallel()
			w := newEnv(t)
			old := w.foreign(someService)
			control(old, "cache.example.com/"+test.version, "Memcached", "cache", "6b8b4567-0000-4000-8000-000000000000")
			if test.label {
				label(old)
			}
			old = w.create(apply.FieldManager, old)
			w.settle(old)
			object := w.rendered()[0]
			w.apply("while it is there", apply.Waiting, object)
			w.requests.mustBe(t, "while it is there", test.want...)
			w.mustBeUntouched(old)
			w.remove(old)
			w.settle(object)
			w.apply("when it is gone", apply.Created, object)
		})
	}
}

func TestOwnershipConflictError_Message(t *testing.T) {
	t.Parallel()
	for want, err := range map[string]error{
		"Service cache exists and is not owned by this Memcached; delete or rename it, or rename the Memcached": &apply.OwnershipConflictError{Kind: "Service", Name: "cache"},
		"Service cache exists and is controlled by Memcached a; delete or rename it, or rename the Memcached":   &apply.OwnershipConflictError{Kind: "Service", Name: "cache", Controller: "Memcached a"},
	} {
		if got := err.Error(); got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
}

func mustBeRefused(t *testing.T, result apply.Result, kind, name, controller string) {
	t.Helper()
	var foreign *apply.OwnershipConflictError
	if result.Action != apply.Conflict || !errors.As(result.Err, &foreign) {
		t.Fatalf("%s is %s: %v; want it refused", result.Object.GetKind(), result.Action, result.Err)
	}
	if want := (apply.OwnershipConflictError{Kind: kind, Name: name, Controller: controller}); *foreign != want {
		t.Errorf("the error is %+v, want %+v", *foreign, want)
	}
	if !apply.IsTerminal(result.Err) || result.Live != nil {
		t.Errorf("terminal: %v, live: %v", apply.IsTerminal(result.Err), result.Live)
	}
	if !strings.Contains(result.Err.Error(), kind+" "+name) {
		t.Errorf("the error does not name the object: %v", result.Err)
	}
}

// label puts the label on object by which caches select.
func label(object *unstructured.Unstructured) {
	object.SetLabels(map[string]string{render.ManagedByLabel: render.ManagedBy})
}

// control makes another object the controller of object.
func control(object *unstructured.Unstructured, apiVersion, kind, name, uid string) {
	controller := true
	object.SetOwnerReferences([]metav1.OwnerReference{{
		APIVersion: apiVersion, Kind: kind, Name: name, UID: types.UID(uid), Controller: &controller,
	}})
}
