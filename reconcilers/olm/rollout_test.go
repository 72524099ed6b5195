// SPDX-License-Identifier: Apache-2.0

package olm

import (
	"fmt"
	"testing"
	"time"

	apiv2 "github.com/operator-framework/api/pkg/operators/v2"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	cachev1alpha1 "github.com/example/memcached-operator/apis/v1alpha1"
	"github.com/example/memcached-operator/test/testenv"
)

// withOLM returns an operator that may write the OperatorCondition of its namespace.
func withOLM(t *testing.T) (*operator, *apiv2.OperatorCondition) {
	t.Helper()
	namespace := suite.NewNamespace(t)
	oc := suite.newOperatorCondition(t, namespace)
	suite.grant(t, oc)
	return &operator{env: &suite, namespace: namespace}, oc
}

// setRollingOut sets the status of mc to a rollout that began at since.
func setRollingOut(t *testing.T, mc *cachev1alpha1.Memcached, since time.Time) {
	t.Helper()
	meta.SetStatusCondition(&mc.Status.Conditions, metav1.Condition{
		Type: cachev1alpha1.ConditionReconciling, Status: metav1.ConditionTrue, Reason: cachev1alpha1.ReasonRollingOut,
		LastTransitionTime: metav1.NewTime(since),
	})
	testenv.NoError(t, suite.Client.Status().Update(t.Context(), mc))
}

func setSettled(t *testing.T, mc *cachev1alpha1.Memcached) {
	t.Helper()
	mc.Status.Conditions = nil
	testenv.NoError(t, suite.Client.Status().Update(t.Context(), mc))
}

func TestOperatorCondition_BlocksUpgradeDuringRollout(t *testing.T) {
	t.Parallel()
	o, oc := withOLM(t)
	o.start(t)
	o.startMemcacheds(t)
	if got := suite.eventuallyHas(t, oc, metav1.ConditionTrue, "NoRollOut"); got != "no Memcached is rolling out" {
		t.Errorf("the message is %q", got)
	}

	mc := suite.NewMemcached(t, o.namespace, "cache", 2)
	if got, want := suite.eventuallyHas(t, oc, metav1.ConditionFalse, "RollingOut"), "rolling out: "+o.namespace+"/cache"; got != want {
		t.Errorf("the message is %q, want %q", got, want)
	}
	suite.eventuallyHas(t, oc, metav1.ConditionTrue, "NoRollOut")
	suite.Get(t, mc)
	if !testenv.HasCondition(mc, cachev1alpha1.ConditionReady, metav1.ConditionTrue, "Ready") {
		t.Errorf("upgradeable before the Memcached is ready: %+v", mc.Status)
	}
	suite.Patch(t, mc, `{"spec":{"podMetadata":{"annotations":{"example.com/a":"b"}}}}`)
	suite.eventuallyHas(t, oc, metav1.ConditionFalse, "RollingOut")
	suite.eventuallyHas(t, oc, metav1.ConditionTrue, "NoRollOut")
	if got := o.requests("PUT"); len(got) != 5 {
		t.Errorf("%d writes for five changes: %v", len(got), got)
	}
	// The fields that OLM wrote are kept.
	if len(oc.Spec.Deployments) != 1 || len(oc.Spec.ServiceAccounts) != 1 {
		t.Errorf("the spec is now %+v", oc.Spec)
	}
	// A change that begins or ends no rollout sends no request: between it and the next roll-out there is none.
	suite.Patch(t, mc, `{"metadata":{"labels":{"example.com/a":"b"}}}`)
	suite.Patch(t, mc, `{"spec":{"podMetadata":{"annotations":{"example.com/a":"c"}}}}`)
	suite.eventuallyHas(t, oc, metav1.ConditionFalse, "RollingOut")
	suite.eventuallyHas(t, oc, metav1.ConditionTrue, "NoRollOut")
	if got := o.requests("PUT"); len(got) != 7 {
		t.Errorf("%d writes for seven changes: %v", len(got), got)
	}
}

func TestOperatorCondition_IsNotRewrittenAfterRestart(t *testing.T) {
	t.Parallel()
	for state, wanted := range map[string]struct {
		before func(t *testing.T, mc *cachev1alpha1.Memcached)
		status metav1.ConditionStatus
		reason string
	}{
		"at rest":                      {func(*testing.T, *cachev1alpha1.Memcached) {}, metav1.ConditionTrue, "NoRollOut"},
		"in the middle of a rollout":   {func(t *testing.T, mc *cachev1alpha1.Memcached) { setRollingOut(t, mc, time.Now()) }, metav1.ConditionFalse, "RollingOut"},
		"in the middle of a stuck one": {func(t *testing.T, mc *cachev1alpha1.Memcached) { setRollingOut(t, mc, time.Now().Add(-time.Hour)) }, metav1.ConditionTrue, "RollOutOverdue"},
	} {
		t.Run(state, func(t *testing.T) {
			t.Parallel()
			o, oc := withOLM(t)
			mc := suite.NewMemcached(t, o.namespace, "cache", 2)
			wanted.before(t, mc)
			stop := o.start(t)
			suite.eventuallyHas(t, oc, wanted.status, wanted.reason)
			stop()
			if got := o.requests("PUT"); len(got) != 1 {
				t.Errorf("the first operator wrote %v", got)
			}
			version := oc.ResourceVersion

			second := &operator{env: &suite, namespace: o.namespace}
			second.start(t)
			testenv.Eventually(t, "the second operator should read the condition", func() bool { return len(second.requests("GET")) > 0 })
			suite.eventuallyHas(t, oc, wanted.status, wanted.reason)
			if oc.ResourceVersion != version {
				t.Errorf("the OperatorCondition was written: %s -> %s", version, oc.ResourceVersion)
			}
			// Its first write is that of the next change.
			if wanted.reason == "NoRollOut" {
				setRollingOut(t, mc, time.Now())
				suite.eventuallyHas(t, oc, metav1.ConditionFalse, "RollingOut")
			} else {
				setSettled(t, mc)
				suite.eventuallyHas(t, oc, metav1.ConditionTrue, "NoRollOut")
			}
			if got := second.requests("PUT"); len(got) != 1 {
				t.Errorf("the second operator wrote %v", got)
			}
		})
	}
}

func TestOperatorCondition_BlocksUpgradeForBoundedTime(t *testing.T) {
	t.Parallel()
	o, oc := withOLM(t)
	clock := o.setClock()
	o.start(t)
	suite.eventuallyHas(t, oc, metav1.ConditionTrue, "NoRollOut")
	mc := suite.NewMemcached(t, o.namespace, "stuck", 2)
	// A second before the end of the bound, which the timer has to notice: no event comes any more.
	setRollingOut(t, mc, clock.Now().Add(time.Second-bound))
	suite.eventuallyHas(t, oc, metav1.ConditionFalse, "RollingOut")
	clock.Step(time.Second)
	got := suite.eventuallyHas(t, oc, metav1.ConditionTrue, "RollOutOverdue")
	if want := "rolling out for more than 30m0s, not blocking the upgrade any longer: " + o.namespace + "/stuck"; got != want {
		t.Errorf("the message is %q, want %q", got, want)
	}
	setSettled(t, mc)
	suite.eventuallyHas(t, oc, metav1.ConditionTrue, "NoRollOut")
	// The next one counts again.
	setRollingOut(t, mc, clock.Now())
	suite.eventuallyHas(t, oc, metav1.ConditionFalse, "RollingOut")
	if got := o.requests("PUT"); len(got) != 5 {
		t.Errorf("%d writes for five changes: %v", len(got), got)
	}
}

func TestOperatorCondition_LimitsMessageWrites(t *testing.T) {
	t.Parallel()
	o, oc := withOLM(t)
	clock := o.setClock()
	o.configure = func(r *OperatorConditionReconciler) { r.messageInterval = time.Second }
	o.start(t)
	suite.eventuallyHas(t, oc, metav1.ConditionTrue, "NoRollOut")
	for i := range 20 {
		setRollingOut(t, suite.NewMemcached(t, o.namespace, fmt.Sprintf("cache-%02d", i), 2), clock.Now())
		if i == 0 {
			suite.eventuallyHas(t, oc, metav1.ConditionFalse, "RollingOut")
		}
	}
	// By the operator's clock no time has passed so far.
	if got := o.requests("PUT"); len(got) != 2 {
		t.Errorf("%d writes within the interval: %v", len(got), got)
	}
	clock.Step(time.Second)
	want := fmt.Sprintf("rolling out: %[1]s/cache-00, %[1]s/cache-01, %[1]s/cache-02 and 17 more", o.namespace)
	testenv.Eventually(t, "the message should have all names", func() bool {
		return suite.eventuallyHas(t, oc, metav1.ConditionFalse, "RollingOut") == want
	})
	if got := o.requests("PUT"); len(got) != 3 {
		t.Errorf("%d writes for 20 Memcacheds: %v", len(got), got)
	}
}
