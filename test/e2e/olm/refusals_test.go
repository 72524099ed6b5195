// SPDX-License-Identifier: Apache-2.0

//go:build e2e

package olm

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/example/memcached-operator/test/e2e/cluster"
)

// documented ends the test unless the documentation has these words of OLM's.
func documented(t *testing.T, all ...string) {
	t.Helper()
	for _, words := range all {
		if !strings.Contains(documentation(), words) {
			t.Fatalf("docs/user/install-olm.md does not have %q", words)
		}
	}
}

var documentation = sync.OnceValue(func() string {
	content, err := os.ReadFile(filepath.Join(cluster.Root(), "docs", "user", "install-olm.md"))
	if err != nil {
		panic(err)
	}
	return string(content)
})

func TestInstall_FailsWithoutOperatorGroup(t *testing.T) {
	t.Parallel()
	namespace := suite.NewNamespace(t)
	newSource(t, namespace, "releases", suite.newCatalog)
	i := installIn(namespace, "releases", namespace)
	i.subscribe(t, "Automatic")
	i.logged(t, "found 0 operatorGroups, expected 1")

	newGroup(t, namespace, "late", namespace)
	i.succeeds(t, newVersion)
	f := suite.Fill(t, namespace, "kept", 1)
	cluster.Must(t, suite.Delete(t.Context(), metadataOf(groups, namespace, "late")))
	i.fails(t, newVersion, "NoOperatorGroup", "csv in namespace with no operatorgroups")
	f.WantKept(t, "the OperatorGroup was deleted")
}

func TestInstall_FailsWithTwoOperatorGroups(t *testing.T) {
	t.Parallel()
	namespace := suite.NewNamespace(t)
	i := newInstall(t, namespace, suite.newCatalog, namespace)
	newGroup(t, namespace, "second", namespace)
	i.subscribe(t, "Automatic")
	i.logged(t, "found 2 operatorGroups, expected 1")
	i.complains(t, "second", "MultipleOperatorGroup", "Multiple OperatorGroup found in the same namespace")

	cluster.Must(t, suite.Delete(t.Context(), metadataOf(groups, namespace, "second")))
	i.succeeds(t, newVersion)
	newGroup(t, namespace, "second", namespace)
	i.fails(t, newVersion, "TooManyOperatorGroups", "csv created in namespace with multiple operatorgroups, can't pick one automatically")
	cluster.Must(t, suite.Delete(t.Context(), metadataOf(groups, namespace, "second")))
	i.succeeds(t, newVersion)
}

// TestInstall_FailsWithOverlappingOperatorGroups has two installs that would both serve a namespace.
func TestInstall_FailsWithOverlappingOperatorGroups(t *testing.T) {
	t.Parallel()
	namespace, second := suite.NewNamespace(t), suite.NewNamespace(t)
	i := installed(t, newVersion, namespace, suite.newCatalog, namespace)
	late := newInstall(t, second, suite.newCatalog, second, namespace)
	late.subscribe(t, "Automatic")
	late.fails(t, newVersion, "InterOperatorGroupOwnerConflict", "intersecting operatorgroups provide the same apis")
	i.succeeds(t, newVersion)
}

func TestInstall_FailsOnUnknownChannel(t *testing.T) {
	t.Parallel()
	namespace := suite.NewNamespace(t)
	i := newInstall(t, namespace, suite.newCatalog, namespace)
	i.subscribe(t, "Automatic")
	patch(t, subscriptions, namespace, "memcached-operator", `{"spec":{"channel":"gamma"}}`)
	i.cannotResolve(t, "ConstraintsNotSatisfiable", "no operators found in channel gamma of package memcached-operator in the catalog referenced by subscription memcached-operator")
}

// TestInstall_FailsWithoutPermissions has an OperatorGroup whose ServiceAccount is to install, and may not.
func TestInstall_FailsWithoutPermissions(t *testing.T) {
	t.Parallel()
	namespace := suite.NewNamespace(t)
	i := newInstall(t, namespace, suite.newCatalog, namespace)
	patch(t, groups, namespace, namespace, `{"spec":{"serviceAccountName":"installer"}}`)
	i.complains(t, namespace, "OperatorGroupServiceAccount", "ServiceAccount installer not found")
	i.subscribe(t, "Automatic")
	suite.Kubectl(t, "--namespace="+namespace, "create", "serviceaccount", "installer")
	name := i.proposes(t, newVersion)
	const forbidden = "clusterserviceversions.operators.coreos.com is forbidden"
	documented(t, forbidden)
	until(t, plans, namespace, name, "refused", func(p *plan) bool {
		return p.Status.Phase == "Installing" && cluster.ContainsAll(p.Status.Message, []string{
			forbidden,
			`User "system:serviceaccount:` + namespace + `:installer" cannot create resource "clusterserviceversions"`,
		})
	})
}

// logged waits until OLM's catalog operator logs words about the namespace.
func (i install) logged(t *testing.T, words string) {
	t.Helper()
	documented(t, words)
	cluster.Eventually(t, "the catalog operator says: "+words, func(context.Context) (bool, string, error) {
		for line := range strings.Lines(suite.Kubectl(t, "--namespace="+global, "logs", "deployments/catalog-operator", "--since=1m")) {
			if strings.Contains(line, i.Namespace) && strings.Contains(line, words) {
				return true, "", nil
			}
		}
		return false, "other lines", nil
	})
}

// cannotResolve waits until OLM says on the Subscription why it finds nothing to install.
func (i install) cannotResolve(t *testing.T, reason, words string) {
	t.Helper()
	documented(t, reason, words)
	until(t, subscriptions, i.Namespace, "memcached-operator", "cannot be resolved", func(s *subscription) bool {
		return says(s.Status.Conditions, "ResolutionFailed", "True", reason, words)
	})
	list := metadataListOf(csvs)
	cluster.Must(t, suite.List(t.Context(), list, client.InNamespace(i.Namespace)))
	if len(list.Items) > 0 {
		t.Errorf("there is a ClusterServiceVersion %s", list.Items[0].Name)
	}
}

// fails waits until a version has failed, as OLM says it.
func (i install) fails(t *testing.T, version, reason, words string) {
	t.Helper()
	documented(t, reason, words)
	until(t, csvs, i.Namespace, version, "failed", func(c *csv) bool {
		return c.Status.Phase == "Failed" && c.Status.Reason == reason && strings.Contains(c.Status.Message, words)
	})
}

// complains waits until an OperatorGroup has a condition with these words.
func (i install) complains(t *testing.T, name, condition, words string) {
	t.Helper()
	documented(t, words)
	until(t, groups, i.Namespace, name, condition, func(g *group) bool { return says(g.Status.Conditions, condition, "True", words) })
}
