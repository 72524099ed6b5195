// SPDX-License-Identifier: Apache-2.0

//go:build e2e

package olm

import (
	"context"
	"fmt"
	"testing"

	"github.com/example/memcached-operator/test/e2e/cluster"
	"github.com/example/memcached-operator/test/testenv"
)

// TestUninstall_AllowsReinstall takes the operator out from under a Memcached, and puts it back.
func TestUninstall_AllowsReinstall(t *testing.T) {
	t.Parallel()
	namespace := suite.NewNamespace(t)
	i := installed(t, newVersion, namespace, suite.newCatalog, namespace)
	f := suite.Fill(t, namespace, "kept", 2)
	wantNonBlocking(t, i.webhook(t)) // It is there, so that it can go.
	i.isRefusedNothing(t)
	i.WantRequestsIn(t, namespace)
	before := f.Versions(t)

	i.uninstall(t, newVersion)
	testenv.Eventually(t, "the webhook is gone", func(ctx context.Context) (bool, string, error) {
		left := i.webhooks(ctx, t)
		return len(left) == 0, fmt.Sprint(len(left)), nil
	})
	if _, err := view[object](t.Context(), crds, "", definition); err != nil {
		t.Fatalf("after the uninstall: %v", err)
	}
	f.WantKept(t, "the uninstall")
	f.WantVersions(t, before, "the uninstall")

	// By another name: OLM writes what it resolved to the Subscription of that name, also if that is a new one by then, which
	// it takes for installed from then on.
	i.subscription = "again"
	i.subscribe(t, "Automatic")
	i.succeeds(t, newVersion)
	i.WantPickedUp(t, f, before)
	wantReconciled(t, f)

	suite.Delete(t, f.Memcached)
	for _, object := range append(cluster.Children(namespace, f.Memcached.Name), f.Memcached) {
		suite.EventuallyGone(t, object)
	}
}
