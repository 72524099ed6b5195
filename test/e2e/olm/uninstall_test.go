// SPDX-License-Identifier: Apache-2.0

//go:build e2e

package olm

import (
	"testing"

	"github.com/example/memcached-operator/test/e2e/cluster"
)

// TestUninstall_AllowsReinstall takes the operator out from under a Memcached, and puts it back.
func TestUninstall_AllowsReinstall(t *testing.T) {
	t.Parallel()
	namespace := suite.NewNamespace(t)
	i := newInstall(t, namespace, suite.newCatalog, namespace)
	i.subscribe(t, "Automatic")
	i.succeeds(t, newVersion)
	f := suite.Fill(t, namespace, "kept", 2)
	before, uid := f.Versions(t), f.Memcached.UID

	i.uninstall(t, newVersion)
	if _, err := view[object](t.Context(), crds, "", definition); err != nil {
		t.Fatalf("after the uninstall: %v", err)
	}
	f.WantKept(t, "the uninstall")
	if after := f.Versions(t); after != before || f.Memcached.UID != uid {
		t.Errorf("before the uninstall:\n%safter it:\n%s", before, after)
	}

	i.subscribe(t, "Automatic")
	i.succeeds(t, newVersion)
	metrics := i.Applied(t, suite.Reader(t, namespace, "memcached-operator-metrics-reader"), 1)
	if after := f.Versions(t); after != before {
		t.Errorf("before the uninstall:\n%safter the next install:\n%s", before, after)
	}
	skipped, all := cluster.Value(t, metrics, "memcached_operator_objects_total", `action="unchanged"`), cluster.Value(t, metrics, "memcached_operator_objects_total")
	if skipped != all {
		t.Errorf("of %.0f objects the operator skipped %.0f", all, skipped)
	}
	f.WantKept(t, "the next install")
	wantReconciled(t, f)

	cluster.Must(t, suite.Delete(t.Context(), f.Memcached))
	for _, object := range append(cluster.Children(namespace, f.Memcached.Name), f.Memcached) {
		suite.Gone(t, object)
	}
}
