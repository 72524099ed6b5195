// SPDX-License-Identifier: Apache-2.0

package olm

import (
	"testing"
	"time"

	apiv2 "github.com/operator-framework/api/pkg/operators/v2"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	cachev1alpha1 "github.com/example/memcached-operator/apis/v1alpha1"
)

// now is when every decision is made.
var now = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)

// memcached is a Memcached of the namespace shop with the given conditions.
func memcached(name string, conditions ...metav1.Condition) cachev1alpha1.Memcached {
	return cachev1alpha1.Memcached{
		ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: name},
		Status:     cachev1alpha1.MemcachedStatus{Conditions: conditions},
	}
}

// reconciling is the condition that a rollout has for age.
func reconciling(reason string, age time.Duration) metav1.Condition {
	return metav1.Condition{
		Type: cachev1alpha1.ConditionReconciling, Status: metav1.ConditionTrue, Reason: reason,
		LastTransitionTime: metav1.NewTime(now.Add(-age)),
	}
}

func rolling(name string, age time.Duration) cachev1alpha1.Memcached {
	return memcached(name, reconciling("RollingOut", age))
}

func going(mc cachev1alpha1.Memcached) cachev1alpha1.Memcached {
	mc.DeletionTimestamp = &metav1.Time{Time: now}
	return mc
}

var (
	settled = memcached("settled",
		metav1.Condition{Type: "Ready", Status: metav1.ConditionTrue, Reason: "Ready"},
		metav1.Condition{Type: "Available", Status: metav1.ConditionTrue, Reason: "MinimumPodsReady"})
	stalled = memcached("stalled",
		metav1.Condition{Type: "Ready", Status: metav1.ConditionFalse, Reason: "ProgressDeadlineExceeded"},
		metav1.Condition{Type: "Stalled", Status: metav1.ConditionTrue, Reason: "ProgressDeadlineExceeded"})
	idle = condition(metav1.ConditionTrue, "NoRollOut", "no Memcached is rolling out")
)

func waits(message string) metav1.Condition {
	return condition(metav1.ConditionFalse, "RollingOut", message)
}

func overdue(message string) metav1.Condition {
	return condition(metav1.ConditionTrue, "RollOutOverdue", "rolling out for more than 30m0s, not blocking the upgrade any longer: "+message)
}

// rollouts are Memcacheds, the condition that they make, and how long that holds.
var rollouts = map[string]struct {
	given memcacheds
	want  metav1.Condition
	holds time.Duration
}{
	"no Memcached":                           {nil, idle, 0},
	"a Memcached that was not looked at yet": {memcacheds{memcached("new")}, idle, 0},
	"settled ones":                           {memcacheds{settled, settled}, idle, 0},
	"a stalled one has to be acted on, and the operator's upgrade may be that": {memcacheds{stalled}, idle, 0},
	"one rolls out among settled ones": {
		memcacheds{settled, rolling("a", 10*time.Minute), stalled}, waits("rolling out: shop/a"), 20 * time.Minute,
	},
	"a rollout that has just begun": {
		memcacheds{rolling("a", 0)}, waits("rolling out: shop/a"), 30 * time.Minute,
	},
	"several are named in order, whichever came first": {
		memcacheds{rolling("c", time.Minute), rolling("a", 2*time.Minute), rolling("b", 3*time.Minute)},
		waits("rolling out: shop/a, shop/b, shop/c"), 27 * time.Minute,
	},
	"three are named and the others counted": {
		memcacheds{rolling("e", 0), rolling("d", 0), rolling("c", 0), rolling("b", 0), rolling("a", 0)},
		waits("rolling out: shop/a, shop/b, shop/c and 2 more"), 30 * time.Minute,
	},
	"a pod that cannot be pulled is part of a rollout": {
		memcacheds{memcached("a", reconciling("ImagePullBackOff", time.Minute))}, waits("rolling out: shop/a"), 29 * time.Minute,
	},
	"pods that a quota stops are part of a rollout": {
		memcacheds{memcached("a", reconciling("FailedCreate", time.Minute))}, waits("rolling out: shop/a"), 29 * time.Minute,
	},
	"a failed write is no rollout": {
		memcacheds{memcached("a", reconciling("ApplyFailed", time.Minute))}, idle, 0,
	},
	"an object that another client reverts is no rollout": {
		memcacheds{memcached("a", reconciling("Contended", time.Minute))}, idle, 0,
	},
	"waiting for an earlier object is no rollout": {
		memcacheds{memcached("a", reconciling("WaitingForDeletion", time.Minute))}, idle, 0,
	},
	"a condition that is not True says nothing": {
		memcacheds{memcached("a", metav1.Condition{Type: "Reconciling", Status: metav1.ConditionFalse, Reason: "RollingOut"})}, idle, 0,
	},
	"a Memcached that is being deleted rolls nothing out": {
		memcacheds{going(rolling("a", time.Minute))}, idle, 0,
	},
	"a second before the bound": {
		memcacheds{rolling("a", 30*time.Minute-time.Second)}, waits("rolling out: shop/a"), time.Second,
	},
	"at the bound": {
		memcacheds{rolling("a", 30*time.Minute)}, overdue("shop/a"), 0,
	},
	"an overdue one is not named beside one that is waited for": {
		memcacheds{rolling("a", 31*time.Minute), rolling("b", 29*time.Minute)}, waits("rolling out: shop/b"), time.Minute,
	},
	"the soonest end of several counts": {
		memcacheds{rolling("a", 29*time.Minute), rolling("b", 28*time.Minute)}, waits("rolling out: shop/a, shop/b"), time.Minute,
	},
	"a clock that is a little ahead": {
		memcacheds{rolling("a", -time.Second)}, waits("rolling out: shop/a"), 30*time.Minute + time.Second,
	},
	"a clock that is far ahead holds nothing": {
		memcacheds{rolling("a", -365*24*time.Hour)}, overdue("shop/a"), 0,
	},
}

func TestDesiredCondition_FollowsRollouts(t *testing.T) {
	t.Parallel()
	for sentence, test := range rollouts {
		t.Run(sentence, func(t *testing.T) {
			t.Parallel()
			got, holds := desiredCondition(test.given, now, bound)
			if got != test.want || holds != test.holds {
				t.Errorf("%+v for %s, want %+v for %s", got, holds, test.want, test.holds)
			}
			if got.Type != apiv2.Upgradeable {
				t.Errorf("the type is %s", got.Type)
			}
		})
	}
}

// Users begin rollouts one after the other, with pauses in between.
func TestSeries_BlocksNoLongerThanTheBound(t *testing.T) {
	t.Parallel()
	var s series
	blocked := waits("rolling out: shop/a")
	late := condition(metav1.ConditionTrue, "RollOutOverdue", "rollouts for more than 30m0s, not blocking the upgrade any longer; now rolling out: shop/a")
	for _, step := range []struct {
		at, holds time.Duration // since the begin
		given     metav1.Condition
		want      metav1.Condition
		wantHolds time.Duration
	}{
		{0, 30 * time.Minute, blocked, blocked, 30 * time.Minute},
		{10 * time.Minute, 0, idle, idle, 0},
		{11 * time.Minute, 30 * time.Minute, blocked, blocked, 19 * time.Minute},
		{30 * time.Minute, 11 * time.Minute, blocked, late, 11 * time.Minute},
		{31 * time.Minute, 0, idle, idle, 0},
		{60 * time.Minute, 30 * time.Minute, blocked, late, 30 * time.Minute},
		{70 * time.Minute, 0, idle, idle, 0},
		{100 * time.Minute, 30 * time.Minute, blocked, blocked, 30 * time.Minute},
	} {
		if got, holds := s.limit(step.given, step.holds, now.Add(step.at), bound); got != step.want || holds != step.wantHolds {
			t.Errorf("after %s: %+v for %s, want %+v for %s", step.at, got, holds, step.want, step.wantHolds)
		}
	}
}
