// SPDX-License-Identifier: Apache-2.0

package apply

import (
	"fmt"
	"slices"

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
	served  map[schema.GroupVersion]served
	scheme  *runtime.Scheme
}

// served is a schema as the server had it at the start.
type served struct {
	// strict refuses fields that the schema does not know: such a field of ours is a
	// mistake.
	strict managedfields.TypeConverter
	// lenient takes them as they come: a live object has such fields once its
	// definition was changed.
	lenient managedfields.TypeConverter
}

// NewTypes returns a converter for kinds. Schemas that client-go lacks (those of
// custom resources) are read from the server, one request for each group and version.
func NewTypes(scheme *runtime.Scheme, server openapi.Client, kinds []schema.GroupVersionKind) (managedfields.TypeConverter, error) {
	t := &types{
		builtin: applyconfigurations.NewTypeConverter(scheme),
		served:  map[schema.GroupVersion]served{},
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
		strict, err := managedfields.NewTypeConverter(document.Components.Schemas, false)
		if err != nil {
			return nil, fmt.Errorf("reading the schema of %s: %w", version, err)
		}
		lenient, err := managedfields.NewTypeConverter(document.Components.Schemas, true)
		if err != nil {
			return nil, fmt.Errorf("reading the schema of %s: %w", version, err)
		}
		t.served[version] = served{strict, lenient}
	}
	return t, nil
}

// ObjectToTyped implements managedfields.TypeConverter. With typed.AllowDuplicates,
// which is for live objects, fields that the schema does not know are allowed as well.
func (t *types) ObjectToTyped(object runtime.Object, options ...typed.ValidationOptions) (*typed.TypedValue, error) {
	kind := object.GetObjectKind().GroupVersionKind()
	served, ok := t.served[kind.GroupVersion()]
	if !ok || t.scheme.Recognizes(kind) {
		return t.builtin.ObjectToTyped(object, options...)
	}
	if !slices.Contains(options, typed.AllowDuplicates) {
		if _, err := served.strict.ObjectToTyped(object, options...); err != nil {
			return nil, err
		}
	}
	// Values are comparable only when they come from one converter.
	return served.lenient.ObjectToTyped(object, options...)
}

// TypedToObject implements managedfields.TypeConverter.
func (t *types) TypedToObject(value *typed.TypedValue) (runtime.Object, error) {
	return t.builtin.TypedToObject(value)
}
