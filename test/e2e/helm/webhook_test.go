// SPDX-License-Identifier: Apache-2.0

//go:build e2e

package helm

import (
	"testing"

	"github.com/example/memcached-operator/test/e2e/cluster"
)

// TestWebhook_ReviewsMemcachedsOfItsNamespace installs a release with the webhook and a certificate of its own.
func TestWebhook_ReviewsMemcachedsOfItsNamespace(t *testing.T) {
	t.Parallel()
	define(t)
	namespace, unwatched := suite.NewNamespace(t), suite.NewNamespace(t)
	authority := write(t, suite.WebhookSecret(t, namespace, "pair", "reviewing-memcached-operator-webhook-service"))
	r, _ := forSome(t, helm{helms[len(helms)-1], t.TempDir()}, "reviewing", []string{namespace}, "--set", "webhook.enabled=true",
		"--set", "webhook.certificate.secretName=pair", "--set-file", "webhook.certificate.caBundle="+authority)
	suite.EventuallyReviewed(t, namespace, "runs without --allow-privileged-fields and accepts none of these: spec.patches")
	suite.Ready(t, suite.NewMemcached(t, namespace, "cache", 2))
	suite.WantWarning(t, namespace, "cache", "replaces all 2 pods one by one; their cached data is lost")
	suite.NewMemcached(t, unwatched, "cache", 0)
	if _, err := suite.TryApply(t.Context(), cluster.Reviewed(unwatched, "other", "nodeNames: a")); err != nil {
		t.Errorf("a Memcached of a namespace that is not watched is reviewed: %v", err)
	}

	// Writes do not depend on it.
	r.Scale(t, 0)
	if _, err := suite.TryApply(t.Context(), cluster.Reviewed(namespace, "unreviewed", "nodeNames: a")); err != nil {
		t.Errorf("a write is blocked while the operator is down: %v", err)
	}
}
