// SPDX-License-Identifier: Apache-2.0

package preflight

import (
	"fmt"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime/schema"

	cachev1alpha1 "github.com/example/memcached-operator/apis/v1alpha1"
)

// Verbs are what the operator does with objects of the templates' kinds: get for
// the one live read that tells a foreign object from ours, the rest to watch, apply
// and prune them.
var Verbs = []string{"get", "list", "watch", "create", "patch", "delete"}

// Served returns the resource of each of kinds. A kind that the server does not
// serve, or that is cluster-scoped, is an error, which names the file that source
// gives for it.
func Served(mapper meta.RESTMapper, kinds []schema.GroupVersionKind, source func(schema.GroupVersionKind) string) ([]schema.GroupVersionResource, error) {
	var resources []schema.GroupVersionResource
	for _, kind := range kinds {
		mapping, err := mapper.RESTMapping(kind.GroupKind(), kind.Version)
		if meta.IsNoMatchError(err) {
			return nil, fmt.Errorf("templates: %s: this API server does not serve kind %s of %s: install its CustomResourceDefinition, or take the object out of the templates", source(kind), kind.Kind, kind.GroupVersion())
		}
		if err != nil {
			return nil, fmt.Errorf("asking the API server for kind %s: %w", kind.Kind, err)
		}
		if mapping.Scope.Name() != meta.RESTScopeNameNamespace {
			return nil, fmt.Errorf("templates: %s: kind %s is cluster-scoped, and a Memcached can own namespaced objects only: take the object out of the templates", source(kind), kind.Kind)
		}
		resources = append(resources, mapping.Resource)
	}
	return resources, nil
}

// Installed tells whether the CustomResourceDefinition of Memcached is there.
func Installed(mapper meta.RESTMapper) error {
	kind := cachev1alpha1.MemcachedKind
	_, err := mapper.RESTMapping(kind.GroupKind(), kind.Version)
	if meta.IsNoMatchError(err) {
		return fmt.Errorf("the API server does not serve %s %s: install the CustomResourceDefinition first (make install, or kubectl apply -k config/crd)", kind.GroupVersion(), kind.Kind)
	}
	if err != nil {
		return fmt.Errorf("asking the API server for kind %s: %w", kind.Kind, err)
	}
	return nil
}

// union returns a and those of b that are not in it, sorted.
func union(a, b []schema.GroupVersionKind) []schema.GroupVersionKind {
	result := slices.Clone(a)
	for _, kind := range b {
		if !slices.Contains(result, kind) {
			result = append(result, kind)
		}
	}
	slices.SortFunc(result, func(x, y schema.GroupVersionKind) int { return strings.Compare(x.String(), y.String()) })
	return result
}
