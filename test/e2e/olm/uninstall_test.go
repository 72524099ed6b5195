// SPDX-License-Identifier: Apache-2.0

//go:build e2e

package olm

import (
	"testing"

	"github.com/example/memcached-operator/test/e2e/cluster"
)

// TestUninstallAndInstallAgain takes the operator out from under a Memcached, and puts it back.
func TestUninstallAndInstallAgain(t *testing.T) {
	t.Parallel()
	namespace := suite.NewNamespace(t)
	i := newInstall(t, namespace, suite.newCatalog, namespace)
	i.subscribe(t, "Automatic")
	i.succeeds(t, newVersion)
	f := fill(t, namespace, "kept", 2)
	before, uid := f.versions(t), f.mc.UID

	i.uninstall(t, newVersion)
	if _, err := view[object](t.Context(), crds, "", definition); err != nil {
		t.Fatalf("after the uninstall: %v", err)
	}
	f.wantKept(t, "the uninstall")
	if after := f.versions(t); after != before || f.mc.UID != uid {
		t.Errorf("before the uninstall:\n%safter it:\n%s", before, after)
	}

	i.subscribe(t, "Automatic")
	i.succeeds(t, newVersion)
	metrics := i.lookedAt(t, suite.Reader(t, namespace, "memcached-operator-metrics-reader"))
	if after := f.versions(t); after != before {
		t.Errorf("before the uninstall:\n%safter the next install:\n%s", before, after)
	}
	skipped, all := cluster.Value(t, metrics, "memcached_operator_objects_total", `action="skipped"`), cluster.Value(t, metrics, "memcached_operator_objects_total")
	if skipped != all {
		t.Errorf("of %.0f objects the operator skipped %.0f", all, skipped)
	}
	f.wantKept(t, "the next install")
	f.changes(t)

	cluster.Must(t, suite.Delete(t.Context(), f.mc))
	for _, object := range append(cluster.Children(namespace, f.mc.Name), f.mc) {
		suite.Gone(t, object)
	}
}
