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
	"sigs.k8s.io/controller-runtime/pkg/log"

	cachev1alpha1 "github.com/example/memcached-operator/apis/v1alpha1"
	"github.com/example/memcached-operator/reconcilers/apply"
	"github.com/example/memcached-operator/reconcilers/render"
)

var createOptions = metav1.CreateOptions{}

// anyNamespace is the namespace whose rules are read when the operator watches all namespaces: a
// ClusterRoleBinding grants the same in each.
const anyNamespace = "default"

// StaleKinds finds the kinds of objects that earlier templates created and that the templates no
// longer contain, so that these objects can be pruned.
type StaleKinds struct {
	Discovery discovery.DiscoveryInterface
	Rules     authorizationclient.SelfSubjectRulesReviewInterface
	Metadata  metadata.Interface
	// Namespaces are those to look in; metav1.NamespaceAll means all.
	Namespaces []string
}

// Find returns the stale kinds, without those in known: the kinds of objects that a Memcached controls and that the
// operator is permitted to delete. The permissions take the place of an inventory: keep the RBAC
// rule for a kind as long as objects of it have to be pruned.
func (s StaleKinds) Find(ctx context.Context, known []schema.GroupVersionKind) ([]schema.GroupVersionKind, error) {
	// API groups that cannot be discovered are skipped.
	lists, err := s.Discovery.ServerPreferredResources()
	if err != nil && len(lists) == 0 {
		return nil, fmt.Errorf("discovering the resources of the API server: %w", err)
	}
	var found []schema.GroupVersionKind
	for _, namespace := range s.Namespaces {
		rules, err := s.rules(ctx, namespace)
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
				if !isPrunable(version.Group, resource, rules) || slices.Contains(known, kind) || slices.Contains(found, kind) {
					continue
				}
				ours, err := s.ownsAny(ctx, version.WithResource(resource.Name), namespace)
				if err != nil {
					return nil, err
				}
				if ours {
					found = append(found, kind)
				}
			}
		}
	}
	return found, nil
}

// rules returns the rules that the operator has in namespace, or in any when it is empty.
func (s StaleKinds) rules(ctx context.Context, namespace string) ([]authorizationv1.ResourceRule, error) {
	if namespace == metav1.NamespaceAll {
		namespace = anyNamespace
	}
	return rulesIn(ctx, s.Rules, namespace)
}

// rulesIn returns the rules that the operator has in namespace.
func rulesIn(ctx context.Context, reviews authorizationclient.SelfSubjectRulesReviewInterface, namespace string) ([]authorizationv1.ResourceRule, error) {
	review := &authorizationv1.SelfSubjectRulesReview{Spec: authorizationv1.SelfSubjectRulesReviewSpec{Namespace: namespace}}
	answer, err := reviews.Create(ctx, review, createOptions)
	if err != nil {
		return nil, fmt.Errorf("reading the operator's own permissions: %w", err)
	}
	if answer.Status.Incomplete {
		log.FromContext(ctx).V(1).Info("The API server does not know all permissions of the operator", "namespace", namespace, "reason", answer.Status.EvaluationError)
	}
	return answer.Status.ResourceRules, nil
}

// isPrunable reports whether rules allow to list, watch and delete objects of resource. Secrets are
// never read, whatever the rules allow.
func isPrunable(group string, resource metav1.APIResource, rules []authorizationv1.ResourceRule) bool {
	if !resource.Namespaced || (group == "" && resource.Name == "secrets") || group == cachev1alpha1.SchemeGroupVersion.Group {
		return false
	}
	for _, verb := range []string{"list", "watch", "delete"} {
		if !slices.Contains(resource.Verbs, verb) || !grants(rules, group, resource.Name, verb) {
			return false
		}
	}
	return true
}

// ownsAny reports whether a Memcached controls an object of resource.
func (s StaleKinds) ownsAny(ctx context.Context, resource schema.GroupVersionResource, namespace string) (bool, error) {
	list, err := s.Metadata.Resource(resource).Namespace(namespace).List(ctx, metav1.ListOptions{LabelSelector: render.ManagedByLabel + "=" + render.ManagedBy})
	if apierrors.IsForbidden(err) || apierrors.IsNotFound(err) || apierrors.IsMethodNotSupported(err) {
		return false, nil
	}
	if err != nil {
		return false, fmt.Errorf("listing stale %s: %w", resource.Resource, err)
	}
	return slices.ContainsFunc(list.Items, func(item metav1.PartialObjectMetadata) bool {
		controller := metav1.GetControllerOf(&item)
		return controller != nil && apply.IsOfKind(controller, cachev1alpha1.MemcachedKind.GroupKind())
	}), nil
}
