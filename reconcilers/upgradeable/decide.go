// SPDX-License-Identifier: Apache-2.0

package upgradeable

import (
	"fmt"
	"slices"
	"strings"
	"time"

	apiv2 "github.com/operator-framework/api/pkg/operators/v2"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	cachev1alpha1 "github.com/example/memcached-operator/apis/v1alpha1"
)

const (
	// bound is how long a roll-out can hold an upgrade, from the moment at which its
	// Memcached was last settled: three times a Deployment's default progress deadline
	// of 10 minutes. A roll-out that makes no progress is Stalled after one of these,
	// and holds nothing from then on; this bound is for those that creep. A pod of the
	// templates takes about 15 s (probe delay and period, minReadySeconds: 5 s each), so
	// it is also enough for 120 pods that are replaced one after the other.
	bound = 30 * time.Minute

	// maxNamed is how many Memcacheds a message names.
	maxNamed = 3

	reasonRollingOut     = cachev1alpha1.ReasonRollingOut
	reasonNoRollOut      = "NoRollOut"
	reasonRollOutOverdue = "RollOutOverdue"
)

// decide returns the condition that follows from memcacheds at now, when a roll-out
// counts for bound, and for how long it does unless one of them changes; 0 says for
// ever. The condition has no time.
func decide(memcacheds []cachev1alpha1.Memcached, now time.Time, bound time.Duration) (metav1.Condition, time.Duration) {
	var holding, overdue []string
	var until time.Duration
	for i := range memcacheds {
		mc := &memcacheds[i]
		since := rollingOutSince(mc)
		if since.IsZero() {
			continue
		}
		name := mc.Namespace + "/" + mc.Name
		age := now.Sub(since)
		// A beginning in the future is a clock's mistake; it must not add to the bound
		// more than the bound itself.
		if age.Abs() >= bound {
			overdue = append(overdue, name)
			continue
		}
		holding = append(holding, name)
		if rest := bound - age; until == 0 || rest < until {
			until = rest
		}
	}
	switch {
	case len(holding) > 0:
		return condition(metav1.ConditionFalse, reasonRollingOut, "rolling out: "+list(holding)), until
	case len(overdue) > 0:
		return condition(metav1.ConditionTrue, reasonRollOutOverdue,
			fmt.Sprintf("rolling out for more than %s and not waited for any longer: %s", bound, list(overdue))), 0
	default:
		return condition(metav1.ConditionTrue, reasonNoRollOut, "no Memcached is rolling out"), 0
	}
}

// rollingOutSince is when the roll-out began in whose middle mc is; zero when it is in
// none. The kubelet's and the scheduler's reasons are among those of a roll-out: they say
// why its pods do not come. A write that failed and an object that has to go first are
// not: what is not begun cannot be interrupted, and a version of the operator that cannot write
// must not hold up its own replacement.
func rollingOutSince(mc *cachev1alpha1.Memcached) time.Time {
	c := meta.FindStatusCondition(mc.Status.Conditions, cachev1alpha1.ConditionReconciling)
	switch {
	case c == nil || c.Status != metav1.ConditionTrue || mc.DeletionTimestamp != nil:
		return time.Time{}
	case c.Reason == cachev1alpha1.ReasonApplyFailed || c.Reason == cachev1alpha1.ReasonWaitingForDeletion:
		return time.Time{}
	default:
		return c.LastTransitionTime.Time
	}
}

func condition(status metav1.ConditionStatus, reason, message string) metav1.Condition {
	return metav1.Condition{Type: apiv2.Upgradeable, Status: status, Reason: reason, Message: message}
}

// list names the first few, in order, and counts the others.
func list(names []string) string {
	slices.Sort(names)
	if more := len(names) - maxNamed; more > 0 {
		return fmt.Sprintf("%s and %d more", strings.Join(names[:maxNamed], ", "), more)
	}
	return strings.Join(names, ", ")
}
