// SPDX-License-Identifier: Apache-2.0

package diff

import (
	"context"
	"errors"
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/managedfields"

	"github.com/example/memcached-operator/internal/dryrun"
	"github.com/example/memcached-operator/reconcilers/apply"
)

// errNotServed is the error for objects of a kind that is not optional: an operator with their templates would not start.
var errNotServed = errors.New("the API server does not serve this kind, which the templates need")

// apply returns rendered as it would be after an apply over live, which may be nil: the API server's
// response to a dry-run, or the merge that the API server would do, without its defaults and admission. The
// object is nil if the kind is not served. An error beside an object is the API server's refusal.
func (c *Cluster) apply(ctx context.Context, rendered, live *unstructured.Unstructured) (*unstructured.Unstructured, error) {
	if !c.serves(rendered.GroupVersionKind()) {
		return nil, errNotServed
	}
	if !c.computes.Load() {
		after, err := dryrun.Apply(ctx, c.client, rendered)
		if !apierrors.IsForbidden(err) {
			if err == nil {
				return after, nil
			}
			merged, mergeErr := c.merge(rendered, live)
			return merged, errors.Join(err, mergeErr)
		}
		c.computes.Store(true)
	}
	return c.merge(rendered, live)
}

// merge merges rendered into live as the API server does.
func (c *Cluster) merge(rendered, live *unstructured.Unstructured) (*unstructured.Unstructured, error) {
	if live == nil {
		return rendered, nil
	}
	kind := rendered.GroupVersionKind()
	manager, err := managedfields.NewDefaultFieldManager(c.types, oneVersion{}, oneVersion{}, oneVersion{}, kind, kind.GroupVersion(), "", nil)
	if err != nil {
		return nil, err
	}
	merged, err := manager.Apply(live.DeepCopy(), rendered, apply.FieldManager, true)
	if err != nil {
		return nil, fmt.Errorf("merging %s: %w", describe(rendered), err)
	}
	object, ok := merged.(*unstructured.Unstructured)
	if !ok {
		return nil, fmt.Errorf("merging %s: unexpected type %T", describe(rendered), merged)
	}
	return object, nil
}

// oneVersion is the converter, defaulter and creator of unstructured objects, which are merged in one
// version and without defaults.
type oneVersion struct{}

var (
	_ runtime.ObjectConvertor = oneVersion{}
	_ runtime.ObjectDefaulter = oneVersion{}
	_ runtime.ObjectCreater   = oneVersion{}
)

// Convert implements runtime.ObjectConvertor.
func (oneVersion) Convert(any, any, any) error { return errors.New("there is one version") }

// ConvertToVersion implements runtime.ObjectConvertor.
func (oneVersion) ConvertToVersion(in runtime.Object, _ runtime.GroupVersioner) (runtime.Object, error) {
	return in, nil
}

// ConvertFieldLabel implements runtime.ObjectConvertor.
func (oneVersion) ConvertFieldLabel(schema.GroupVersionKind, string, string) (string, string, error) {
	return "", "", errors.New("there are no labels")
}

// Default implements runtime.ObjectDefaulter.
func (oneVersion) Default(runtime.Object) {}

// New implements runtime.ObjectCreater.
func (oneVersion) New(kind schema.GroupVersionKind) (runtime.Object, error) {
	object := &unstructured.Unstructured{}
	object.SetGroupVersionKind(kind)
	return object, nil
}

// normalize returns object, which may be nil, without what the API server adds, and with values in the form
// in which the API server stores them, such as 1Gi for 1024Mi.
func (c *Cluster) normalize(object *unstructured.Unstructured) *unstructured.Unstructured {
	if object == nil {
		return nil
	}
	normal := object.DeepCopy()
	apply.RemoveHash(normal) // It differs if anything else does.
	if typed, err := apply.NewObject(c.scheme, object.GroupVersionKind()); err == nil && c.scheme.Recognizes(object.GroupVersionKind()) {
		if err := runtime.DefaultUnstructuredConverter.FromUnstructured(normal.Object, typed); err == nil {
			if content, err := runtime.DefaultUnstructuredConverter.ToUnstructured(typed); err == nil {
				normal.Object = content
			}
		}
	}
	delete(normal.Object, "status")
	for _, field := range []string{"managedFields", "resourceVersion", "uid", "generation", "creationTimestamp", "deletionTimestamp", "selfLink"} {
		unstructured.RemoveNestedField(normal.Object, "metadata", field)
	}
	removeEmpty(normal.Object)
	return normal
}

// removeEmpty removes nulls, and the empty timestamp that Go types write into the metadata of pod templates.
func removeEmpty(value any) {
	switch v := value.(type) {
	case map[string]any:
		for key, item := range v {
			if item == nil {
				delete(v, key)
				continue
			}
			removeEmpty(item)
		}
	case []any:
		for _, item := range v {
			removeEmpty(item)
		}
	}
}
