// SPDX-License-Identifier: Apache-2.0

package apply

import (
	"fmt"
	"reflect"
	"slices"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// NewObject returns an empty object of gvk: of its Go type if scheme has one, or else an unstructured one.
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

// NewCached returns an empty object of kind as the cache holds it: of its Go type for a kind whose content is read, and otherwise
// metadata alone, which is all that most objects are compared by, and a fraction of the memory and of the traffic.
func NewCached(scheme *runtime.Scheme, kind schema.GroupVersionKind) (client.Object, error) {
	if slices.Contains(contentKinds, kind) {
		return NewObject(scheme, kind)
	}
	object := &metav1.PartialObjectMetadata{}
	object.SetGroupVersionKind(kind)
	return object, nil
}

// contentKinds are the kinds of which the cache holds more than metadata: what Reduce keeps, and of Deployments what Options.Reduce does.
var contentKinds = []schema.GroupVersionKind{
	appsv1.SchemeGroupVersion.WithKind("Deployment"),
	corev1.SchemeGroupVersion.WithKind("ConfigMap"),
	EndpointSliceKind,
}

// newCachedList returns an empty list of objects of kind, as NewCached does.
func newCachedList(scheme *runtime.Scheme, kind schema.GroupVersionKind) (client.ObjectList, error) {
	listKind := kind.GroupVersion().WithKind(kind.Kind + "List")
	if !slices.Contains(contentKinds, kind) {
		list := &metav1.PartialObjectMetadataList{}
		list.SetGroupVersionKind(listKind)
		return list, nil
	}
	object, err := scheme.New(listKind)
	if err != nil {
		return nil, fmt.Errorf("creating a %s: %w", listKind.Kind, err)
	}
	list, ok := object.(client.ObjectList)
	if !ok {
		return nil, fmt.Errorf("%s is not a list", listKind.Kind)
	}
	return list, nil
}

// IsOfKind reports whether reference refers to an object of kind in any version. The version in an owner
// reference is that of the last apply.
func IsOfKind(reference *metav1.OwnerReference, kind schema.GroupKind) bool {
	version, err := schema.ParseGroupVersion(reference.APIVersion)
	return err == nil && version.Group == kind.Group && reference.Kind == kind.Kind
}

// shallowCopy returns a copy of object, as NewCached returns it, whose metadata can be set. It shares what the fields of object point to.
func shallowCopy(object client.Object) client.Object {
	copied := reflect.New(reflect.TypeOf(object).Elem())
	copied.Elem().Set(reflect.ValueOf(object).Elem())
	return copied.Interface().(client.Object)
}
