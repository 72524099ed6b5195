// SPDX-License-Identifier: Apache-2.0

package olm

import (
	"fmt"
	"slices"
	"time"

	apiv2 "github.com/operator-framework/api/pkg/operators/v2"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	cachev1alpha1 "github.com/example/memcached-operator/apis/v1alpha1"
)

const (
	// bound is the maximum time for which rollouts block an upgrade, one after the other: a user must not be able to block it for
	// ever. It is three times a Deployment's default progress deadline of 10 minutes, after which a rollout without progress is
	// Stalled and blocks no more.
	bound = 30 * time.Minute

	reasonRollingOut     = cachev1alpha1.ReasonRollingOut
	reasonNoRollOut      = "NoRollOut"
	reasonRollOutOverdue = "RollOutOverdue"
)

// notBegun are the reasons of the condition Reconciling for which no pods are being replaced: a version of the operator that
// cannot write must not block its own replacement.
var notBegun = []string{cachev1alpha1.ReasonApplyFailed, cachev1alpha1.ReasonContended, cachev1alpha1.ReasonWaitingForDeletion}

// nextCondition returns the condition that follows last, the one that the OperatorCondition has or nil, for memcacheds at now. An
// upgrade is blocked from the first rollout on until there is none, for at most bound. The message names one of several. The
// condition has no transition time.
func nextCondition(last *metav1.Condition, memcacheds []cachev1alpha1.Memcached, now time.Time) metav1.Condition {
	next := metav1.Condition{Type: apiv2.Upgradeable, Status: metav1.ConditionTrue, Reason: reasonNoRollOut, Message: "no Memcached is rolling out"}
	blocked := ""
	for i := range memcacheds {
		if !isRollingOut(&memcacheds[i]) {
			continue
		}
		message := "rolling out: " + memcacheds[i].Namespace + "/" + memcacheds[i].Name
		if last != nil && last.Message == message { // Each write is answered by OLM with another.
			blocked = message
			break
		}
		if blocked == "" || message < blocked {
			blocked = message
		}
	}
	switch {
	case blocked == "":
	case last != nil && (last.Reason == reasonRollOutOverdue || last.Status == metav1.ConditionFalse && remaining(*last, now) <= 0):
		next.Reason = reasonRollOutOverdue
		next.Message = fmt.Sprintf("rollouts for more than %s, not blocking the upgrade any longer", bound)
	default:
		next.Status, next.Reason, next.Message = metav1.ConditionFalse, reasonRollingOut, blocked
	}
	return next
}

// remaining returns the time for which c, which is False, may block an upgrade yet. A transition time in the future, by another
// clock, must not extend it.
func remaining(c metav1.Condition, now time.Time) time.Duration {
	return bound - now.Sub(c.LastTransitionTime.Time).Abs()
}

// isRollingOut reports whether mc is rolling out. The kubelet's and the scheduler's reasons count, since its pods are not running yet.
func isRollingOut(mc *cachev1alpha1.Memcached) bool {
	c := meta.FindStatusCondition(mc.Status.Conditions, cachev1alpha1.ConditionReconciling)
	return c != nil && c.Status == metav1.ConditionTrue && mc.DeletionTimestamp == nil && !slices.Contains(notBegun, c.Reason)
}
