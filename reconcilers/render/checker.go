// SPDX-License-Identifier: Apache-2.0

package render

import (
	"errors"
	"fmt"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/managedfields"
	"k8s.io/client-go/applyconfigurations"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"

	cachev1alpha1 "github.com/example/memcached-operator/apis/v1alpha1"
	"github.com/example/memcached-operator/reconcilers/sanitize"
)

// reservedMetadata are the fields of metadata that the operator or the server sets.
var reservedMetadata = []string{
	"namespace", "generateName", "uid", "resourceVersion", "generation",
	"creationTimestamp", "deletionTimestamp", "managedFields", "ownerReferences", "finalizers",
}

func checkMetadata(object *unstructured.Unstructured) error {
	if object.GroupVersionKind() == (schema.GroupVersionKind{Version: "v1", Kind: "Secret"}) {
		return errors.New("the operator reads and writes no Secrets; make it beside the Memcached and mount it by name")
	}
	if object.GroupVersionKind().Group == cachev1alpha1.SchemeGroupVersion.Group {
		return errors.New("the operator's own kinds are the input of the templates and cannot come out of them")
	}
	metadata, _ := object.Object["metadata"].(map[string]any)
	for _, field := range reservedMetadata {
		if _, set := metadata[field]; set {
			return fmt.Errorf("metadata.%s is not a template's to set; remove it", field)
		}
	}
	if _, set := object.Object["status"]; set {
		return errors.New("status is not a template's to set; remove it")
	}
	return nil
}

// checker checks objects against the schemas that client-go's apply configurations
// carry: an unknown or miscased field, or a value of the wrong type, is an error.
type checker struct {
	types managedfields.TypeConverter
}

func newChecker() checker {
	return checker{applyconfigurations.NewTypeConverter(clientgoscheme.Scheme)}
}

// checkTemplate checks an object as it stands in a file.
func (c checker) checkTemplate(object *unstructured.Unstructured) error {
	if err := checkMetadata(object); err != nil {
		return err
	}
	return c.check(object)
}

// check passes kinds that client-go does not know: their server will say.
func (c checker) check(object *unstructured.Unstructured) error {
	if !clientgoscheme.Scheme.Recognizes(object.GroupVersionKind()) {
		return nil
	}
	_, err := c.types.ObjectToTyped(object)
	return sanitize.Schema(err)
}
