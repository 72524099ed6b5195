// SPDX-License-Identifier: Apache-2.0

package apply

import (
	"bytes"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"hash/maphash"
	"slices"
	"strconv"
	"strings"
	"sync"

	appsv1 "k8s.io/api/apps/v1"
	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/lru"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"
	"sigs.k8s.io/structured-merge-diff/v6/value"
)

// digest identifies a set of fields and their values: 128 bits of a SHA-256, as a JSON string. Two
// objects whose applied fields have the same digest are equal in these fields. The digest of an object with a
// pod template ends with a period and that of the fields in the pod template.
type digest string

// podTemplate returns the digest of the fields in the pod template; it is empty when there are none.
func (d digest) podTemplate() string {
	_, podTemplate, _ := strings.Cut(string(d), ".")
	return podTemplate
}

// newDigest returns the digest of fields and of their values in content. It includes the whole value
// of an atomic list or map.
func newDigest(fields *fieldpath.Set, content value.Value) digest {
	e := encoders.Get().(*encoder)
	defer encoders.Put(e)
	e.text = e.text[:0]
	e.podTemplate = podTemplateIn(fields)
	e.appendFields(fields, content)
	if e.podTemplate == nil {
		return digest(`"` + sum(e.text) + `"`)
	}
	return digest(`"` + sum(e.text) + "." + sum(e.text[e.start:e.end]) + `"`)
}

// podTemplateIn returns the fields below spec.template, or nil.
func podTemplateIn(fields *fieldpath.Set) *fieldpath.Set {
	for _, name := range []string{"spec", "template"} {
		below, ok := fields.Children.Get(fieldpath.PathElement{FieldName: &name})
		if !ok {
			return nil
		}
		fields = below
	}
	return fields
}

// digestOf returns the digest of the content of a rendered object.
func digestOf(content map[string]any) digest {
	e := encoders.Get().(*encoder)
	defer encoders.Put(e)
	e.text = e.text[:0]
	e.appendValue(value.NewValueInterface(content))
	return digest(`"` + sum(e.text) + `"`)
}

func sum(text []byte) string {
	hash := sha256.Sum256(text)
	return base64.RawStdEncoding.EncodeToString(hash[:16])
}

// encoder encodes fields and values as a text that is equal for equal ones.
type encoder struct {
	text []byte
	// podTemplate are the fields of the pod template, which text holds from start to end.
	podTemplate *fieldpath.Set
	start, end  int
	// allocator reuses the memory of values.
	allocator value.Allocator
}

// encoders reuses encoders, whose text takes more memory than all else of a comparison.
var encoders = sync.Pool{New: func() any { return &encoder{allocator: value.NewFreelistAllocator()} }}

// appendFields appends fields and their values in content.
func (e *encoder) appendFields(fields *fieldpath.Set, content value.Value) {
	p := newParent(content)
	e.text = append(e.text, '{')
	fields.Members.Iterate(func(element fieldpath.PathElement) {
		e.text = appendElement(e.text, element)
		if _, hasFields := fields.Children.Get(element); hasFields {
			return // An item of a list, whose fields are children.
		}
		if v, ok := p.child(element); ok {
			e.appendValue(v)
		}
	})
	e.text = append(e.text, '}', '{')
	fields.Children.Iterate(func(element fieldpath.PathElement) {
		below, _ := fields.Children.Get(element)
		e.text = appendElement(e.text, element)
		v, _ := p.child(element)
		start := len(e.text)
		e.appendFields(below, v)
		if below == e.podTemplate {
			e.start, e.end = start, len(e.text)
		}
	})
	e.text = append(e.text, '}')
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

// appendValue appends v, with the keys of maps in order. Go types of numbers do not matter.
func (e *encoder) appendValue(v value.Value) {
	switch {
	case v.IsString():
		e.text = strconv.AppendQuote(e.text, v.AsString())
	case v.IsBool():
		e.text = strconv.AppendBool(e.text, v.AsBool())
	case v.IsInt():
		e.text = strconv.AppendInt(e.text, v.AsInt(), 10)
	case v.IsMap():
		e.appendMap(v)
	case v.IsList():
		list := v.AsListUsing(e.allocator)
		defer e.allocator.Free(list)
		e.text = append(e.text, '[')
		for i := range list.Length() {
			item := list.AtUsing(e.allocator, i)
			e.appendValue(item)
			e.allocator.Free(item)
		}
		e.text = append(e.text, ']')
	default:
		encoded, _ := json.Marshal(v.Unstructured()) // A float or null always encodes.
		e.text = append(e.text, encoded...)
	}
	e.text = append(e.text, 0)
}

func (e *encoder) appendMap(v value.Value) {
	entries := v.AsMapUsing(e.allocator)
	defer e.allocator.Free(entries)
	keys := make([]string, 0, entries.Length())
	entries.IterateUsing(e.allocator, func(key string, _ value.Value) bool {
		keys = append(keys, key)
		return true
	})
	slices.Sort(keys)
	e.text = append(e.text, '{')
	for _, key := range keys {
		e.text = append(strconv.AppendQuote(e.text, key), ':')
		item, _ := entries.GetUsing(e.allocator, key)
		e.appendValue(item)
		e.allocator.Free(item)
	}
	e.text = append(e.text, '}')
}

// isReduced reports whether entry holds a digest, which is a JSON string, instead of fields.
func isReduced(entry *metav1.ManagedFieldsEntry) bool {
	return bytes.HasPrefix(entry.FieldsV1.GetRawBytes(), []byte(`"`))
}

// appliedTo returns the digest of the fields that FieldManager applied to object, which may be
// reduced. It is empty when FieldManager applied none.
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

// maxAppliedDigests bounds the memory of appliedDigests, at about 200 bytes per entry.
const maxAppliedDigests = 1 << 10

// appliedDigests caches the digests of the fields that FieldManager applied to objects. An object is
// reduced several times: in the response to a write, in its watch event, and in those of its status.
var appliedDigests = digestCache{entries: lru.New(maxAppliedDigests)}

// appliedDigestKey identifies the input of a digest.
type appliedDigestKey struct {
	uid types.UID
	// version is the resourceVersion, or for kinds whose status changes often the generation, which
	// the API server increments with each change of the spec.
	version string
	// metadata is a hash of the metadata that FieldManager may have applied, and of its entry in
	// managedFields.
	metadata uint64
}

// hashSeed makes the hashes unpredictable.
var hashSeed = maphash.MakeSeed()

// cachedAppliedDigest returns appliedDigest(object) from the cache, or computes it. entry is
// FieldManager's entry in managedFields.
func cachedAppliedDigest(object client.Object, entry *metav1.ManagedFieldsEntry) digest {
	key := appliedDigestKey{uid: object.GetUID(), version: object.GetResourceVersion()}
	switch object.(type) {
	case *appsv1.Deployment, *appsv1.StatefulSet, *policyv1.PodDisruptionBudget:
		key.version = strconv.FormatInt(object.GetGeneration(), 10)
	}
	record := entry.FieldsV1.GetRawBytes()
	key.metadata = maphash.Bytes(hashSeed, record)
	for _, m := range []struct {
		field string
		texts map[string]string
	}{{"labels", object.GetLabels()}, {"annotations", object.GetAnnotations()}} {
		key.metadata *= 31
		isWhole := bytes.Contains(record, []byte(`"f:`+m.field+`":{}`))
		for name, text := range m.texts { // in any order
			// Those of others are left out: the Deployment controller sets a revision on each Deployment.
			if isWhole || bytes.Contains(record, []byte(name)) {
				key.metadata += maphash.Comparable(hashSeed, [2]string{name, text})
			}
		}
	}
	for _, reference := range object.GetOwnerReferences() {
		isController, blocks := ptr.Deref(reference.Controller, false), ptr.Deref(reference.BlockOwnerDeletion, false)
		reference.Controller, reference.BlockOwnerDeletion = nil, nil // They are pointers.
		key.metadata = key.metadata*31 + maphash.Comparable(hashSeed, reference)
		key.metadata = key.metadata*31 + maphash.Comparable(hashSeed, [2]bool{isController, blocks})
	}
	for _, finalizer := range object.GetFinalizers() {
		key.metadata = key.metadata*31 + maphash.String(hashSeed, finalizer)
	}
	return appliedDigests.of(key, object)
}

// digestCache computes and caches digests. It is safe for use by many goroutines.
type digestCache struct {
	mu      sync.Mutex
	entries *lru.Cache // of func() digest, by appliedDigestKey
}

// of returns the digest of the fields that FieldManager applied to object. The response to a write and its
// watch event often arrive at the same time: one call computes the digest, and the other waits for it.
func (c *digestCache) of(key appliedDigestKey, object client.Object) digest {
	c.mu.Lock()
	entry, ok := c.entries.Get(key)
	if !ok {
		entry = sync.OnceValue(func() digest { return appliedDigest(object) })
		c.entries.Add(key, entry)
	}
	c.mu.Unlock()
	return entry.(func() digest)()
}

// unreadable is not the digest of any rendered object.
const unreadable digest = `"unreadable"`

// appliedDigest computes the digest of the fields that FieldManager applied to object. It is unreadable
// when managedFields or object cannot be read.
func appliedDigest(object client.Object) (d digest) {
	fields, err := appliedFields(object)
	if err != nil {
		return unreadable
	}
	content, err := valueOf(object)
	if err != nil {
		return unreadable
	}
	// A value panics if it cannot be encoded, such as an IntOrString that is neither.
	defer func() {
		if recover() != nil {
			d = unreadable
		}
	}()
	return newDigest(fields, content)
}
