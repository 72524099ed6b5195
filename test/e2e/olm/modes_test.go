// SPDX-License-Identifier: Apache-2.0

//go:build e2e

package olm

import (
	"slices"
	"testing"

	cachev1alpha1 "github.com/example/memcached-operator/apis/v1alpha1"
)

// servesAll checks the install in a namespace whose OperatorGroup has no targets.
func servesAll(t *testing.T, i install) {
	t.Helper()
	served := suite.NewNamespace(t)
	suite.Fill(t, served, "cache", 1)
	suite.WantReviewed(t, served, privileged, refusal)
	webhook := i.webhook(t)
	wantNonBlocking(t, webhook)
	if s := webhook.NamespaceSelector; s != nil && len(s.MatchLabels)+len(s.MatchExpressions) > 0 {
		t.Errorf("the webhook selects the namespaces %+v, want all", s)
	}
	i.isRefusedNothing(t)
}

// TestInstallMode_SomeNamespaces has OperatorGroups for one or several namespaces, beside each other; those of the other tests are for
// their own namespace.
func TestInstallMode_SomeNamespaces(t *testing.T) {
	t.Parallel()
	for name, targets := range map[string]func(t *testing.T, own string) []string{
		"a single other": func(t *testing.T, _ string) []string { return []string{suite.NewNamespace(t)} },
		"several":        func(t *testing.T, own string) []string { return []string{own, suite.NewNamespace(t)} },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			own := suite.NewNamespace(t)
			served := targets(t, own)
			i := installed(t, newVersion, own, suite.newCatalog, served...)

			// First the one that is not to be served, so that there was time to serve it.
			unserved := []*cachev1alpha1.Memcached{suite.NewMemcached(t, suite.NewNamespace(t), "cache", 1)}
			if !slices.Contains(served, own) {
				unserved = append(unserved, suite.NewMemcached(t, own, "cache", 1))
			}
			for _, namespace := range served {
				f := suite.Fill(t, namespace, "cache", 1)
				suite.Patch(t, f.Memcached, `{"spec":{"size":2}}`)
				suite.Ready(t, f.Memcached)
				suite.WantReviewed(t, namespace, privileged, refusal)
			}
			wantNonBlocking(t, i.webhook(t))
			for _, mc := range unserved {
				suite.WantNotReviewed(t, mc.Namespace, privileged)
				wantUntouched(t, mc)
			}
			i.isRefusedNothing(t)
			i.WantRequestsIn(t, append(served, own)...)
		})
	}
}

// isRefusedNothing fails if the operator has asked for anything that the roles, which OLM made of the
// bundle, do not grant.
func (i install) isRefusedNothing(t *testing.T) {
	t.Helper()
	i.Applied(t, 1)
	for _, request := range i.Requests(t) {
		if request.Forbidden {
			t.Errorf("refused: %s (%s)", request.Permission, request.URI)
		}
	}
}
