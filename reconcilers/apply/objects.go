// SPDX-License-Identifier: Apache-2.0

package apply

import (
	"fmt"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// NewObject makes an empty object of gvk: of its Go type where the scheme has one,
// which takes a third of the memory, else an unstructured one.
func NewObject(scheme *runtime.Scheme, gvk schema.GroupVersionKind) (client.Object, error) {
	if !scheme.Recognizes(gvk) {
		u := &unstructured.Unstructured{}
		u.SetGroupVersionKind(gvk)
		return u, nil
	}
	object, err := scheme.New(gvk)
	if err != nil {
		return nil, fmt.Errorf("making a %s: %w", gvk.Kind, err)
	}
	typed, ok := object.(client.Object)
	if !ok {
		return nil, fmt.Errorf("%s is not an object", gvk.Kind)
	}
	typed.GetObjectKind().SetGroupVersionKind(gvk)
	return typed, nil
}

// newList makes an empty list of objects of kind, in the same way.
func newList(scheme *runtime.Scheme, kind schema.GroupVersionKind) (client.ObjectList, error) {
	kind.Kind += "List"
	if !scheme.Recognizes(kind) {
		list := &unstructured.UnstructuredList{}
		list.SetGroupVersionKind(kind)
		return list, nil
	}
	object, err := scheme.New(kind)
	if err != nil {
		return nil, fmt.Errorf("making a %s: %w", kind.Kind, err)
	}
	list, ok := object.(client.ObjectList)
	if !ok {
		return nil, fmt.Errorf("%s is not a list", kind.Kind)
	}
	return list, nil
}

// IsOfKind tells whether reference is to an object of kind, in whichever version: a
// child names the version in which its owner was known when it was last applied.
func IsOfKind(reference *metav1.OwnerReference, kind schema.GroupKind) bool {
	version, err := schema.ParseGroupVersion(reference.APIVersion)
	return err == nil && version.Group == kind.Group && reference.Kind == kind.Kind
}
