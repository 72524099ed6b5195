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

// setRollingOut sets the status of mc to a rollout.
func setRollingOut(t *testing.T, mc *cachev1alpha1.Memcached) {
	t.Helper()
	meta.SetStatusCondition(&mc.Status.Conditions, metav1.Condition{
		Type: cachev1alpha1.ConditionReconciling, Status: metav1.ConditionTrue, Reason: cachev1alpha1.ReasonRollingOut,
		LastTransitionTime: metav1.Now(),
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
	if got := suite.eventuallyHas(t, oc, metav1.ConditionTrue, "NoRollOut"); got != "no Memcached is rolling out" {
		t.Errorf("the message is %q", got)
	}
	mc := suite.NewMemcached(t, o.namespace, "cache", 2)
	for range 2 {
		setRollingOut(t, mc)
		if got, want := suite.eventuallyHas(t, oc, metav1.ConditionFalse, "RollingOut"), "rolling out: "+o.namespace+"/cache"; got != want {
			t.Errorf("the message is %q, want %q", got, want)
		}
		setSettled(t, mc)
		suite.eventuallyHas(t, oc, metav1.ConditionTrue, "NoRollOut")
	}
	reads, writes := len(o.requests("GET")), len(o.requests("PUT"))
	if writes != 5 {
		t.Errorf("%d writes for five changes: %v", writes, o.requests("PUT"))
	}
	// The fields that OLM wrote are kept.
	if len(oc.Spec.Deployments) != 1 || len(oc.Spec.ServiceAccounts) != 1 {
		t.Errorf("the spec is now %+v", oc.Spec)
	}
	// A change that begins or ends no rollout sends no request: between it and the next rollout there is none.
	suite.Patch(t, mc, `{"metadata":{"labels":{"example.com/a":"b"}}}`)
	setRollingOut(t, mc)
	suite.eventuallyHas(t, oc, metav1.ConditionFalse, "RollingOut")
	if reads, writes := len(o.requests("GET"))-reads, len(o.requests("PUT"))-writes; reads > 2 || writes != 1 {
		t.Errorf("%d reads and %d writes for one change", reads, writes)
	}
}

func TestOperatorCondition_IsNotRewrittenAfterRestart(t *testing.T) {
	t.Parallel()
	for state, wanted := range map[string]struct {
		before func(t *testing.T, mc *cachev1alpha1.Memcached)
		status metav1.ConditionStatus
		reason string
	}{
		"at rest":                    {func(*testing.T, *cachev1alpha1.Memcached) {}, metav1.ConditionTrue, "NoRollOut"},
		"in the middle of a rollout": {setRollingOut, metav1.ConditionFalse, "RollingOut"},
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
				setRollingOut(t, mc)
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
	mc := suite.NewMemcached(t, o.namespace, "stuck", 2)
	setRollingOut(t, mc)
	// An operator of before has blocked the upgrade until a second before the bound, whose end no event tells.
	oc.Spec.Conditions = []metav1.Condition{{
		Type: apiv2.Upgradeable, Status: metav1.ConditionFalse, Reason: "RollingOut", Message: "rolling out: " + o.namespace + "/stuck",
		LastTransitionTime: metav1.NewTime(clock.Now().Add(time.Second - bound)),
	}}
	testenv.NoError(t, suite.Client.Update(t.Context(), oc))
	o.start(t)
	testenv.Eventually(t, "the operator should read the condition", func() bool { return len(o.requests("GET")) > 0 })
	clock.Step(time.Second)
	suite.eventuallyHas(t, oc, metav1.ConditionTrue, "RollOutOverdue")
	setSettled(t, mc)
	suite.eventuallyHas(t, oc, metav1.ConditionTrue, "NoRollOut")
	// The next one counts again.
	setRollingOut(t, mc)
	suite.eventuallyHas(t, oc, metav1.ConditionFalse, "RollingOut")
	if got := o.requests("PUT"); len(got) != 3 {
		t.Errorf("%d writes for three changes: %v", len(got), got)
	}
}

func TestOperatorCondition_AsksOnceForManyRollouts(t *testing.T) {
	t.Parallel()
	o, oc := withOLM(t)
	o.start(t)
	suite.eventuallyHas(t, oc, metav1.ConditionTrue, "NoRollOut")
	start := time.Now()
	for i := range 20 {
		setRollingOut(t, suite.NewMemcached(t, o.namespace, fmt.Sprintf("cache-%02d", i), 2))
	}
	suite.eventuallyHas(t, oc, metav1.ConditionFalse, "RollingOut")
	if got, bound := o.requests("GET"), 2+int(time.Since(start)/batchDelay); len(got) > bound {
		t.Errorf("%d reads, more than %d: %v", len(got), bound, got)
	}
	if got := o.requests("PUT"); len(got) != 2 {
		t.Errorf("%d writes for 20 Memcacheds: %v", len(got), got)
	}
}
