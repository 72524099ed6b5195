// SPDX-License-Identifier: Apache-2.0

package preflight

import (
	"context"
	"fmt"
	"slices"

	authorizationv1 "k8s.io/api/authorization/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/discovery"
	authorizationclient "k8s.io/client-go/kubernetes/typed/authorization/v1"
	"k8s.io/client-go/metadata"

	cachev1alpha1 "github.com/example/memcached-operator/apis/v1alpha1"
	"github.com/example/memcached-operator/reconcilers/apply"
)

var createOptions = metav1.CreateOptions{}

// anyNamespace is where rules are asked for when the operator watches all
// namespaces: what a ClusterRoleBinding grants holds in every one.
const anyNamespace = "default"

// Leftovers finds objects of earlier templates whose kind the templates no longer
// hold.
type Leftovers struct {
	Discovery discovery.DiscoveryInterface
	Rules     authorizationclient.SelfSubjectRulesReviewInterface
	Metadata  metadata.Interface
	// Selector selects what the operator applied.
	Selector string
}

// WithLeftovers returns kinds and the further ones of which there are objects that
// a Memcached controls and the operator may delete. What the operator may delete
// tells what it may once have made, so nothing has to be recorded: keep the rule
// for a kind for as long as objects of it are to be pruned.
func (l Leftovers) WithLeftovers(ctx context.Context, kinds []schema.GroupVersionKind, namespaces []string) ([]schema.GroupVersionKind, error) {
	if len(namespaces) == 0 {
		namespaces = []string{metav1.NamespaceAll}
	}
	// Groups whose API server does not answer are passed over.
	lists, err := l.Discovery.ServerPreferredResources()
	if err != nil && len(lists) == 0 {
		return nil, fmt.Errorf("asking the API server for its resources: %w", err)
	}
	var found []schema.GroupVersionKind
	for _, namespace := range namespaces {
		rules, err := l.rules(ctx, namespace)
		if err != nil {
			return nil, err
		}
		for _, list := range lists {
			version, err := schema.ParseGroupVersion(list.GroupVersion)
			if err != nil {
				continue
			}
			for _, resource := range list.APIResources {
				kind := version.WithKind(resource.Kind)
				if !prunable(version.Group, resource, rules) || slices.Contains(kinds, kind) {
					continue
				}
				ours, err := l.holds(ctx, version.WithResource(resource.Name), namespace)
				if err != nil {
					return nil, err
				}
				if ours {
					found = append(found, kind)
				}
			}
		}
	}
	return union(kinds, found), nil
}

func (l Leftovers) rules(ctx context.Context, namespace string) ([]authorizationv1.ResourceRule, error) {
	if namespace == metav1.NamespaceAll {
		namespace = anyNamespace
	}
	return rulesIn(ctx, l.Rules, namespace)
}

// rulesIn returns the rules that the operator has in namespace.
func rulesIn(ctx context.Context, reviews authorizationclient.SelfSubjectRulesReviewInterface, namespace string) ([]authorizationv1.ResourceRule, error) {
	review := &authorizationv1.SelfSubjectRulesReview{Spec: authorizationv1.SelfSubjectRulesReviewSpec{Namespace: namespace}}
	answer, err := reviews.Create(ctx, review, createOptions)
	if err != nil {
		return nil, fmt.Errorf("asking for the operator's own permissions: %w", err)
	}
	return answer.Status.ResourceRules, nil
}

// prunable tells whether objects of resource can be found, watched and deleted.
// Secrets are never read, whatever is granted.
func prunable(group string, resource metav1.APIResource, rules []authorizationv1.ResourceRule) bool {
	if !resource.Namespaced || (group == "" && resource.Name == "secrets") || group == cachev1alpha1.SchemeGroupVersion.Group {
		return false
	}
	for _, verb := range []string{"list", "watch", "delete"} {
		if !slices.Contains(resource.Verbs, verb) || !granted(rules, group, resource.Name, verb) {
			return false
		}
	}
	return true
}

func granted(rules []authorizationv1.ResourceRule, group, resource, verb string) bool {
	return slices.ContainsFunc(rules, func(rule authorizationv1.ResourceRule) bool {
		return len(rule.ResourceNames) == 0 && has(rule.APIGroups, group) && has(rule.Resources, resource) && has(rule.Verbs, verb)
	})
}

func has(list []string, item string) bool {
	return slices.Contains(list, item) || slices.Contains(list, "*")
}

// holds tells whether there is an object of resource that a Memcached controls.
func (l Leftovers) holds(ctx context.Context, resource schema.GroupVersionResource, namespace string) (bool, error) {
	list, err := l.Metadata.Resource(resource).Namespace(namespace).List(ctx, metav1.ListOptions{LabelSelector: l.Selector})
	if apierrors.IsForbidden(err) || apierrors.IsNotFound(err) || apierrors.IsMethodNotSupported(err) {
		return false, nil
	}
	if err != nil {
		return false, fmt.Errorf("looking for leftover %s: %w", resource.Resource, err)
	}
	return slices.ContainsFunc(list.Items, func(item metav1.PartialObjectMetadata) bool {
		controller := metav1.GetControllerOf(&item)
		return controller != nil && apply.IsOfKind(controller, cachev1alpha1.MemcachedKind.GroupKind())
	}), nil
}
