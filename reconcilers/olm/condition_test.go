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

// reconciling is the condition of a Memcached that is not ready for reason.
func reconciling(reason string) metav1.Condition {
	return metav1.Condition{Type: cachev1alpha1.ConditionReconciling, Status: metav1.ConditionTrue, Reason: reason}
}

func rolling(name string) cachev1alpha1.Memcached { return memcached(name, reconciling("RollingOut")) }

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
	idle    = condition(metav1.ConditionTrue, "NoRollOut", "no Memcached is rolling out")
	overdue = condition(metav1.ConditionTrue, "RollOutOverdue", "rollouts for more than 30m0s, not blocking the upgrade any longer")
)

func condition(status metav1.ConditionStatus, reason, message string) metav1.Condition {
	return metav1.Condition{Type: apiv2.Upgradeable, Status: status, Reason: reason, Message: message}
}

func waits(name string) metav1.Condition {
	return condition(metav1.ConditionFalse, "RollingOut", "rolling out: shop/"+name)
}

// since is c, which has had its status for age.
func since(age time.Duration, c metav1.Condition) *metav1.Condition {
	c.LastTransitionTime = metav1.NewTime(now.Add(-age))
	return &c
}

// rollouts are the condition that the OperatorCondition has, Memcacheds, and the condition that follows.
var rollouts = map[string]struct {
	last  *metav1.Condition
	given []cachev1alpha1.Memcached
	want  metav1.Condition
}{
	"no Memcached":                           {nil, nil, idle},
	"a Memcached that was not looked at yet": {nil, []cachev1alpha1.Memcached{memcached("new")}, idle},
	"settled ones":                           {nil, []cachev1alpha1.Memcached{settled, settled}, idle},
	"a stalled one has to be acted on, and the operator's upgrade may be that": {nil, []cachev1alpha1.Memcached{stalled}, idle},
	"one rolls out among settled ones":                                         {nil, []cachev1alpha1.Memcached{settled, rolling("a"), stalled}, waits("a")},
	"the first of several is named":                                            {nil, []cachev1alpha1.Memcached{rolling("c"), rolling("a"), rolling("b")}, waits("a")},
	"the one that is named stays it until it is done":                          {since(time.Minute, waits("b")), []cachev1alpha1.Memcached{rolling("a"), rolling("b"), rolling("c")}, waits("b")},
	"then it is another":                                                       {since(time.Minute, waits("b")), []cachev1alpha1.Memcached{rolling("c"), rolling("d")}, waits("c")},
	"a pod that cannot be pulled is part of a rollout":                         {nil, []cachev1alpha1.Memcached{memcached("a", reconciling("ImagePullBackOff"))}, waits("a")},
	"pods that a quota stops are part of a rollout":                            {nil, []cachev1alpha1.Memcached{memcached("a", reconciling("FailedCreate"))}, waits("a")},
	"a failed write is no rollout":                                             {nil, []cachev1alpha1.Memcached{memcached("a", reconciling("ApplyFailed"))}, idle},
	"an object that another client reverts is no rollout":                      {nil, []cachev1alpha1.Memcached{memcached("a", reconciling("Contended"))}, idle},
	"waiting for an earlier object is no rollout":                              {nil, []cachev1alpha1.Memcached{memcached("a", reconciling("WaitingForDeletion"))}, idle},
	"a condition that is not True says nothing": {
		nil, []cachev1alpha1.Memcached{memcached("a", metav1.Condition{Type: "Reconciling", Status: metav1.ConditionFalse, Reason: "RollingOut"})}, idle,
	},
	"a Memcached that is being deleted rolls nothing out": {nil, []cachev1alpha1.Memcached{going(rolling("a"))}, idle},
	"a rollout ends":            {since(time.Minute, waits("a")), []cachev1alpha1.Memcached{settled}, idle},
	"one begins":                {since(time.Hour, idle), []cachev1alpha1.Memcached{rolling("a")}, waits("a")},
	"a second before the bound": {since(30*time.Minute-time.Second, waits("a")), []cachev1alpha1.Memcached{rolling("a")}, waits("a")},
	"at the bound":              {since(30*time.Minute, waits("a")), []cachev1alpha1.Memcached{rolling("a")}, overdue},
	"at the bound, of another one than it began with": {since(30*time.Minute, waits("a")), []cachev1alpha1.Memcached{rolling("b")}, overdue},
	"once overdue, the next ones block no more":       {since(time.Second, overdue), []cachev1alpha1.Memcached{rolling("b")}, overdue},
	"until there was none":                            {since(time.Second, overdue), nil, idle},
	"a clock that is a little ahead":                  {since(-time.Second, waits("a")), []cachev1alpha1.Memcached{rolling("a")}, waits("a")},
	"a clock that is far ahead extends nothing":       {since(-365*24*time.Hour, waits("a")), []cachev1alpha1.Memcached{rolling("a")}, overdue},
}

func TestNextCondition_FollowsRollouts(t *testing.T) {
	t.Parallel()
	for sentence, test := range rollouts {
		t.Run(sentence, func(t *testing.T) {
			t.Parallel()
			if got := nextCondition(test.last, test.given, now); got != test.want {
				t.Errorf("%+v, want %+v", got, test.want)
			}
		})
	}
}
