// SPDX-License-Identifier: Apache-2.0

//go:build e2e

package cluster

import (
	"context"
	"testing"
)

// KeepOnFailure keeps what is in a namespace that NewNamespace did not make, when the test fails.
func (c *Cluster) KeepOnFailure(t testing.TB, namespace string) {
	t.Helper()
	t.Cleanup(func() {
		if t.Failed() {
			c.keep(context.WithoutCancel(t.Context()), t, namespace)
		}
	})
}
