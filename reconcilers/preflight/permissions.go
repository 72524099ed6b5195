// SPDX-License-Identifier: Apache-2.0

package preflight

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	authorizationv1 "k8s.io/api/authorization/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	authorizationclient "k8s.io/client-go/kubernetes/typed/authorization/v1"
	"k8s.io/client-go/util/workqueue"
	"sigs.k8s.io/yaml"

	cachev1alpha1 "github.com/example/memcached-operator/apis/v1alpha1"
)

// parallelReviews is how many access reviews are sent at once.
const parallelReviews = 8

// Access checks the operator's own permissions in the namespaces that it watches.
type Access struct {
	reviews authorizationclient.AuthorizationV1Interface
	// namespaces are those that the operator watches: metav1.NamespaceAll, or some.
	namespaces []string
	// needs are what the operator needs in each of them.
	needs []need
}

// newAccess returns the Access of an operator that watches namespaces, none meaning all, and needs Verbs on resources, and
// what it needs for Memcacheds and pods.
func newAccess(reviews authorizationclient.AuthorizationV1Interface, namespaces []string, resources []schema.GroupVersionResource) *Access {
	if len(namespaces) == 0 {
		namespaces = []string{metav1.NamespaceAll}
	}
	needs := []need{
		// The Memcached is read before anything is written for it.
		{cachev1alpha1.SchemeGroupVersion.Group, "memcacheds", "", []string{"get", "list", "watch"}},
		{cachev1alpha1.SchemeGroupVersion.Group, "memcacheds", "status", []string{"patch"}},
		// For blockOwnerDeletion in owner references.
		{cachev1alpha1.SchemeGroupVersion.Group, "memcacheds", "finalizers", []string{"update"}},
		{"", "pods", "", []string{"list", "watch"}},
	}
	for _, resource := range resources {
		needs = append(needs, need{resource.Group, resource.Resource, "", Verbs})
	}
	return &Access{reviews: reviews, namespaces: namespaces, needs: needs}
}

// Check returns the RBAC rules that the operator lacks, as text that says where to add them, by namespace. A
// namespace that was deleted lacks all of those that a Role granted.
func (a *Access) Check(ctx context.Context) (map[string]string, error) {
	return a.missing(ctx, a.needs, a.namespaces)
}

// Namespaces returns the watched namespaces but those in denied; metav1.NamespaceAll for all.
func (a *Access) Namespaces(denied map[string]string) []string {
	return slices.DeleteFunc(slices.Clone(a.namespaces), func(namespace string) bool { return denied[namespace] != "" })
}

// MissingRules returns the RBAC rules that grant the operator Verbs on resource in each of namespaces, as text that says
// where to add them. It is empty when the operator has them.
func (a *Access) MissingRules(ctx context.Context, group, resource string, namespaces []string) (string, error) {
	missing, err := a.missing(ctx, []need{{group, resource, "", Verbs}}, namespaces)
	return Text(missing), err
}

// Text joins rules by namespace, in order.
func Text(rules map[string]string) string {
	var texts []string
	for _, namespace := range slices.Sorted(maps.Keys(rules)) {
		texts = append(texts, rules[namespace])
	}
	return strings.Join(texts, "\n")
}

// need is a set of verbs that the operator needs on a resource.
type need struct {
	group, resource, subresource string
	verbs                        []string
}

// name returns the resource as RBAC rules name it.
func (n need) name() string {
	if n.subresource == "" {
		return n.resource
	}
	return n.resource + "/" + n.subresource
}

// review asks whether the operator has a verb of a need in a namespace.
type review struct {
	namespace, verb string
	need            need
	denied          bool
	err             error
}

// missing returns the RBAC rules to add for needs, with where to add them, by namespace.
func (a *Access) missing(ctx context.Context, needs []need, namespaces []string) (map[string]string, error) {
	pending, err := a.reviewsNeeded(ctx, needs, namespaces)
	if err != nil {
		return nil, err
	}
	workqueue.ParallelizeUntil(ctx, parallelReviews, len(pending), func(i int) {
		pending[i].send(ctx, a.reviews)
	})
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	missing := map[string]string{}
	for _, namespace := range namespaces {
		rules, err := deniedRules(pending, needs, namespace)
		if err != nil {
			return nil, err
		}
		if len(rules) > 0 {
			missing[namespace] = explain(rules, namespace)
		}
	}
	return missing, nil
}

// reviewsNeeded returns the reviews of what the operator's rules do not show to be granted. The
// rules of one namespace take one request; those of all namespaces cannot be read.
func (a *Access) reviewsNeeded(ctx context.Context, needs []need, namespaces []string) ([]review, error) {
	var pending []review
	for _, namespace := range namespaces {
		var rules []authorizationv1.ResourceRule
		if namespace != metav1.NamespaceAll {
			var err error
			if rules, err = rulesIn(ctx, a.reviews.SelfSubjectRulesReviews(), namespace); err != nil {
				return nil, err
			}
		}
		for _, n := range needs {
			for _, verb := range n.verbs {
				if !grants(rules, n.group, n.name(), verb) {
					pending = append(pending, review{namespace: namespace, verb: verb, need: n})
				}
			}
		}
	}
	return pending, nil
}

// grants reports whether one of rules allows verb on every object of resource.
func grants(rules []authorizationv1.ResourceRule, group, resource, verb string) bool {
	has := func(list []string, item string) bool {
		return slices.Contains(list, item) || slices.Contains(list, "*")
	}
	return slices.ContainsFunc(rules, func(rule authorizationv1.ResourceRule) bool {
		return len(rule.ResourceNames) == 0 && has(rule.Verbs, verb) && has(rule.APIGroups, group) && has(rule.Resources, resource)
	})
}

// send sends the review to the API server and records the answer.
func (r *review) send(ctx context.Context, reviews authorizationclient.AuthorizationV1Interface) {
	review := &authorizationv1.SelfSubjectAccessReview{Spec: authorizationv1.SelfSubjectAccessReviewSpec{
		ResourceAttributes: &authorizationv1.ResourceAttributes{
			Namespace: r.namespace, Verb: r.verb, Group: r.need.group, Resource: r.need.resource, Subresource: r.need.subresource,
		},
	}}
	answer, err := reviews.SelfSubjectAccessReviews().Create(ctx, review, createOptions)
	if err != nil {
		r.err = fmt.Errorf("checking the permission to %s %s: %w", r.verb, r.need.resource, err)
		return
	}
	r.denied = !answer.Status.Allowed
}

// deniedRules returns the rules that grant what reviews denied in namespace.
func deniedRules(reviews []review, needs []need, namespace string) ([]rbacv1.PolicyRule, error) {
	var rules []rbacv1.PolicyRule
	for _, n := range needs {
		var verbs []string
		for _, r := range reviews {
			if r.err != nil {
				return nil, r.err
			}
			if r.denied && r.namespace == namespace && r.need.group == n.group && r.need.name() == n.name() {
				verbs = append(verbs, r.verb)
			}
		}
		if len(verbs) > 0 {
			rules = append(rules, rbacv1.PolicyRule{APIGroups: []string{n.group}, Resources: []string{n.name()}, Verbs: verbs})
		}
	}
	return rules, nil
}

// explain renders rules as YAML, with the role to add them to.
func explain(rules []rbacv1.PolicyRule, namespace string) string {
	where := "the operator's ClusterRole"
	if namespace != "" {
		where = fmt.Sprintf("the operator's Role in namespace %s", namespace)
	}
	// Plain structs always encode.
	text, _ := yaml.Marshal(rules)
	return fmt.Sprintf("permission is missing; add these rules to %s (`make manifests` writes them for templates in the source tree):\n%s", where, text)
}
