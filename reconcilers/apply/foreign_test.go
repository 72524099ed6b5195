// SPDX-License-Identifier: Apache-2.0

package apply_test

import (
	"errors"
	"slices"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"

	cachev1alpha1 "github.com/example/memcached-operator/apis/v1alpha1"
	"github.com/example/memcached-operator/reconcilers/apply"
	"github.com/example/memcached-operator/reconcilers/render"
)

const someService = `{apiVersion: v1, kind: Service, spec: {selector: {app: other}, ports: [{port: 80, protocol: TCP}]}}`

// strangers are Services of the name of ours that belong to others.
var strangers = map[string]struct {
	// changes are what makes the Service a stranger's, before it is created.
	changes    []change
	controller string
	// isCached is set where our label shows the Service to us in the cache; without it, the server is asked.
	isCached bool
}{
	"nobody's":                      {nil, "", false},
	"nobody's, with our label":      {[]change{labelled}, "", true},
	"a ConfigMap's":                 {[]change{controlledByConfigMap}, "ConfigMap elsewhere", false},
	"a ConfigMap's, with our label": {[]change{labelled, controlledByConfigMap}, "ConfigMap elsewhere", true},
	"another Memcached's":           {[]change{labelled, controlledByOther}, "Memcached other", true},
	"that of a Memcached of our name, but of another API group": {
		[]change{controlledBy("memcached.example.org/v1", "Memcached", "cache", "1")}, "Memcached cache", false,
	},
	"owned by our Memcached, but not controlled": {[]change{owned}, "", false},
	"is being deleted, with another owner":       {[]change{labelled, deleted}, "", true},
}

// labelled puts the label on object by which caches select.
func labelled(_ *env, object *unstructured.Unstructured) {
	relabel(object, render.ManagedByLabel, render.ManagedBy)
}

// controlledBy makes another object the controller of object.
func controlledBy(apiVersion, kind, name, uid string) change {
	return func(_ *env, object *unstructured.Unstructured) {
		object.SetOwnerReferences([]metav1.OwnerReference{{
			APIVersion: apiVersion, Kind: kind, Name: name, UID: types.UID(uid), Controller: new(true),
		}})
	}
}

var (
	controlledByConfigMap = controlledBy("v1", "ConfigMap", "elsewhere", "1")
	// controlledByEarlier makes an earlier Memcached of the name of ours the controller.
	controlledByEarlier = controlledBy("cache.example.com/v1alpha1", "Memcached", "cache", "6b8b4567-0000-4000-8000-000000000000")
)

// controlledByOther makes another Memcached, which it creates, the controller of object.
func controlledByOther(w *env, object *unstructured.Unstructured) {
	object.SetOwnerReferences([]metav1.OwnerReference{*metav1.NewControllerRef(w.memcached("other", 1), cachev1alpha1.MemcachedKind)})
}

// owned makes our Memcached an owner of object, but not its controller.
func owned(w *env, object *unstructured.Unstructured) {
	ours := *metav1.NewControllerRef(w.owner, cachev1alpha1.MemcachedKind)
	ours.Controller = nil
	object.SetOwnerReferences(append(object.GetOwnerReferences(), ours))
}

// deleted makes the test delete object, which stays for its finalizer.
func deleted(_ *env, object *unstructured.Unstructured) {
	object.SetFinalizers([]string{"example.com/wait"})
	object.SetAnnotations(map[string]string{"example.com/delete": "now"})
}

// An object of a name that we need and that belongs to another owner is never
// touched; our other objects are made, and it heals when the object goes.
func TestApply_DoesNotChangeObjectsOfOtherOwners(t *testing.T) {
	t.Parallel()
	for sentence, test := range strangers {
		t.Run(sentence, func(t *testing.T) {
			t.Parallel()
			w := newEnv(t)
			asked := []string{"apply services/cache 409", "get services/cache"}
			if test.isCached {
				asked = nil
			}
			stranger := w.foreign(someService)
			for _, change := range test.changes {
				change(w, stranger)
			}
			stranger = w.create("someone", stranger)
			if stranger.GetAnnotations()["example.com/delete"] != "" {
				w.delete(stranger)
				stranger = w.live(stranger)
				asked = []string{"get services/cache"}
			}
			w.settle(stranger)

			objects := w.rendered()
			results := w.applyAll(objects)
			w.requests.mustBe(t, "at first", append(slices.Clone(asked), "apply deployments/cache", "apply poddisruptionbudgets/cache")...)
			mustBeRefused(t, results[0], "Service", "cache", test.controller)
			for _, result := range results[1:] {
				if result.Action != apply.Created {
					t.Errorf("%s is %s: %v", result.Object.GetKind(), result.Action, result.Err)
				}
			}
			w.applyAll(objects)
			w.requests.mustBe(t, "again", asked...)
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
	w.update("someone", object, func(live *unstructured.Unstructured) { controlledByConfigMap(w, live) })
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
	asked := []string{"apply services/cache 409", "get services/cache"}
	for sentence, test := range map[string]struct {
		changes []change
		want    []string
	}{
		"in the cache":     {[]change{controlledByEarlier, labelled}, nil},
		"not in the cache": {[]change{controlledByEarlier}, asked},
		"known in another API version": {
			[]change{controlledBy("cache.example.com/v1beta1", "Memcached", "cache", "6b8b4567-0000-4000-8000-000000000000"), labelled}, nil,
		},
	} {
		t.Run(sentence, func(t *testing.T) {
			t.Parallel()
			w := newEnv(t)
			old := w.foreign(someService)
			for _, change := range test.changes {
				change(w, old)
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
