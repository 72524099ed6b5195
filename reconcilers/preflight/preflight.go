// SPDX-License-Identifier: Apache-2.0

package preflight

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	authorizationv1 "k8s.io/api/authorization/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime/schema"
	authorizationclient "k8s.io/client-go/kubernetes/typed/authorization/v1"
	"sigs.k8s.io/yaml"

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

// Permitted asks whether the operator may do what it needs: Verbs on resources, and
// its own part. Namespaces are those that it watches; none means all. The error
// holds the RBAC rules to add.
func Permitted(ctx context.Context, reviews authorizationclient.SelfSubjectAccessReviewInterface, resources []schema.GroupVersionResource, namespaces []string) error {
	needs := []need{
		{cachev1alpha1.SchemeGroupVersion.Group, "memcacheds", "", []string{"get", "list", "watch"}},
		{cachev1alpha1.SchemeGroupVersion.Group, "memcacheds", "status", []string{"patch"}},
		// For blockOwnerDeletion in owner references.
		{cachev1alpha1.SchemeGroupVersion.Group, "memcacheds", "finalizers", []string{"update"}},
		{"", "pods", "", []string{"list", "watch"}},
	}
	for _, resource := range resources {
		needs = append(needs, need{resource.Group, resource.Resource, "", Verbs})
	}
	missing, err := missing(ctx, reviews, needs, namespaces)
	if err != nil {
		return err
	}
	if missing != "" {
		return errors.New(missing)
	}
	return nil
}

type need struct {
	group, resource, subresource string
	verbs                        []string
}

// missing says which RBAC rules to add where for needs; it is empty when there are none.
func missing(ctx context.Context, reviews authorizationclient.SelfSubjectAccessReviewInterface, needs []need, namespaces []string) (string, error) {
	if len(namespaces) == 0 {
		namespaces = []string{""}
	}
	var missing []string
	for _, namespace := range namespaces {
		rules, err := missingRules(ctx, reviews, needs, namespace)
		if err != nil {
			return "", err
		}
		if len(rules) > 0 {
			missing = append(missing, explain(rules, namespace))
		}
	}
	return strings.Join(missing, "\n"), nil
}

func missingRules(ctx context.Context, reviews authorizationclient.SelfSubjectAccessReviewInterface, needs []need, namespace string) ([]rbacv1.PolicyRule, error) {
	var rules []rbacv1.PolicyRule
	for _, n := range needs {
		var verbs []string
		for _, verb := range n.verbs {
			allowed, err := allowed(ctx, reviews, n, verb, namespace)
			if err != nil {
				return nil, err
			}
			if !allowed {
				verbs = append(verbs, verb)
			}
		}
		if len(verbs) > 0 {
			name := n.resource
			if n.subresource != "" {
				name += "/" + n.subresource
			}
			rules = append(rules, rbacv1.PolicyRule{APIGroups: []string{n.group}, Resources: []string{name}, Verbs: verbs})
		}
	}
	return rules, nil
}

func allowed(ctx context.Context, reviews authorizationclient.SelfSubjectAccessReviewInterface, n need, verb, namespace string) (bool, error) {
	review := &authorizationv1.SelfSubjectAccessReview{Spec: authorizationv1.SelfSubjectAccessReviewSpec{
		ResourceAttributes: &authorizationv1.ResourceAttributes{
			Namespace: namespace, Verb: verb, Group: n.group, Resource: n.resource, Subresource: n.subresource,
		},
	}}
	answer, err := reviews.Create(ctx, review, createOptions)
	if err != nil {
		return false, fmt.Errorf("asking for permission to %s %s: %w", verb, n.resource, err)
	}
	return answer.Status.Allowed, nil
}

func explain(rules []rbacv1.PolicyRule, namespace string) string {
	where := "the operator's ClusterRole"
	if namespace != "" {
		where = fmt.Sprintf("the operator's Role in namespace %s", namespace)
	}
	// Plain structs always encode.
	text, _ := yaml.Marshal(rules)
	return fmt.Sprintf("permission is missing; add these rules to %s (`make manifests` writes them for templates in the source tree):\n%s", where, text)
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
