// SPDX-License-Identifier: Apache-2.0

package apply_test

import (
	"context"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/wait"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// What others do to live objects, as the administrator.

// live reads object from the server.
func (w *env) live(object *unstructured.Unstructured) *unstructured.Unstructured {
	w.t.Helper()
	live := &unstructured.Unstructured{}
	live.SetGroupVersionKind(object.GroupVersionKind())
	must(w.t, suite.admin.Get(w.t.Context(), client.ObjectKeyFromObject(object), live))
	return live
}

// update changes object by an Update under manager.
func (w *env) update(manager string, object *unstructured.Unstructured, change func(live *unstructured.Unstructured)) {
	w.t.Helper()
	live := w.live(object)
	change(live)
	must(w.t, suite.admin.Update(w.t.Context(), live, client.FieldOwner(manager)))
}

// updateStatus changes object's status, as its controller would.
func (w *env) updateStatus(object *unstructured.Unstructured, change func(live *unstructured.Unstructured)) {
	w.t.Helper()
	live := w.live(object)
	change(live)
	must(w.t, suite.admin.Status().Update(w.t.Context(), live, client.FieldOwner("controller")))
}

// applyAs applies text, which says what manager wants of the object like, by force.
func (w *env) applyAs(manager string, like *unstructured.Unstructured, text string) {
	w.t.Helper()
	object := parse(w.t, text)
	object.SetNamespace(like.GetNamespace())
	object.SetName(like.GetName())
	must(w.t, suite.admin.Apply(w.t.Context(), client.ApplyConfigurationFromUnstructured(object), client.FieldOwner(manager), client.ForceOwnership))
}

// create makes object as manager.
func (w *env) create(manager string, object *unstructured.Unstructured) *unstructured.Unstructured {
	w.t.Helper()
	object = object.DeepCopy()
	must(w.t, suite.admin.Create(w.t.Context(), object, client.FieldOwner(manager)))
	return object
}

// delete deletes object.
func (w *env) delete(object *unstructured.Unstructured) {
	w.t.Helper()
	must(w.t, suite.admin.Delete(w.t.Context(), object.DeepCopy()))
}

// mustBeUntouched checks that nobody wrote to object since it was read.
func (w *env) mustBeUntouched(object *unstructured.Unstructured) {
	w.t.Helper()
	live := w.live(object)
	if live.GetUID() != object.GetUID() || live.GetResourceVersion() != object.GetResourceVersion() {
		w.t.Errorf("%s %s was touched:\n%v\nwas\n%v", object.GetKind(), object.GetName(), live.Object, object.Object)
	}
}

// set sets the field of object at path.
func set(t *testing.T, object *unstructured.Unstructured, value any, path ...string) {
	t.Helper()
	must(t, unstructured.SetNestedField(object.Object, value, path...))
}

// get returns the field of object at path, nil when there is none.
func get(t *testing.T, object *unstructured.Unstructured, path ...string) any {
	t.Helper()
	value, _, err := unstructured.NestedFieldCopy(object.Object, path...)
	must(t, err)
	return value
}

// pod is the pod template's spec, to change.
func pod(object *unstructured.Unstructured) map[string]any {
	return object.Object["spec"].(map[string]any)["template"].(map[string]any)["spec"].(map[string]any)
}

// container is the first container of the pod template, to change.
func container(object *unstructured.Unstructured) map[string]any {
	return pod(object)["containers"].([]any)[0].(map[string]any)
}

// relabel sets a label, or removes it when value is empty.
func relabel(object *unstructured.Unstructured, key, value string) {
	labels := object.GetLabels()
	labels[key] = value
	if value == "" {
		delete(labels, key)
	}
	object.SetLabels(labels)
}

// essence is the content of an object without the metadata that the API server manages.
func essence(object *unstructured.Unstructured) map[string]any {
	object = object.DeepCopy()
	delete(object.Object, "status")
	for _, field := range []string{"managedFields", "resourceVersion", "generation", "uid", "creationTimestamp"} {
		unstructured.RemoveNestedField(object.Object, "metadata", field)
	}
	return object.Object
}

func mustBeSame(t *testing.T, got, want map[string]any) {
	t.Helper()
	if !equality.Semantic.DeepEqual(got, want) {
		t.Errorf("it is\n%v\nwant\n%v", got, want)
	}
}

// remove deletes object, whatever holds it up, and waits until it is gone.
func (w *env) remove(object *unstructured.Unstructured) {
	w.t.Helper()
	w.update("someone", object, func(live *unstructured.Unstructured) { live.SetFinalizers(nil) })
	must(w.t, client.IgnoreNotFound(suite.admin.Delete(w.t.Context(), object.DeepCopy())))
}

// awaitAdmission waits until the server's answer to the creation of the shipped
// Deployment is as wanted; it is not created.
func (w *env) awaitAdmission(wanted func(created *unstructured.Unstructured, err error) bool) {
	w.t.Helper()
	var last error
	err := wait.PollUntilContextTimeout(w.t.Context(), 10*time.Millisecond, deadline, true, func(ctx context.Context) (bool, error) {
		probe := w.deployment()
		probe.SetName("probe")
		last = suite.admin.Create(ctx, probe, client.DryRunAll)
		return wanted(probe, last), nil
	})
	if err != nil {
		w.t.Fatalf("the server does not admit as it should: %v; last: %v", err, last)
	}
}

// eventually waits until condition holds.
func (w *env) eventually(what string, condition func() bool) {
	w.t.Helper()
	err := wait.PollUntilContextTimeout(w.t.Context(), 10*time.Millisecond, deadline, true, func(context.Context) (bool, error) {
		return condition(), nil
	})
	if err != nil {
		w.t.Fatalf("waiting until %s: %v", what, err)
	}
}

// mustBeGone checks that object is not on the server.
func (w *env) mustBeGone(object *unstructured.Unstructured) {
	w.t.Helper()
	live := &unstructured.Unstructured{}
	live.SetGroupVersionKind(object.GroupVersionKind())
	if err := suite.admin.Get(w.t.Context(), client.ObjectKeyFromObject(object), live); !apierrors.IsNotFound(err) {
		w.t.Errorf("%s %s is still there (%v)", object.GetKind(), object.GetName(), err)
	}
}
