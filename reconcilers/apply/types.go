// SPDX-License-Identifier: Apache-2.0

package apply

import (
	"fmt"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/managedfields"
	"k8s.io/client-go/applyconfigurations"
	"k8s.io/client-go/openapi"
	"k8s.io/client-go/openapi3"
	"sigs.k8s.io/structured-merge-diff/v6/typed"
)

// types knows the schema of every kind to apply: client-go's for the kinds of its
// scheme, the server's own for the others.
type types struct {
	builtin managedfields.TypeConverter
	served  map[schema.GroupVersion]managedfields.TypeConverter
	scheme  *runtime.Scheme
}

// NewTypes returns a converter for kinds. Schemas that client-go lacks (those of
// custom resources) are read from the server, one request for each group and version.
func NewTypes(scheme *runtime.Scheme, server openapi.Client, kinds []schema.GroupVersionKind) (managedfields.TypeConverter, error) {
	t := &types{
		builtin: applyconfigurations.NewTypeConverter(scheme),
		served:  map[schema.GroupVersion]managedfields.TypeConverter{},
		scheme:  scheme,
	}
	for _, kind := range kinds {
		version := kind.GroupVersion()
		if _, known := t.served[version]; known || scheme.Recognizes(kind) {
			continue
		}
		document, err := openapi3.NewRoot(server).GVSpec(version)
		if err != nil {
			return nil, fmt.Errorf("reading the schema of %s from the server: %w", version, err)
		}
		if t.served[version], err = managedfields.NewTypeConverter(document.Components.Schemas, false); err != nil {
			return nil, fmt.Errorf("reading the schema of %s: %w", version, err)
		}
	}
	return t, nil
}

// ObjectToTyped implements managedfields.TypeConverter.
func (t *types) ObjectToTyped(object runtime.Object, options ...typed.ValidationOptions) (*typed.TypedValue, error) {
	kind := object.GetObjectKind().GroupVersionKind()
	if served, ok := t.served[kind.GroupVersion()]; ok && !t.scheme.Recognizes(kind) {
		return served.ObjectToTyped(object, options...)
	}
	return t.builtin.ObjectToTyped(object, options...)
}

// TypedToObject implements managedfields.TypeConverter.
func (t *types) TypedToObject(value *typed.TypedValue) (runtime.Object, error) {
	return t.builtin.TypedToObject(value)
}
