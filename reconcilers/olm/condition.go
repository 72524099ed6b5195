// SPDX-License-Identifier: Apache-2.0

package olm

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
	// bound is the maximum time for which a rollout blocks an upgrade, counted from its begin: three
	// times a Deployment's default progress deadline of 10 minutes. A rollout without progress is
	// Stalled after one deadline and does not block an upgrade any more; the bound is for slow
	// rollouts, and for users who begin one after the other. A pod of the templates takes about 15 s (probe delay, probe period and
	// minReadySeconds of 5 s each), so the bound suffices for 120 pods that are replaced in sequence.
	bound = 30 * time.Minute

	// maxNamed is the maximum number of Memcacheds in a message.
	maxNamed = 3

	reasonRollingOut     = cachev1alpha1.ReasonRollingOut
	reasonNoRollOut      = "NoRollOut"
	reasonRollOutOverdue = "RollOutOverdue"
)

// notBegun are the reasons of the condition Reconciling for which no pods are being replaced.
var notBegun = []string{cachev1alpha1.ReasonApplyFailed, cachev1alpha1.ReasonContended, cachev1alpha1.ReasonWaitingForDeletion}

// desiredCondition returns the condition for memcacheds at now, where a rollout blocks an upgrade for at most
// bound, and the time after which it has to be computed again if no Memcached changes; 0 means never. The
// condition has no transition time.
func desiredCondition(memcacheds []cachev1alpha1.Memcached, now time.Time, bound time.Duration) (metav1.Condition, time.Duration) {
	var blocking, overdue []string
	var until time.Duration
	for i := range memcacheds {
		mc := &memcacheds[i]
		since := rollingOutSince(mc)
		if since.IsZero() {
			continue
		}
		name := mc.Namespace + "/" + mc.Name
		age := now.Sub(since)
		// Clocks may differ, but a begin in the future must not extend the bound by more than the
		// bound itself.
		if age.Abs() >= bound {
			overdue = append(overdue, name)
			continue
		}
		blocking = append(blocking, name)
		if rest := bound - age; until == 0 || rest < until {
			until = rest
		}
	}
	switch {
	case len(blocking) > 0:
		return condition(metav1.ConditionFalse, reasonRollingOut, "rolling out: "+list(blocking)), until
	case len(overdue) > 0:
		return condition(metav1.ConditionTrue, reasonRollOutOverdue,
			fmt.Sprintf("rolling out for more than %s, not blocking the upgrade any longer: %s", bound, list(overdue))), 0
	default:
		return condition(metav1.ConditionTrue, reasonNoRollOut, "no Memcached is rolling out"), 0
	}
}

// series bounds the time for which rollouts of any Memcacheds block an upgrade, one after the other: a user must not be able to
// block it for ever. A time without rollouts that is as long as the bound ends a series. It is kept in memory.
type series struct{ began, ended time.Time }

// limit returns c, which holds for a time, or the condition that takes its place since the series has lasted for bound.
func (s *series) limit(c metav1.Condition, holds time.Duration, now time.Time, bound time.Duration) (metav1.Condition, time.Duration) {
	if c.Status == metav1.ConditionTrue {
		if s.ended.IsZero() {
			s.ended = now
		}
		return c, holds
	}
	if s.began.IsZero() || !s.ended.IsZero() && now.Sub(s.ended) >= bound {
		s.began = now
	}
	s.ended = time.Time{}
	rest := bound - now.Sub(s.began)
	if rest <= 0 {
		return condition(metav1.ConditionTrue, reasonRollOutOverdue,
			fmt.Sprintf("rollouts for more than %s, not blocking the upgrade any longer; now %s", bound, c.Message)), holds
	}
	return c, min(holds, rest)
}

// rollingOutSince returns when the rollout of mc began, or the zero time when mc is not rolling out. The
// kubelet's and the scheduler's reasons count as a rollout, since its pods are not running yet. ApplyFailed, Contended
// and WaitingForDeletion do not: the rollout has not begun, and a version of the operator that cannot write
// must not block its own replacement.
func rollingOutSince(mc *cachev1alpha1.Memcached) time.Time {
	c := meta.FindStatusCondition(mc.Status.Conditions, cachev1alpha1.ConditionReconciling)
	switch {
	case c == nil || c.Status != metav1.ConditionTrue || mc.DeletionTimestamp != nil:
		return time.Time{}
	case slices.Contains(notBegun, c.Reason):
		return time.Time{}
	default:
		return c.LastTransitionTime.Time
	}
}

// condition returns the condition Upgradeable.
func condition(status metav1.ConditionStatus, reason, message string) metav1.Condition {
	return metav1.Condition{Type: apiv2.Upgradeable, Status: status, Reason: reason, Message: message}
}

// list returns the first names, sorted, and the number of the others.
func list(names []string) string {
	slices.Sort(names)
	if more := len(names) - maxNamed; more > 0 {
		return fmt.Sprintf("%s and %d more", strings.Join(names[:maxNamed], ", "), more)
	}
	return strings.Join(names, ", ")
}
