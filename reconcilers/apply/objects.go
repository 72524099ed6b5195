// SPDX-License-Identifier: Apache-2.0

package apply

import (
	"fmt"
	"reflect"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// NewObject returns an empty object of gvk: of its Go type if scheme has one, which takes a third of the
// memory, or else an unstructured one.
func NewObject(scheme *runtime.Scheme, gvk schema.GroupVersionKind) (client.Object, error) {
	if !scheme.Recognizes(gvk) {
		u := &unstructured.Unstructured{}
		u.SetGroupVersionKind(gvk)
		return u, nil
	}
	object, err := scheme.New(gvk)
	if err != nil {
		return nil, fmt.Errorf("creating a %s: %w", gvk.Kind, err)
	}
	typed, ok := object.(client.Object)
	if !ok {
		return nil, fmt.Errorf("%s is not an object", gvk.Kind)
	}
	typed.GetObjectKind().SetGroupVersionKind(gvk)
	return typed, nil
}

// newList returns an empty list of objects of kind, as NewObject does.
func newList(scheme *runtime.Scheme, kind schema.GroupVersionKind) (client.ObjectList, error) {
	kind.Kind += "List"
	if !scheme.Recognizes(kind) {
		list := &unstructured.UnstructuredList{}
		list.SetGroupVersionKind(kind)
		return list, nil
	}
	object, err := scheme.New(kind)
	if err != nil {
		return nil, fmt.Errorf("creating a %s: %w", kind.Kind, err)
	}
	list, ok := object.(client.ObjectList)
	if !ok {
		return nil, fmt.Errorf("%s is not a list", kind.Kind)
	}
	return list, nil
}

// IsOfKind reports whether reference refers to an object of kind in any version. The version in an owner
// reference is that of the last apply.
func IsOfKind(reference *metav1.OwnerReference, kind schema.GroupKind) bool {
	version, err := schema.ParseGroupVersion(reference.APIVersion)
	return err == nil && version.Group == kind.Group && reference.Kind == kind.Kind
}

// shallowCopy returns a copy of object whose metadata can be set. It shares what the fields of object point to.
// The metadata of an Unstructured is a map, which is copied deeply.
func shallowCopy(object client.Object) client.Object {
	if u, ok := object.(*unstructured.Unstructured); ok {
		return u.DeepCopy()
	}
	copied := reflect.New(reflect.TypeOf(object).Elem())
	copied.Elem().Set(reflect.ValueOf(object).Elem())
	return copied.Interface().(client.Object)
}
