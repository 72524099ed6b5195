// SPDX-License-Identifier: Apache-2.0

package testenv

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	cachev1alpha1 "github.com/example/memcached-operator/apis/v1alpha1"
)

// NewNamespace creates a namespace for one test, with labels given as key, value, …. It stays
// as long as the control plane: deleting it would delay the garbage collection of other tests'
// objects.
func (e *Env) NewNamespace(t testing.TB, labels ...string) string {
	t.Helper()
	namespace := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{GenerateName: "test-", Labels: map[string]string{}}}
	for i := 0; i+1 < len(labels); i += 2 {
		namespace.Labels[labels[i]] = labels[i+1]
	}
	e.Create(t, namespace)
	return namespace.Name
}

// Memcached returns a Memcached of size pods; of size 0 it gets all its children and no pod.
func Memcached(namespace, name string, size int32) *cachev1alpha1.Memcached {
	return &cachev1alpha1.Memcached{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name},
		Spec:       cachev1alpha1.MemcachedSpec{Size: &size},
	}
}

// NewMemcached creates a Memcached of size pods, with what edits change.
func (e *Env) NewMemcached(t testing.TB, namespace, name string, size int32, edits ...func(*cachev1alpha1.MemcachedSpec)) *cachev1alpha1.Memcached {
	t.Helper()
	mc := Memcached(namespace, name, size)
	for _, edit := range edits {
		edit(&mc.Spec)
	}
	e.Create(t, mc)
	return mc
}

// Create creates objects as the administrator.
func (e *Env) Create(t testing.TB, objects ...client.Object) {
	t.Helper()
	for _, object := range objects {
		NoError(t, e.Client.Create(lasting(t), object))
	}
}

// lasting is the context of calls that a cleanup may make too: then the test's own has ended.
func lasting(t testing.TB) context.Context { return context.WithoutCancel(t.Context()) }

// Delete deletes object as the administrator.
func (e *Env) Delete(t testing.TB, object client.Object) {
	t.Helper()
	NoError(t, e.Client.Delete(lasting(t), object))
}

// Get reads object, by its name and namespace, into itself.
func (e *Env) Get(t testing.TB, object client.Object) {
	t.Helper()
	NoError(t, e.Client.Get(lasting(t), client.ObjectKeyFromObject(object), object))
}

// Patch changes object by a JSON merge patch.
func (e *Env) Patch(t testing.TB, object client.Object, patch string) {
	t.Helper()
	NoError(t, e.Client.Patch(lasting(t), object, client.RawPatch(types.MergePatchType, []byte(patch))))
}

// Deployment reads a Deployment; it is nil when there is none.
func (e *Env) Deployment(t testing.TB, namespace, name string) *appsv1.Deployment {
	t.Helper()
	deployment := &appsv1.Deployment{}
	err := e.Client.Get(lasting(t), client.ObjectKey{Namespace: namespace, Name: name}, deployment)
	if apierrors.IsNotFound(err) {
		return nil
	}
	NoError(t, err)
	return deployment
}

// EventuallyReady waits until mc is Ready at its generation.
func (e *Env) EventuallyReady(t testing.TB, mc *cachev1alpha1.Memcached) {
	t.Helper()
	EventuallyObject(t, e, mc, "the Memcached should be Ready", func(mc *cachev1alpha1.Memcached) bool {
		return HasCondition(mc, cachev1alpha1.ConditionReady, metav1.ConditionTrue, "")
	})
}

// EventuallyGone waits until object is not found.
func (e *Env) EventuallyGone(t testing.TB, object client.Object) {
	t.Helper()
	Eventually(t, fmt.Sprintf("%T %s should be deleted", object, object.GetName()), func(ctx context.Context) (bool, string, error) {
		err := e.Client.Get(ctx, client.ObjectKeyFromObject(object), object)
		return apierrors.IsNotFound(err), fmt.Sprintf("%+v", object), client.IgnoreNotFound(err)
	})
}

// EventuallyObject reads object until condition is true, and returns it as it is then. A failure shows it as it was last.
func EventuallyObject[T client.Object](t testing.TB, e *Env, object T, want string, condition func(T) bool) T {
	t.Helper()
	var last error
	err := Poll(lasting(t), Timeout, func(ctx context.Context) (bool, error) {
		last = e.Client.Get(ctx, client.ObjectKeyFromObject(object), object)
		return last == nil && condition(object), nil
	})
	if err != nil {
		object.SetManagedFields(nil)
		text, _ := yaml.Marshal(object)
		t.Fatalf("%s, within %s: %v, %v:\n%s", want, Timeout, err, last, text)
	}
	return object
}

// List returns an empty list of objects of a kind.
func List(kind schema.GroupVersionKind) *unstructured.UnstructuredList {
	list := &unstructured.UnstructuredList{}
	list.SetGroupVersionKind(kind.GroupVersion().WithKind(kind.Kind + "List"))
	return list
}

// HasCondition reports whether mc has a condition of its generation with status and, unless it
// is empty, reason.
func HasCondition(mc *cachev1alpha1.Memcached, condition string, status metav1.ConditionStatus, reason string) bool {
	c := meta.FindStatusCondition(mc.Status.Conditions, condition)
	return c != nil && c.Status == status && (reason == "" || c.Reason == reason) && c.ObservedGeneration == mc.Generation
}

// Parse parses the YAML of an object.
func Parse(t testing.TB, text string) *unstructured.Unstructured {
	t.Helper()
	object := &unstructured.Unstructured{}
	// By JSON, which keeps whole numbers int64, as the renderer does.
	content, err := yaml.YAMLToJSON([]byte(text))
	NoError(t, err)
	NoError(t, object.UnmarshalJSON(content))
	return object
}

// WriteFile writes content to the file name and creates its directory.
func WriteFile(t testing.TB, name, content string) {
	t.Helper()
	NoError(t, os.MkdirAll(filepath.Dir(name), 0o755))
	NoError(t, os.WriteFile(name, []byte(content), 0o644))
}
