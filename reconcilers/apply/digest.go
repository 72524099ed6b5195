// SPDX-License-Identifier: Apache-2.0

package apply

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"hash"
	"reflect"
	"slices"
	"strconv"
	"unique"

	appsv1 "k8s.io/api/apps/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"
)

// digest identifies a set of fields and the values at them: 128 bits of a SHA-256, as JSON.
// Two objects whose applied fields have the same digest are equal as far as we applied them.
type digest string

// newDigest returns the digest of fields and of the values that content has at them. A value
// that is written as a whole (an atomic list or map) counts whole.
func newDigest(fields *fieldpath.Set, content map[string]any) digest {
	h := sha256.New()
	hashFields(h, fields, content)
	return sum(h)
}

func sum(h hash.Hash) digest {
	return digest(`"` + hex.EncodeToString(h.Sum(nil)[:16]) + `"`)
}

// digestOf returns the digest of a rendered object as it is written.
func digestOf(content map[string]any) digest {
	h := sha256.New()
	hashValue(h, content)
	return sum(h)
}

// hashFields writes fields and the values at them to h.
func hashFields(h hash.Hash, fields *fieldpath.Set, content any) {
	p := parent{value: content}
	h.Write([]byte("{"))
	fields.Members.Iterate(func(element fieldpath.PathElement) {
		hashElement(h, element)
		if _, hasFields := fields.Children.Get(element); hasFields {
			return // An item of a list: its fields are below.
		}
		if value, ok := p.child(element); ok {
			hashValue(h, value)
		}
	})
	h.Write([]byte("}{"))
	fields.Children.Iterate(func(element fieldpath.PathElement) {
		below, _ := fields.Children.Get(element)
		hashElement(h, element)
		value, _ := p.child(element)
		hashFields(h, below, value)
	})
	h.Write([]byte("}"))
}

func hashElement(h hash.Hash, element fieldpath.PathElement) {
	text := "f:"
	if element.FieldName != nil {
		text += *element.FieldName
	} else {
		text, _ = fieldpath.SerializePathElement(element)
	}
	h.Write([]byte(text))
	h.Write([]byte{0})
}

// hashValue writes value as JSON to h. Unstructured content always encodes, and json sorts its
// keys; most values are strings, for which an encoder is slow.
func hashValue(h hash.Hash, value any) {
	if text, ok := value.(string); ok {
		h.Write(strconv.AppendQuote(nil, text))
	} else {
		_ = json.NewEncoder(h).Encode(value)
	}
	h.Write([]byte{0})
}

// Reduce cuts object down to what the Applier reads of it: its identity, its controller, and
// in the place of managedFields the digest of what FieldManager applied. It is for cache
// transforms; a reduced object stays as it is.
func Reduce(object client.Object) client.Object {
	entry, applied := ourEntry(object)
	if applied && !isReduced(entry) {
		entry = &metav1.ManagedFieldsEntry{
			Manager:   FieldManager,
			Operation: metav1.ManagedFieldsOperationApply,
			FieldsV1:  metav1.NewFieldsV1(string(appliedDigest(object))),
		}
	}
	reduced := emptyLike(object)
	reduced.SetNamespace(object.GetNamespace())
	reduced.SetName(object.GetName())
	reduced.SetUID(object.GetUID())
	reduced.SetResourceVersion(object.GetResourceVersion())
	reduced.SetGeneration(object.GetGeneration())
	reduced.SetDeletionTimestamp(object.GetDeletionTimestamp())
	if controller := metav1.GetControllerOf(object); controller != nil {
		reduced.SetOwnerReferences([]metav1.OwnerReference{reduceReference(controller, object.GetName())})
	}
	if applied {
		reduced.SetManagedFields([]metav1.ManagedFieldsEntry{*entry})
	}
	return reduced
}

// yes is shared by all reduced objects.
var yes = true

// reduceReference returns controller with what all references have in common shared between
// them; the object is often called like its controller.
func reduceReference(controller *metav1.OwnerReference, name string) metav1.OwnerReference {
	reduced := metav1.OwnerReference{
		APIVersion: Intern(controller.APIVersion),
		Kind:       Intern(controller.Kind),
		Name:       controller.Name,
		UID:        controller.UID,
		Controller: &yes,
	}
	if reduced.Name == name {
		reduced.Name = name
	}
	return reduced
}

// Intern returns text in the one copy that everybody has who interned it.
func Intern(text string) string { return unique.Make(text).Value() }

// emptyLike returns an empty object of object's type and kind.
func emptyLike(object client.Object) client.Object {
	if u, ok := object.(*unstructured.Unstructured); ok {
		empty := &unstructured.Unstructured{}
		empty.SetGroupVersionKind(u.GroupVersionKind())
		return empty
	}
	empty := reflect.New(reflect.TypeOf(object).Elem()).Interface().(client.Object)
	empty.GetObjectKind().SetGroupVersionKind(object.GetObjectKind().GroupVersionKind())
	return empty
}

// isReduced reports whether entry holds a digest, which is a JSON string, and not fields.
func isReduced(entry *metav1.ManagedFieldsEntry) bool {
	raw := entry.FieldsV1.GetRawString()
	return raw != "" && raw[0] == '"'
}

// appliedTo returns the digest of what FieldManager applied to object, which may be reduced;
// it is empty when FieldManager applied nothing.
func appliedTo(object client.Object) digest {
	entry, ok := ourEntry(object)
	switch {
	case !ok:
		return ""
	case isReduced(entry):
		return digest(entry.FieldsV1.GetRawString())
	default:
		return appliedDigest(object)
	}
}

// appliedDigest computes the digest of what FieldManager applied to object. Where the server's
// record cannot be read it is one that no rendered object has.
func appliedDigest(object client.Object) digest {
	fields, err := appliedFields(object)
	if err != nil {
		return `"unreadable"`
	}
	content, err := contentOf(object)
	if err != nil {
		return `"unreadable"`
	}
	return newDigest(fields, content)
}

// contentOf returns what object holds as the JSON of the API, less managedFields, which takes as
// long to convert as all else, and without what depends on how it was read: claim templates
// have a kind in JSON, and none in protocol buffers.
func contentOf(object client.Object) (map[string]any, error) {
	if _, ok := object.(*unstructured.Unstructured); !ok {
		copied := reflect.New(reflect.TypeOf(object).Elem())
		copied.Elem().Set(reflect.ValueOf(object).Elem())
		object = copied.Interface().(client.Object)
		object.SetManagedFields(nil)
	}
	if set, ok := object.(*appsv1.StatefulSet); ok {
		set.Spec.VolumeClaimTemplates = slices.Clone(set.Spec.VolumeClaimTemplates)
		for i := range set.Spec.VolumeClaimTemplates {
			set.Spec.VolumeClaimTemplates[i].TypeMeta = metav1.TypeMeta{}
		}
	}
	return runtime.DefaultUnstructuredConverter.ToUnstructured(object)
}
