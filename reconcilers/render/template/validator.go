// SPDX-License-Identifier: Apache-2.0

package template

import (
	"errors"
	"fmt"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/managedfields"
	"k8s.io/client-go/applyconfigurations"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"

	cachev1alpha1 "github.com/example/memcached-operator/apis/v1alpha1"
	"github.com/example/memcached-operator/internal/sanitize"
)

// reservedMetadata lists the fields of metadata that the operator or the server sets.
var reservedMetadata = []string{
	"namespace", "generateName", "uid", "resourceVersion", "generation",
	"creationTimestamp", "deletionTimestamp", "managedFields", "ownerReferences", "finalizers",
}

func checkMetadata(object *unstructured.Unstructured) (errs []error) {
	if object.GroupVersionKind() == (schema.GroupVersionKind{Version: "v1", Kind: "Secret"}) {
		return []error{errors.New("the operator does not manage Secrets; create it separately and mount it by name")}
	}
	if object.GroupVersionKind().Group == cachev1alpha1.SchemeGroupVersion.Group {
		return []error{errors.New("objects of the operator's own API group are not allowed in templates")}
	}
	metadata, _ := object.Object["metadata"].(map[string]any)
	for _, field := range reservedMetadata {
		if _, set := metadata[field]; set {
			errs = append(errs, fmt.Errorf("metadata.%s is managed by the operator; remove it from the template", field))
		}
	}
	if _, set := object.Object["status"]; set {
		errs = append(errs, errors.New("status is managed by the server; remove it from the template"))
	}
	return errs
}

// Validator validates objects against the schemas of client-go's apply configurations:
// an unknown or miscased field, or a value of the wrong type, is an error.
type Validator struct {
	types managedfields.TypeConverter
}

// NewValidator returns a validator for the kinds of client-go.
func NewValidator() Validator {
	return Validator{applyconfigurations.NewTypeConverter(clientgoscheme.Scheme)}
}

// validateTemplate validates an object of a template file, which must not set what the
// operator or the server sets. The error joins the problems of all fields.
func (v Validator) validateTemplate(object *unstructured.Unstructured) error {
	errs := checkMetadata(object)
	if clientgoscheme.Scheme.Recognizes(object.GroupVersionKind()) {
		_, err := v.types.ObjectToTyped(object)
		for _, field := range sanitize.Fields(err) {
			errs = append(errs, Problem{Path: field.Path, Message: field.Message})
		}
	}
	return OfObject(object.GetKind(), object.GetName(), errs...)
}

// Validate returns an error when object does not match the schema or the Go type of its kind. Kinds
// that client-go does not know are left to the API server.
func (v Validator) Validate(object *unstructured.Unstructured) error {
	if !clientgoscheme.Scheme.Recognizes(object.GroupVersionKind()) {
		return nil
	}
	_, err := v.types.ObjectToTyped(object)
	if found := problemsIn(checkTyped(object.GroupVersionKind(), object.Object)...); err == nil && len(found) > 0 {
		return found[0]
	}
	return sanitize.Schema(err)
}
