// SPDX-License-Identifier: Apache-2.0

package caches

import (
	"context"
	"errors"
	"slices"
	"strings"
	"sync"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"

	cachev1alpha1 "github.com/example/memcached-operator/apis/v1alpha1"
	"github.com/example/memcached-operator/reconcilers/render"
)

// Objects returns the metadata of the objects of kinds that a Memcached controls, sorted by kind and name. Kinds that the
// API server does not serve have none. It returns the objects of the other kinds beside an error.
func (c *Client) Objects(ctx context.Context, mc *cachev1alpha1.Memcached, kinds []schema.GroupVersionKind) ([]metav1.PartialObjectMetadata, error) {
	lists, errs := make([][]metav1.PartialObjectMetadata, len(kinds)), make([]error, len(kinds))
	var group sync.WaitGroup
	for i, kind := range kinds {
		group.Go(func() { lists[i], errs[i] = c.controlled(ctx, mc, kind) })
	}
	group.Wait()
	objects := slices.Concat(lists...)
	slices.SortFunc(objects, func(a, b metav1.PartialObjectMetadata) int {
		return strings.Compare(a.Kind+"/"+a.Name, b.Kind+"/"+b.Name)
	})
	return objects, joinPermissions(errs)
}

func (c *Client) controlled(ctx context.Context, mc *cachev1alpha1.Memcached, kind schema.GroupVersionKind) ([]metav1.PartialObjectMetadata, error) {
	mapping, err := c.api.RESTMapper().RESTMapping(kind.GroupKind(), kind.Version)
	if meta.IsNoMatchError(err) {
		return nil, nil
	}
	if err != nil {
		return nil, c.explain(err, need{purpose: "find the kind " + kind.Kind})
	}
	list := &metav1.PartialObjectMetadataList{}
	list.SetGroupVersionKind(kind)
	err = c.api.List(ctx, list, client.InNamespace(mc.Namespace), client.MatchingLabels{render.ManagedByLabel: render.ManagedBy})
	if err != nil {
		resource := mapping.Resource.GroupResource().String()
		return nil, c.explain(err, need{verb: "list", resource: resource, namespace: mc.Namespace, purpose: "show the objects of the Memcached"})
	}
	var objects []metav1.PartialObjectMetadata
	for _, object := range list.Items {
		if metav1.IsControlledBy(&object, mc) {
			object.SetGroupVersionKind(kind)
			objects = append(objects, object)
		}
	}
	return objects, nil
}

// joinPermissions joins errors, those of missing permissions for the same purpose to one.
func joinPermissions(errs []error) error {
	var all []error
	var resources []string
	var first *PermissionError
	for _, err := range errs {
		if missing, ok := errors.AsType[*PermissionError](err); ok {
			first = missing
			resources = append(resources, missing.need.resource)
		} else {
			all = append(all, err)
		}
	}
	if first != nil {
		slices.Sort(resources)
		joined := first.need
		joined.resource = strings.Join(resources, ", ")
		all = append(all, &PermissionError{joined})
	}
	return errors.Join(all...)
}
