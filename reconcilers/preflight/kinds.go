// SPDX-License-Identifier: Apache-2.0

package preflight

import (
	"fmt"

	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime/schema"

	cachev1alpha1 "github.com/example/memcached-operator/apis/v1alpha1"
	"github.com/example/memcached-operator/reconcilers/render"
)

// Verbs are the verbs that the operator needs on the templates' kinds: get to read an object that
// another owner may have created, and the rest to watch, apply and prune.
var Verbs = []string{"get", "list", "watch", "create", "patch", "delete"}

// CheckKinds returns the resource of each of kinds. The error wraps [render.Problems], which name
// the template files that fileOf returns, when the API server does not serve kinds or they are
// cluster-scoped.
func CheckKinds(mapper meta.RESTMapper, kinds []schema.GroupVersionKind, fileOf func(schema.GroupVersionKind) string) ([]schema.GroupVersionResource, error) {
	var resources []schema.GroupVersionResource
	var problems render.Problems
	for _, kind := range kinds {
		mapping, err := mapper.RESTMapping(kind.GroupKind(), kind.Version)
		switch {
		case meta.IsNoMatchError(err):
			problems = append(problems, render.Problem{File: fileOf(kind), Message: fmt.Sprintf(
				"this API server does not serve kind %s of %s: install its CustomResourceDefinition, or remove the object from the templates", kind.Kind, kind.GroupVersion())})
		case err != nil:
			return nil, fmt.Errorf("asking the API server for kind %s: %w", kind.Kind, err)
		case mapping.Scope.Name() != meta.RESTScopeNameNamespace:
			problems = append(problems, render.Problem{File: fileOf(kind), Message: fmt.Sprintf(
				"kind %s is cluster-scoped, but a Memcached can own only namespaced objects: remove the object from the templates", kind.Kind)})
		default:
			resources = append(resources, mapping.Resource)
		}
	}
	if err := problems.Sorted().Err(); err != nil {
		return nil, fmt.Errorf("templates: %w", err)
	}
	return resources, nil
}

// CheckCRD returns an error unless the API server serves Memcacheds.
func CheckCRD(mapper meta.RESTMapper) error {
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
