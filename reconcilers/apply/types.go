// SPDX-License-Identifier: Apache-2.0

package apply

import (
	"errors"
	"fmt"
	"sync"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/managedfields"
	"k8s.io/client-go/applyconfigurations"
	"k8s.io/client-go/openapi"
	"k8s.io/client-go/openapi3"
	"sigs.k8s.io/structured-merge-diff/v6/typed"
)

// Types is a type converter that has the schema of every kind to apply: client-go's for the kinds of its
// scheme, and the API server's for the others. It is safe for use by many goroutines.
type Types struct {
	builtin managedfields.TypeConverter
	scheme  *runtime.Scheme
	server  openapi.Client

	mu     sync.RWMutex
	served map[schema.GroupVersion]managedfields.TypeConverter
}

// NewTypes returns a converter for kinds. It reads the schemas that client-go lacks, those of custom
// resources, from the API server with one request per group and version.
func NewTypes(scheme *runtime.Scheme, server openapi.Client, kinds []schema.GroupVersionKind) (*Types, error) {
	t := &Types{
		builtin: applyconfigurations.NewTypeConverter(scheme),
		scheme:  scheme,
		server:  server,
		served:  map[schema.GroupVersion]managedfields.TypeConverter{},
	}
	for _, kind := range kinds {
		version := kind.GroupVersion()
		if t.of(version) != nil || scheme.Recognizes(kind) {
			continue
		}
		if err := t.read(version); err != nil {
			return nil, err
		}
	}
	return t, nil
}

// LoadSchema reads the schema of kind from the API server, also if one is loaded. It reports whether the
// API server has published it, which happens a moment after it begins to serve the kind.
func (t *Types) LoadSchema(kind schema.GroupVersionKind) (published bool, err error) {
	if t.scheme.Recognizes(kind) {
		return true, nil
	}
	var missing *openapi3.GroupVersionNotFoundError
	if err := t.read(kind.GroupVersion()); errors.As(err, &missing) {
		return false, nil
	} else if err != nil {
		return false, err
	}
	empty := &unstructured.Unstructured{}
	empty.SetGroupVersionKind(kind)
	// An empty object is valid in every schema; an error means that there is none.
	_, err = t.of(kind.GroupVersion()).ObjectToTyped(empty)
	return err == nil, nil
}

// read reads the schemas of version from the API server.
func (t *Types) read(version schema.GroupVersion) error {
	document, err := openapi3.NewRoot(t.server).GVSpec(version)
	if err != nil {
		return fmt.Errorf("reading the schema of %s from the API server: %w", version, err)
	}
	converter, err := managedfields.NewTypeConverter(document.Components.Schemas, false)
	if err != nil {
		return fmt.Errorf("reading the schema of %s: %w", version, err)
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	t.served[version] = converter
	return nil
}

// of returns the converter of version that was read from the API server, or nil.
func (t *Types) of(version schema.GroupVersion) managedfields.TypeConverter {
	t.mu.RLock()
	defer t.mu.RUnlock()
	return t.served[version]
}

// ObjectToTyped implements managedfields.TypeConverter.
func (t *Types) ObjectToTyped(object runtime.Object, options ...typed.ValidationOptions) (*typed.TypedValue, error) {
	kind := object.GetObjectKind().GroupVersionKind()
	if served := t.of(kind.GroupVersion()); served != nil && !t.scheme.Recognizes(kind) {
		return served.ObjectToTyped(object, options...)
	}
	return t.builtin.ObjectToTyped(object, options...)
}

// TypedToObject implements managedfields.TypeConverter.
func (t *Types) TypedToObject(value *typed.TypedValue) (runtime.Object, error) {
	return t.builtin.TypedToObject(value)
}
