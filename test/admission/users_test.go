// SPDX-License-Identifier: Apache-2.0

package admission

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	authorizationv1 "k8s.io/api/authorization/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/example/memcached-operator/test/testenv"
)

// The users of the tests, and their group.
const (
	// author writes Memcacheds and nothing else, by the editor role in config/rbac.
	author = "author"
	// editor has the built-in role edit as well.
	editor = "editor"
)

// The rights that rows name most often.
const (
	createDeployments     = "create deployments.apps"
	createServices        = "create services"
	createNetworkPolicies = "create networkpolicies.networking.k8s.io"
	createBudgets         = "create poddisruptionbudgets.policy"
	createMonitors        = "create servicemonitors.monitoring.coreos.com"
	createRules           = "create prometheusrules.monitoring.coreos.com"
)

// getSecrets returns the rights to get these Secrets.
func getSecrets(names ...string) []string {
	rights := make([]string, 0, len(names))
	for _, name := range names {
		rights = append(rights, "get secrets/"+name)
	}
	return rights
}

// grant binds author and editor to their roles, and makes a group for each right that a
// row names: a user with that group has the right.
func grant(ctx context.Context) error {
	bindings := []*rbacv1.ClusterRoleBinding{
		testenv.Binding("memcached-operator-memcached-editor-role", rbacv1.UserKind, author),
		testenv.Binding("memcached-operator-memcached-editor-role", rbacv1.UserKind, editor),
		// These two are what edit aggregates, which takes a controller that does not run here.
		testenv.Binding("system:aggregate-to-edit", rbacv1.UserKind, editor),
		testenv.Binding("system:aggregate-to-view", rbacv1.UserKind, editor),
	}
	rights := allRights()
	for i, right := range rights {
		name := fmt.Sprintf("right-%d", i)
		role := &rbacv1.ClusterRole{ObjectMeta: metav1.ObjectMeta{Name: name}, Rules: []rbacv1.PolicyRule{ruleFor(right)}}
		if err := suite.Client.Create(ctx, role); err != nil {
			return err
		}
		bindings = append(bindings, testenv.Binding(name, rbacv1.GroupKind, right))
	}
	for _, binding := range bindings {
		if err := suite.Client.Create(ctx, binding); err != nil {
			return err
		}
	}
	return errors.Join(granted(ctx, author, "update memcacheds.cache.example.com"), granted(ctx, editor, createDeployments),
		granted(ctx, author, rights[len(rights)-1], rights[len(rights)-1]))
}

// granted waits until the API server knows that a user has a right.
func granted(ctx context.Context, name, right string, groups ...string) error {
	return testenv.Poll(ctx, testenv.Timeout, func(ctx context.Context) (bool, error) {
		return allowed(ctx, name, right, "default", groups...)
	})
}

// allowed asks the API server whether a user has a right in a namespace.
func allowed(ctx context.Context, name, right, namespace string, groups ...string) (bool, error) {
	rule := ruleFor(right)
	attributes := &authorizationv1.ResourceAttributes{Namespace: namespace, Verb: rule.Verbs[0], Group: rule.APIGroups[0], Resource: rule.Resources[0]}
	if len(rule.ResourceNames) > 0 {
		attributes.Name = rule.ResourceNames[0]
	}
	review := &authorizationv1.SubjectAccessReview{Spec: authorizationv1.SubjectAccessReviewSpec{User: name, Groups: groups, ResourceAttributes: attributes}}
	err := suite.Client.Create(ctx, review)
	return review.Status.Allowed, err
}

// ruleFor returns the rule for a right in the form "VERB RESOURCE[.GROUP][/NAME]".
func ruleFor(right string) rbacv1.PolicyRule {
	verb, rest, _ := strings.Cut(right, " ")
	what, name, named := strings.Cut(rest, "/")
	resource, group, _ := strings.Cut(what, ".")
	rule := rbacv1.PolicyRule{Verbs: []string{verb}, APIGroups: []string{group}, Resources: []string{resource}}
	if named {
		rule.ResourceNames = []string{name}
	}
	return rule
}

// allRights returns the rights that any row names, each once.
func allRights() []string {
	all := map[string]bool{}
	for _, r := range hostile() {
		for _, right := range r.rights {
			all[right] = true
		}
	}
	return slices.Sorted(maps.Keys(all))
}
