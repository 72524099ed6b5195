// SPDX-License-Identifier: Apache-2.0

package apply_test

import (
	"fmt"
	"maps"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/example/memcached-operator/reconcilers/apply"
	"github.com/example/memcached-operator/test/testenv"
)

// What others do to live objects, as the administrator.

// live reads object from the server.
func (w *env) live(object *unstructured.Unstructured) *unstructured.Unstructured {
	w.t.Helper()
	live := likeness(object)
	suite.Get(w.t, live)
	return live
}

// likeness is an object of the kind and name of object, with nothing else.
func likeness(object *unstructured.Unstructured) *unstructured.Unstructured {
	like := &unstructured.Unstructured{}
	like.SetGroupVersionKind(object.GroupVersionKind())
	like.SetNamespace(object.GetNamespace())
	like.SetName(object.GetName())
	return like
}

// change is what another client does to object, which is on the server or will be.
type change = func(w *env, object *unstructured.Unstructured)

func unchanged(*env, *unstructured.Unstructured) {}

// patched is a JSON patch by another client, of operations such as "replace /spec/replicas 1".
func patched(operations ...string) change {
	return func(w *env, object *unstructured.Unstructured) {
		w.t.Helper()
		var patch []string
		for _, operation := range operations {
			words := append(strings.SplitN(operation, " ", 3), "null") // the value, if there is none
			patch = append(patch, fmt.Sprintf(`{"op": %q, "path": %q, "value": %s}`, words[0], words[1], words[2]))
		}
		content := []byte("[" + strings.Join(patch, ", ") + "]")
		testenv.NoError(w.t, suite.Client.Patch(w.t.Context(), likeness(object), client.RawPatch(types.JSONPatchType, content), client.FieldOwner("someone")))
	}
}

// update changes object by an Update under manager.
func (w *env) update(manager string, object *unstructured.Unstructured, change func(live *unstructured.Unstructured)) {
	w.t.Helper()
	live := w.live(object)
	change(live)
	testenv.NoError(w.t, suite.Client.Update(w.t.Context(), live, client.FieldOwner(manager)))
}

// updateStatus changes object's status, as its controller would.
func (w *env) updateStatus(object *unstructured.Unstructured, change func(live *unstructured.Unstructured)) {
	w.t.Helper()
	live := w.live(object)
	change(live)
	testenv.NoError(w.t, suite.Client.Status().Update(w.t.Context(), live, client.FieldOwner("controller")))
}

// applyAs applies text, which says what manager wants of the object like, by force.
func (w *env) applyAs(manager string, like *unstructured.Unstructured, text string) {
	w.t.Helper()
	object := testenv.Parse(w.t, text)
	object.SetNamespace(like.GetNamespace())
	object.SetName(like.GetName())
	testenv.NoError(w.t, suite.Client.Apply(w.t.Context(), client.ApplyConfigurationFromUnstructured(object), client.FieldOwner(manager), client.ForceOwnership))
}

// create makes object as manager.
func (w *env) create(manager string, object *unstructured.Unstructured) *unstructured.Unstructured {
	w.t.Helper()
	object = object.DeepCopy()
	testenv.NoError(w.t, suite.Client.Create(w.t.Context(), object, client.FieldOwner(manager)))
	return object
}

// delete deletes object.
func (w *env) delete(object *unstructured.Unstructured) {
	w.t.Helper()
	suite.Delete(w.t, object.DeepCopy())
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
	testenv.NoError(t, unstructured.SetNestedField(object.Object, value, path...))
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
	labels := map[string]string{}
	maps.Copy(labels, object.GetLabels())
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
	apply.RemoveHash(object)
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
	testenv.NoError(w.t, client.IgnoreNotFound(suite.Client.Delete(w.t.Context(), object.DeepCopy())))
}

// eventuallyAdmits waits until the server's answer to the creation of the shipped
// Deployment is as expected; it is not created.
func (w *env) eventuallyAdmits(isExpected func(created *unstructured.Unstructured, err error) bool) {
	w.t.Helper()
	suite.EventuallyAdmits(w.t, w.probe(), "the server should admit a Deployment as expected", isExpected)
}

// probe is the shipped Deployment under another name.
func (w *env) probe() *unstructured.Unstructured {
	w.t.Helper()
	probe := w.deployment()
	probe.SetName("probe")
	return probe
}

// mustBeGone checks that object is not on the server.
func (w *env) mustBeGone(object *unstructured.Unstructured) {
	w.t.Helper()
	if err := suite.Client.Get(w.t.Context(), client.ObjectKeyFromObject(object), likeness(object)); !apierrors.IsNotFound(err) {
		w.t.Errorf("%s %s is still there (%v)", object.GetKind(), object.GetName(), err)
	}
}
