// SPDX-License-Identifier: Apache-2.0

//go:build e2e

package cluster

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/example/memcached-operator/test/testenv"
)

// reviewed returns a Memcached as YAML.
func reviewed(namespace, spec string) string {
	return fmt.Sprintf("{apiVersion: cache.example.com/v1alpha1, kind: Memcached, metadata: {namespace: %s, name: reviewed}, spec: %s}", namespace, spec)
}

// WantReviewed fails unless the webhook reviews the Memcacheds of a namespace, which has a ready one called cache: it rejects
// one with spec, which would become Stalled, by refusal, and warns of an edit that replaces pods.
func (c *Cluster) WantReviewed(t testing.TB, namespace, spec, refusal string) {
	t.Helper()
	isRefused := func(ctx context.Context, arguments ...string) (refused bool, printed string) {
		_, printed, err := c.TryKubectl(ctx, reviewed(namespace, spec), append(arguments, "-f", "-")...)
		return err != nil && ContainsAll(printed, []string{`admission webhook "memcacheds.cache.example.com" denied the request: `, refusal}), printed
	}
	// The API server starts to use a new webhook with a delay. Until then nothing may be stored, so this is a dry-run.
	testenv.Eventually(t, "a Memcached in "+namespace+" should be reviewed", func(ctx context.Context) (bool, string, error) {
		refused, printed := isRefused(ctx, "apply", "--dry-run=server")
		return refused, printed, nil
	})
	if refused, printed := isRefused(t.Context(), "apply"); !refused {
		t.Errorf("kubectl apply in %s is not refused by %q: %s", namespace, refusal, printed)
	}
	const warning = "cached data is lost"
	for edit, warned := range map[string]bool{
		`{"spec":{"verbosity":1}}`:                              true,
		`{"metadata":{"annotations":{"example.com/note":"x"}}}`: false,
	} {
		_, printed, err := c.TryKubectl(t.Context(), "", "--namespace="+namespace, "patch", "memcached/cache", "--dry-run=server", "--type=merge", "--patch="+edit)
		if err != nil || strings.Contains(printed, warning) != warned {
			t.Errorf("kubectl patch %s in %s: %v, it prints %q, want the warning %q: %v", edit, namespace, err, printed, warning, warned)
		}
	}
}

// WantNotReviewed fails if the webhook reviews the Memcacheds of a namespace. Call it after WantReviewed, when the API server
// uses the webhook.
func (c *Cluster) WantNotReviewed(t testing.TB, namespace, spec string) {
	t.Helper()
	if _, _, err := c.TryKubectl(t.Context(), reviewed(namespace, spec), "apply", "--dry-run=server", "-f", "-"); err != nil {
		t.Errorf("a Memcached in %s is rejected: %v", namespace, err)
	}
}
