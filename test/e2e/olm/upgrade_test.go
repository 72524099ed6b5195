// SPDX-License-Identifier: Apache-2.0

//go:build e2e

package olm

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/example/memcached-operator/test/e2e/cluster"
)

// TestUpgrade_Automatic installs the version that the catalog has, and lets the catalog have a newer one.
func TestUpgrade_Automatic(t *testing.T) {
	t.Parallel()
	namespace := suite.NewNamespace(t)
	i := installed(t, oldVersion, namespace, suite.oldCatalog, namespace)
	f := suite.Fill(t, namespace, "kept", 2)
	before := f.Versions(t)

	patch(t, sources, namespace, i.source, `{"spec":{"image":"`+suite.newCatalog+`"}}`)
	i.succeeds(t, newVersion)
	replaces(t, i)
	f.WantKept(t, "the upgrade")
	f.WantVersions(t, before, "the upgrade")
	wantReconciled(t, f)
}

// TestUpgrade_Manual installs and upgrades when an administrator says so, and then only.
func TestUpgrade_Manual(t *testing.T) {
	t.Parallel()
	namespace := suite.NewNamespace(t)
	i := newInstall(t, namespace, suite.newCatalog, namespace)
	i.subscribe(t, "Manual", "startingCSV: "+oldVersion)
	plan := i.proposes(t, oldVersion)
	i.waitsForApproval(t, plan)
	i.approve(t, plan)
	until(t, csvs, namespace, oldVersion, "installed", func(c *csv) bool { return c.Status.Phase == "Succeeded" })
	f := suite.Fill(t, namespace, "kept", 2)

	plan = i.proposes(t, newVersion)
	i.waitsForApproval(t, plan)
	f.WantKept(t, "an upgrade was proposed")
	i.approve(t, plan)
	i.succeeds(t, newVersion)
	replaces(t, i)
	f.WantKept(t, "the upgrade")
	wantReconciled(t, f)
}

// waitsForApproval fails unless OLM says that it waits, and has not installed the plan.
func (i install) waitsForApproval(t *testing.T, name string) {
	t.Helper()
	const pending = "RequiresApproval"
	until(t, subscriptions, i.Namespace, i.subscription, "upgrade pending", func(s *subscription) bool {
		return s.Status.State == "UpgradePending" && says(s.Status.Conditions, "InstallPlanPending", "True", pending)
	})
	p := until(t, plans, i.Namespace, name, "waiting for approval", func(p *plan) bool { return p.Status.Phase == pending })
	if p.Spec.Approved {
		t.Errorf("InstallPlan %s is approved, and no user approved it", name)
	}
	for _, version := range p.Spec.ClusterServiceVersionNames {
		if _, err := view[csv](t.Context(), csvs, i.Namespace, version); err == nil {
			t.Errorf("there is a ClusterServiceVersion %s, and its InstallPlan is not approved", version)
		}
	}
}

// TestUpgrade_WaitsForRollout has an operator in the middle of a roll-out whose pod no node can take, and an administrator who then holds
// the upgrade back.
func TestUpgrade_WaitsForRollout(t *testing.T) {
	t.Parallel()
	namespace := suite.NewNamespace(t)
	i := installed(t, oldVersion, namespace, suite.oldCatalog, namespace)
	i.saysUpgradeable(t, "True")
	f := suite.Fill(t, namespace, "kept", 1)
	pods := cluster.Names(i.Settled(t))

	suite.Patch(t, f.Memcached, `{"spec":{"resources":{"requests":{"cpu":"900"}}}}`)
	i.saysUpgradeable(t, "False", "RollingOut", namespace+"/kept")
	patch(t, sources, namespace, i.source, `{"spec":{"image":"`+suite.newCatalog+`"}}`)
	i.isHeldBack(t, "the operator is not upgradeable: rolling out: "+namespace+"/kept")
	if now := cluster.Names(i.Settled(t)); !slices.Equal(now, pods) {
		t.Errorf("the operator's pods were %v and are %v, and the upgrade is held back", pods, now)
	}

	patch(t, conditions, namespace, oldVersion, `{"spec":{"overrides":[{"type":"Upgradeable","status":"False","reason":"Maintenance","message":"not before Monday","lastTransitionTime":"2026-11-20T00:00:00Z"}]}}`)
	suite.Patch(t, f.Memcached, `{"spec":{"resources":null}}`)
	i.saysUpgradeable(t, "True")
	i.isHeldBack(t, "the operator is not upgradeable: not before Monday")
	patch(t, conditions, namespace, oldVersion, `{"spec":{"overrides":[]}}`)
	i.succeeds(t, newVersion)
	wantReconciled(t, f)
	until(t, conditions, namespace, newVersion, "upgradeable", func(c *operatorCondition) bool { return says(c.Spec.Conditions, "Upgradeable", "True") })
}

// saysUpgradeable waits until the operator, in its OperatorCondition, says whether it may be upgraded.
func (i install) saysUpgradeable(t *testing.T, status string, words ...string) {
	t.Helper()
	until(t, conditions, i.Namespace, oldVersion, "Upgradeable="+status, func(c *operatorCondition) bool {
		return says(c.Spec.Conditions, "Upgradeable", status, words...)
	})
}

// isHeldBack waits until OLM says that the new version waits for the old one's operator.
func (i install) isHeldBack(t *testing.T, words string) {
	t.Helper()
	const reason = "OperatorConditionNotUpgradeable"
	until(t, csvs, i.Namespace, newVersion, "held back", func(c *csv) bool {
		return c.Status.Phase == "Pending" && c.Status.Reason == reason && strings.Contains(c.Status.Message, "operator is not upgradeable: "+words)
	})
}

// replaces fails unless the new version replaced the old one, which is gone.
func replaces(t *testing.T, i install) {
	t.Helper()
	c := until(t, csvs, i.Namespace, newVersion, "installed", func(c *csv) bool { return c.Status.Phase == "Succeeded" })
	if c.Spec.Replaces != oldVersion {
		t.Errorf("%s replaces %q, want %q", newVersion, c.Spec.Replaces, oldVersion)
	}
	suite.EventuallyGone(t, metadataOf(csvs, i.Namespace, oldVersion))
}

// wantReconciled fails unless an operator reconciles the Memcached.
func wantReconciled(t *testing.T, f cluster.Filled) {
	t.Helper()
	size := *f.Memcached.Spec.Size + 1
	suite.Kubectl(t, "--namespace="+f.Memcached.Namespace, "scale", "memcached/"+f.Memcached.Name, "--replicas="+fmt.Sprint(size))
	suite.Get(t, f.Memcached)
	suite.Ready(t, f.Memcached)
	if got := len(suite.Pods(t, f.Memcached.Namespace, f.Memcached.Name)); got != int(size) {
		t.Errorf("%d pods run, want %d", got, size)
	}
}
