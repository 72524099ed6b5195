// SPDX-License-Identifier: Apache-2.0

package apply

import (
	"bytes"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"
)

// HashAnnotation is the annotation of each applied object with a hash of what was applied. It is on the object
// itself, never on a pod template.
const HashAnnotation = "cache.example.com/applied-hash"

// maxHash bounds the length of the value of HashAnnotation that the cache keeps; other clients may write any.
const maxHash = 64

// digest identifies what was applied to an object and which fields it made ours: the value of HashAnnotation and a
// hash of the fields in managedFields, separated by a space. Whoever changes a field of ours takes it from them.
// Either part of an object with a pod template ends with a period and a hash of the pod template.
type digest string

// podTemplate returns the part of d that identifies the pod template. That of an object without HashAnnotation, which this operator
// has not applied, equals no other.
func (d digest) podTemplate() string {
	hash, fields, _ := strings.Cut(string(d), " ")
	_, hash, _ = strings.Cut(hash, ".")
	_, fields, _ = strings.Cut(fields, ".")
	return hash + " " + fields
}

// newDigest returns the digest of an object with hash as its HashAnnotation and fields as its fields of FieldManager.
func newDigest(hash string, fields *fieldpath.Set) (digest, error) {
	text, err := hashFields(fields)
	if err != nil {
		return "", err
	}
	if podTemplate := below(fields, "spec", "template"); !podTemplate.Empty() {
		suffix, err := hashFields(podTemplate)
		if err != nil {
			return "", err
		}
		text += "." + suffix
	}
	return digest(hash + " " + text), nil
}

// below returns the fields below the field that names leads to.
func below(fields *fieldpath.Set, names ...string) *fieldpath.Set {
	for _, name := range names {
		fields = fields.WithPrefix(fieldpath.PathElement{FieldName: &name})
	}
	return fields
}

// hashFields returns a hash of fields, whose serialization is in order.
func hashFields(fields *fieldpath.Set) (string, error) {
	serialized, err := fields.ToJSON()
	if err != nil {
		return "", fmt.Errorf("serializing fields: %w", err)
	}
	return sum(serialized), nil
}

// withHash returns rendered with HashAnnotation. It shares all but metadata with rendered. The error is a SchemaError if
// an annotation is not a text.
func withHash(rendered *unstructured.Unstructured) (*unstructured.Unstructured, error) {
	content, err := json.Marshal(rendered.Object) // Maps are encoded in order.
	if err != nil {
		return nil, fmt.Errorf("encoding %s: %w", describe(rendered), err)
	}
	hash := sum(content)
	if podTemplate, ok, _ := unstructured.NestedFieldNoCopy(rendered.Object, "spec", "template"); ok {
		content, err := json.Marshal(podTemplate)
		if err != nil {
			return nil, fmt.Errorf("encoding the pod template of %s: %w", describe(rendered), err)
		}
		hash += "." + sum(content)
	}
	object := copyMetadata(rendered)
	annotations := map[string]string{}
	if value, _, _ := unstructured.NestedFieldNoCopy(object.Object, "metadata", "annotations"); value != nil {
		if annotations, _, err = unstructured.NestedStringMap(object.Object, "metadata", "annotations"); err != nil {
			return nil, &SchemaError{object.GetKind(), object.GetName(), err}
		}
	}
	annotations[HashAnnotation] = hash
	object.SetAnnotations(annotations)
	return object, nil
}

// RemoveHash removes HashAnnotation from object, to compare what was rendered.
func RemoveHash(object *unstructured.Unstructured) {
	annotations := object.GetAnnotations()
	delete(annotations, HashAnnotation)
	if object.SetAnnotations(annotations); len(annotations) == 0 {
		object.SetAnnotations(nil)
	}
}

// sum returns 128 bits of the SHA-256 of text.
func sum(text []byte) string {
	hash := sha256.Sum256(text)
	return base64.RawStdEncoding.EncodeToString(hash[:16])
}

// isReduced reports whether entry holds a digest, as a JSON string, instead of fields.
func isReduced(entry *metav1.ManagedFieldsEntry) bool {
	return bytes.HasPrefix(entry.FieldsV1.GetRawBytes(), []byte(`"`))
}

// appliedTo returns the digest of object, which may be reduced. It is empty when FieldManager has not applied the
// object, or when managedFields cannot be read.
func appliedTo(object client.Object) digest {
	entry, ok := ourEntry(object)
	switch {
	case !ok:
		return ""
	case isReduced(entry):
		return digest(strings.Trim(entry.FieldsV1.GetRawString(), `"`))
	}
	hash := object.GetAnnotations()[HashAnnotation]
	if len(hash) > maxHash {
		hash = ""
	}
	fields, err := appliedFields(object)
	if err != nil {
		return ""
	}
	d, _ := newDigest(hash, fields) // Fields that were read can be serialized.
	return d
}
