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
	"k8s.io/apimachinery/pkg/runtime/schema"
	authorizationclient "k8s.io/client-go/kubernetes/typed/authorization/v1"
	"k8s.io/client-go/util/workqueue"
	"sigs.k8s.io/yaml"

	cachev1alpha1 "github.com/example/memcached-operator/apis/v1alpha1"
)

// parallelReviews is how many access reviews are under way at once.
const parallelReviews = 8

// Permitted asks whether the operator may do what it needs: Verbs on resources, and
// its own part. Namespaces are those that it watches; none means all. The error
// holds the RBAC rules to add.
func Permitted(ctx context.Context, reviews authorizationclient.AuthorizationV1Interface, resources []schema.GroupVersionResource, namespaces []string) error {
	needs := []need{
		// get verifies a Memcached before something is written for it.
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

// name returns the resource as RBAC rules name it.
func (n need) name() string {
	if n.subresource == "" {
		return n.resource
	}
	return n.resource + "/" + n.subresource
}

// question is whether the operator may do one thing in one namespace.
type question struct {
	namespace, verb string
	need            need
	denied          bool
	err             error
}

// missing says which RBAC rules to add where for needs; it is empty when there are none.
func missing(ctx context.Context, reviews authorizationclient.AuthorizationV1Interface, needs []need, namespaces []string) (string, error) {
	if len(namespaces) == 0 {
		namespaces = []string{""}
	}
	questions, err := openQuestions(ctx, reviews, needs, namespaces)
	if err != nil {
		return "", err
	}
	workqueue.ParallelizeUntil(ctx, parallelReviews, len(questions), func(i int) {
		questions[i].ask(ctx, reviews)
	})
	if err := ctx.Err(); err != nil {
		return "", err
	}
	var missing []string
	for _, namespace := range namespaces {
		rules, err := deniedRules(questions, needs, namespace)
		if err != nil {
			return "", err
		}
		if len(rules) > 0 {
			missing = append(missing, explain(rules, namespace))
		}
	}
	return strings.Join(missing, "\n"), nil
}

// openQuestions returns what the operator's rules do not answer. Of one namespace they are
// one request; whether they hold in all namespaces cannot be seen from them.
func openQuestions(ctx context.Context, reviews authorizationclient.AuthorizationV1Interface, needs []need, namespaces []string) ([]question, error) {
	var questions []question
	for _, namespace := range namespaces {
		var rules []authorizationv1.ResourceRule
		if namespace != "" {
			var err error
			if rules, err = rulesIn(ctx, reviews.SelfSubjectRulesReviews(), namespace); err != nil {
				return nil, err
			}
		}
		for _, n := range needs {
			for _, verb := range n.verbs {
				if !grants(rules, n, verb) {
					questions = append(questions, question{namespace: namespace, verb: verb, need: n})
				}
			}
		}
	}
	return questions, nil
}

// grants reports whether one of rules allows verb for n.
func grants(rules []authorizationv1.ResourceRule, n need, verb string) bool {
	has := func(list []string, item string) bool {
		return slices.Contains(list, item) || slices.Contains(list, "*")
	}
	return slices.ContainsFunc(rules, func(rule authorizationv1.ResourceRule) bool {
		return len(rule.ResourceNames) == 0 && has(rule.Verbs, verb) && has(rule.APIGroups, n.group) && has(rule.Resources, n.name())
	})
}

// ask asks the API server.
func (q *question) ask(ctx context.Context, reviews authorizationclient.AuthorizationV1Interface) {
	review := &authorizationv1.SelfSubjectAccessReview{Spec: authorizationv1.SelfSubjectAccessReviewSpec{
		ResourceAttributes: &authorizationv1.ResourceAttributes{
			Namespace: q.namespace, Verb: q.verb, Group: q.need.group, Resource: q.need.resource, Subresource: q.need.subresource,
		},
	}}
	answer, err := reviews.SelfSubjectAccessReviews().Create(ctx, review, createOptions)
	if err != nil {
		q.err = fmt.Errorf("asking for permission to %s %s: %w", q.verb, q.need.resource, err)
		return
	}
	q.denied = !answer.Status.Allowed
}

// deniedRules returns the rules that lack in namespace.
func deniedRules(questions []question, needs []need, namespace string) ([]rbacv1.PolicyRule, error) {
	var rules []rbacv1.PolicyRule
	for _, n := range needs {
		var verbs []string
		for _, q := range questions {
			if q.err != nil {
				return nil, q.err
			}
			if q.denied && q.namespace == namespace && q.need.group == n.group && q.need.name() == n.name() {
				verbs = append(verbs, q.verb)
			}
		}
		if len(verbs) > 0 {
			rules = append(rules, rbacv1.PolicyRule{APIGroups: []string{n.group}, Resources: []string{n.name()}, Verbs: verbs})
		}
	}
	return rules, nil
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
