// SPDX-License-Identifier: Apache-2.0

package apply

import (
	"unique"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// Reduce returns object with only what the Applier reads: its identity, its controller, and in place
// of managedFields the digest of what FieldManager applied; and the endpoints of an EndpointSlice, from which the next ones follow. The
// result has the type that NewCached returns. It is meant for cache transforms. Reducing a reduced object changes nothing.
func Reduce(object client.Object) client.Object {
	digest, applied := appliedTo(object), isApplied(object)
	name, uid, version := object.GetName(), string(object.GetUID()), object.GetResourceVersion()
	controller := metav1.GetControllerOfNoCopy(object)
	var owner, ownerUID string
	if controller != nil {
		owner, ownerUID = controller.Name, string(controller.UID)
	}
	if owner == name { // As for most objects.
		Pack(&name, &uid, &version, &ownerUID)
		owner = name
	} else {
		Pack(&name, &uid, &version, &ownerUID, &owner)
	}

	kept := emptyLike(object)
	kept.SetNamespace(Intern(object.GetNamespace()))
	kept.SetName(name)
	kept.SetUID(types.UID(uid))
	kept.SetResourceVersion(version)
	kept.SetGeneration(object.GetGeneration())
	kept.SetDeletionTimestamp(object.GetDeletionTimestamp())
	if controller != nil {
		kept.references[0] = metav1.OwnerReference{
			APIVersion: Intern(controller.APIVersion),
			Kind:       Intern(controller.Kind),
			Name:       owner,
			UID:        types.UID(ownerUID),
			Controller: &isController,
		}
		kept.SetOwnerReferences(kept.references[:])
	}
	if applied {
		kept.entries[0] = metav1.ManagedFieldsEntry{
			Manager:   FieldManager,
			Operation: metav1.ManagedFieldsOperationApply,
			FieldsV1:  kept.fields,
		}
		kept.fields.SetRawString(`"` + string(digest) + `"`)
		kept.SetManagedFields(kept.entries[:])
	}
	switch object := object.(type) {
	case *discoveryv1.EndpointSlice:
		kept := kept.Object.(*discoveryv1.EndpointSlice)
		kept.AddressType, kept.Endpoints = object.AddressType, object.Endpoints
	case *corev1.ConfigMap:
		if object.Annotations[FollowsSizeAnnotation] == "true" {
			kept := kept.Object.(*corev1.ConfigMap)
			kept.Annotations, kept.Data = map[string]string{FollowsSizeAnnotation: "true"}, object.Data
		}
	}
	return kept.Object
}

// isController is shared by all reduced objects.
var isController = true

// Intern returns the shared copy of text.
func Intern(text string) string { return unique.Make(text).Value() }

// Pack moves texts into one allocation. Many small long-lived allocations among short-lived ones
// fragment the heap.
func Pack(texts ...*string) {
	length := 0
	for _, text := range texts {
		length += len(*text)
	}
	packed := make([]byte, 0, length)
	for _, text := range texts {
		packed = append(packed, *text...)
	}
	all := string(packed)
	for _, text := range texts {
		*text, all = all[:len(*text)], all[len(*text):]
	}
}

// reduced is an empty object with memory for the metadata that Reduce keeps.
type reduced struct {
	client.Object
	references *[1]metav1.OwnerReference
	entries    *[1]metav1.ManagedFieldsEntry
	fields     *metav1.FieldsV1
}

// allocation is the single allocation of a reduced object; see Pack.
type allocation[T any] struct {
	object     T
	references [1]metav1.OwnerReference
	entries    [1]metav1.ManagedFieldsEntry
	fields     metav1.FieldsV1
}

// emptyLike returns an empty object of object's kind, of the type that NewCached returns.
func emptyLike(object client.Object) reduced {
	var empty reduced
	switch object.(type) {
	case *appsv1.Deployment:
		empty = allocate[appsv1.Deployment]()
	case *corev1.ConfigMap:
		empty = allocate[corev1.ConfigMap]()
	case *discoveryv1.EndpointSlice:
		empty = allocate[discoveryv1.EndpointSlice]()
	default:
		empty = allocate[metav1.PartialObjectMetadata]()
	}
	empty.GetObjectKind().SetGroupVersionKind(object.GetObjectKind().GroupVersionKind())
	return empty
}

func allocate[T any, P interface {
	*T
	client.Object
}]() reduced {
	p := &allocation[T]{}
	return reduced{P(&p.object), &p.references, &p.entries, &p.fields}
}
