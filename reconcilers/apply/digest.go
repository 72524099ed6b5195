// SPDX-License-Identifier: Apache-2.0

package apply

import (
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"hash/maphash"
	"maps"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"unique"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/lru"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"
)

// digest identifies a set of fields and the values at them: 128 bits of a SHA-256, as JSON.
// Two objects whose applied fields have the same digest are equal as far as we applied them.
type digest string

// newDigest returns the digest of fields and of the values that content has at them. A value
// that is written as a whole (an atomic list or map) counts whole.
func newDigest(fields *fieldpath.Set, content map[string]any) digest {
	return sum(appendFields(make([]byte, 0, 4096), fields, content))
}

// digestOf returns the digest of a rendered object as it is written.
func digestOf(content map[string]any) digest {
	return sum(appendValue(make([]byte, 0, 4096), content))
}

func sum(text []byte) digest {
	hash := sha256.Sum256(text)
	return digest(`"` + base64.RawStdEncoding.EncodeToString(hash[:16]) + `"`)
}

// appendFields appends fields and the values at them to text.
func appendFields(text []byte, fields *fieldpath.Set, content any) []byte {
	p := parent{value: content}
	text = append(text, '{')
	fields.Members.Iterate(func(element fieldpath.PathElement) {
		text = appendElement(text, element)
		if _, hasFields := fields.Children.Get(element); hasFields {
			return // An item of a list: its fields are below.
		}
		if value, ok := p.child(element); ok {
			text = appendValue(text, value)
		}
	})
	text = append(text, '}', '{')
	fields.Children.Iterate(func(element fieldpath.PathElement) {
		below, _ := fields.Children.Get(element)
		text = appendElement(text, element)
		value, _ := p.child(element)
		text = appendFields(text, below, value)
	})
	return append(text, '}')
}

func appendElement(text []byte, element fieldpath.PathElement) []byte {
	if element.FieldName != nil {
		text = append(append(text, 'f', ':'), *element.FieldName...)
	} else {
		serialized, _ := fieldpath.SerializePathElement(element)
		text = append(text, serialized...)
	}
	return append(text, 0)
}

// appendValue appends value to text, with the keys of maps in order. Numbers are written as JSON
// has them, so that their Go types do not matter.
func appendValue(text []byte, value any) []byte {
	switch v := value.(type) {
	case string:
		text = strconv.AppendQuote(text, v)
	case bool:
		text = strconv.AppendBool(text, v)
	case int64:
		text = strconv.AppendInt(text, v, 10)
	case map[string]any:
		text = append(text, '{')
		for _, key := range slices.Sorted(maps.Keys(v)) {
			text = append(strconv.AppendQuote(text, key), ':')
			text = appendValue(text, v[key])
		}
		text = append(text, '}')
	case []any:
		text = append(text, '[')
		for _, item := range v {
			text = appendValue(text, item)
		}
		text = append(text, ']')
	default:
		encoded, _ := json.Marshal(v) // Unstructured content always encodes.
		text = append(text, encoded...)
	}
	return append(text, 0)
}

// Reduce cuts object down to what the Applier reads of it: its identity, its controller, and
// in the place of managedFields the digest of what FieldManager applied. It is for cache
// transforms; a reduced object stays as it is.
func Reduce(object client.Object) client.Object {
	entry, applied := ourEntry(object)
	var digest string
	switch {
	case applied && isReduced(entry):
		digest = entry.FieldsV1.GetRawString()
	case applied:
		digest = string(knownDigest(object, entry))
	}
	name, uid, version := object.GetName(), string(object.GetUID()), object.GetResourceVersion()
	controller := metav1.GetControllerOfNoCopy(object)
	var owner, ownerUID string
	if controller != nil {
		owner, ownerUID = controller.Name, string(controller.UID)
	}
	if owner == name { // Most objects are called like their controller.
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
			Controller: &yes,
		}
		kept.SetOwnerReferences(kept.references[:])
	}
	if applied {
		kept.entries[0] = metav1.ManagedFieldsEntry{
			Manager:   FieldManager,
			Operation: metav1.ManagedFieldsOperationApply,
			FieldsV1:  kept.fields,
		}
		kept.fields.SetRawString(digest)
		kept.SetManagedFields(kept.entries[:])
	}
	return kept.Object
}

// yes is shared by all reduced objects.
var yes = true

// Intern returns text in the one copy that everybody has who interned it.
func Intern(text string) string { return unique.Make(text).Value() }

// Pack moves texts into one piece of memory. Many small pieces that live long, among many more
// that do not, keep the memory around them from being given back.
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

// reduced is an empty object, and memory for what Reduce keeps besides.
type reduced struct {
	client.Object
	references *[1]metav1.OwnerReference
	entries    *[1]metav1.ManagedFieldsEntry
	fields     *metav1.FieldsV1
}

// piece is one piece of memory for a reduced object, for the reason that Pack gives.
type piece[T any] struct {
	object     T
	references [1]metav1.OwnerReference
	entries    [1]metav1.ManagedFieldsEntry
	fields     metav1.FieldsV1
}

// emptyLike returns an empty object of object's type and kind.
func emptyLike(object client.Object) reduced {
	var empty reduced
	switch object := object.(type) {
	case *unstructured.Unstructured:
		u := &unstructured.Unstructured{}
		u.SetGroupVersionKind(object.GroupVersionKind())
		return reduced{u, &[1]metav1.OwnerReference{}, &[1]metav1.ManagedFieldsEntry{}, &metav1.FieldsV1{}}
	// Those of every Memcached.
	case *appsv1.Deployment:
		p := &piece[appsv1.Deployment]{}
		empty = reduced{&p.object, &p.references, &p.entries, &p.fields}
	case *corev1.Service:
		p := &piece[corev1.Service]{}
		empty = reduced{&p.object, &p.references, &p.entries, &p.fields}
	case *policyv1.PodDisruptionBudget:
		p := &piece[policyv1.PodDisruptionBudget]{}
		empty = reduced{&p.object, &p.references, &p.entries, &p.fields}
	default:
		made := reflect.New(reflect.TypeOf(object).Elem()).Interface().(client.Object)
		empty = reduced{made, &[1]metav1.OwnerReference{}, &[1]metav1.ManagedFieldsEntry{}, &metav1.FieldsV1{}}
	}
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

// maxKnown bounds the memory of known, at about 200 bytes each; what falls out is computed anew.
const maxKnown = 1 << 10

// known holds the digests of what FieldManager applied to objects. An object is seen several
// times: in the answer to a write, in the event of it, and in those of its status.
var known = lru.New(maxKnown)

// knownKey identifies what a digest is computed from.
type knownKey struct {
	uid types.UID
	// version is the resourceVersion, or of kinds whose status changes often the generation,
	// which the API server raises with each change of their spec.
	version string
	// metadata is a hash of the metadata that FieldManager may have applied, and of the record of
	// what it applied.
	metadata uint64
}

// seed makes the hashes unpredictable.
var seed = maphash.MakeSeed()

// knownDigest is appliedDigest, computed once for each state of object; entry records what
// FieldManager applied to it.
func knownDigest(object client.Object, entry *metav1.ManagedFieldsEntry) digest {
	key := knownKey{uid: object.GetUID(), version: object.GetResourceVersion()}
	switch object.(type) {
	case *appsv1.Deployment, *appsv1.StatefulSet, *policyv1.PodDisruptionBudget:
		key.version = strconv.FormatInt(object.GetGeneration(), 10)
	}
	record := entry.FieldsV1.GetRawString()
	key.metadata = maphash.String(seed, record)
	for _, texts := range []struct {
		field string
		texts map[string]string
	}{{"labels", object.GetLabels()}, {"annotations", object.GetAnnotations()}} {
		key.metadata *= 31
		whole := strings.Contains(record, `"f:`+texts.field+`":{}`)
		for name, text := range texts.texts { // in any order
			// Others' do not count: the Deployment controller adds a revision to each Deployment.
			if whole || strings.Contains(record, name) {
				key.metadata += maphash.Comparable(seed, [2]string{name, text})
			}
		}
	}
	for _, reference := range object.GetOwnerReferences() {
		isController, blocks := ptr.Deref(reference.Controller, false), ptr.Deref(reference.BlockOwnerDeletion, false)
		reference.Controller, reference.BlockOwnerDeletion = nil, nil // They are pointers.
		key.metadata = key.metadata*31 + maphash.Comparable(seed, reference)
		key.metadata = key.metadata*31 + maphash.Comparable(seed, [2]bool{isController, blocks})
	}
	for _, finalizer := range object.GetFinalizers() {
		key.metadata = key.metadata*31 + maphash.String(seed, finalizer)
	}
	if computed, ok := known.Get(key); ok {
		return computed.(digest)
	}
	computed := appliedDigest(object)
	known.Add(key, computed)
	return computed
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
