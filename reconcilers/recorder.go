// SPDX-License-Identifier: Apache-2.0

package reconcilers

import (
	"context"
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/client-go/tools/events"
	"k8s.io/utils/lru"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/log"

	cachev1alpha1 "github.com/example/memcached-operator/apis/v1alpha1"
	"github.com/example/memcached-operator/internal/sanitize"
	"github.com/example/memcached-operator/reconcilers/apply"
	"github.com/example/memcached-operator/reconcilers/status"
)

// The reasons of events that are not reasons of conditions. Each has an action of its own: the
// events API counts events of one reason and action as a series and keeps the note of the first.
const (
	reasonCreated             = "Created"
	reasonConfigured          = "Configured"
	reasonPruned              = "Pruned"
	reasonModifiedByAdmission = "ModifiedByAdmission"
	reasonKindUnavailable     = "KindUnavailable"
	reasonRolloutHalted       = "RolloutHalted"
	reasonRestarted           = "Restarted"
	reasonReplacesPods        = "ReplacesPods"
)

// maxFields bounds the number of fields of an object that an event names.
const maxFields = 5

// maxWarned bounds the number of Memcacheds whose warnings are remembered.
const maxWarned = 4096

// recorder logs what reconciles change, counts it and emits events. A reconcile that changes
// nothing emits none.
type recorder struct {
	events events.EventRecorder
	// warned holds, by UID, the reasons of the warnings since the Memcached was last ready. A pod
	// in a crash loop alternates between reasons; each is reported once.
	warned *lru.Cache
}

func newRecorder(events events.EventRecorder) recorder {
	return recorder{events: events, warned: lru.New(maxWarned)}
}

// record records a reconcile that observed the Memcached, pruned objects and computed the status next.
func (r recorder) record(ctx context.Context, observed status.Observation, pruned []client.Object, next cachev1alpha1.MemcachedStatus) {
	count(observed.Results, pruned)
	r.recordChanges(ctx, observed.Memcached, observed.Results, pruned)
	r.recordMutation(ctx, observed)
	mc := observed.Memcached
	for _, news := range []struct{ reason, action, note string }{
		{reasonKindUnavailable, "Skip", observed.SkippedKindsNote()},
		{reasonRestarted, "Restart", observed.RestartNote()},
	} {
		ready := meta.FindStatusCondition(mc.Status.Conditions, cachev1alpha1.ConditionReady)
		if news.note != "" && (ready == nil || !strings.Contains(ready.Message, news.note)) {
			r.warn(mc, news.reason, news.action, news.note)
		}
	}
	for _, result := range observed.Results {
		if refused := result.InPlace.Refused; refused != "" && result.Action == apply.Configured {
			r.warn(mc, reasonReplacesPods, "RollOut", "the pods are replaced, since their images cannot be changed in place: "+refused)
		}
	}
	r.recordProblem(ctx, mc, next)
}

// count counts the objects by kind and action.
func count(results []apply.Result, pruned []client.Object) {
	for _, result := range results {
		objects.WithLabelValues(result.Object.GetKind(), string(result.Action)).Inc()
	}
	for _, object := range pruned {
		objects.WithLabelValues(object.GetObjectKind().GroupVersionKind().Kind, "pruned").Inc()
	}
}

// recordChanges logs what was created, configured and pruned, and emits one event for each of the
// three that lists the objects.
func (r recorder) recordChanges(ctx context.Context, mc *cachev1alpha1.Memcached, results []apply.Result, pruned []client.Object) {
	created := namesByAction(results, apply.Created)
	configured := namesByAction(results, apply.Configured)
	var deleted []string
	for _, object := range pruned {
		deleted = append(deleted, object.GetObjectKind().GroupVersionKind().Kind+" "+object.GetName())
	}
	var logged []any
	for _, change := range []struct {
		reason, action string
		names          []string
	}{
		{reasonCreated, "Create", created},
		{reasonConfigured, "Configure", configured},
		{reasonPruned, "Prune", deleted},
	} {
		if len(change.names) == 0 {
			continue
		}
		logged = append(logged, strings.ToLower(change.reason), change.names)
		r.event(mc, corev1.EventTypeNormal, change.reason, change.action, change.reason+" "+strings.Join(change.names, ", "))
	}
	if len(logged) > 0 {
		log.FromContext(ctx).Info("Applied", logged...)
	}
}

// namesByAction returns kind and name of the objects of results that have action, and the fields that changed.
func namesByAction(results []apply.Result, action apply.Action) []string {
	var names []string
	for _, result := range results {
		if result.Action == action {
			names = append(names, result.Object.GetKind()+" "+result.Object.GetName()+fieldsOf(result))
		}
	}
	return names
}

// fieldsOf returns the fields that result changed, in parentheses, or "" if they are not known.
func fieldsOf(result apply.Result) string {
	fields := slices.Clone(result.Fields[:min(maxFields, len(result.Fields))])
	if more := len(result.Fields) - len(fields); more > 0 {
		fields = append(fields, fmt.Sprintf("%d more", more))
	}
	if len(fields) == 0 {
		return ""
	}
	return " (" + strings.Join(fields, ", ") + ")"
}

// recordMutation reports objects that were found to differ from what was applied.
func (r recorder) recordMutation(ctx context.Context, observed status.Observation) {
	var modified []string
	for _, result := range observed.Results {
		if result.NewMutation {
			name := result.Object.GetKind() + " " + result.Object.GetName()
			modified = append(modified, sanitize.Text(name+" ("+result.Mutation+")"))
		}
	}
	if len(modified) == 0 {
		return
	}
	log.FromContext(ctx).Info("Applied object was modified by admission", "objects", modified)
	r.warn(observed.Memcached, reasonModifiedByAdmission, "Apply",
		"a mutating admission policy or webhook modified fields of applied objects, which are left as they are: "+strings.Join(modified, ", "))
}

// recordProblem emits a warning when the Memcached becomes stalled, or not ready for a reason other
// than a rollout.
func (r recorder) recordProblem(ctx context.Context, mc *cachev1alpha1.Memcached, next cachev1alpha1.MemcachedStatus) {
	if meta.IsStatusConditionTrue(next.Conditions, cachev1alpha1.ConditionReady) {
		r.warned.Remove(mc.UID)
		return
	}
	if stalled := meta.FindStatusCondition(next.Conditions, cachev1alpha1.ConditionStalled); stalled != nil {
		if isNewlyStalled(mc.Status, next) {
			log.FromContext(ctx).Info("Stalled", "reason", stalled.Reason, "message", stalled.Message)
			r.warn(mc, stalled.Reason, "Reconcile", stalled.Message)
		}
		return
	}
	reconciling := meta.FindStatusCondition(next.Conditions, cachev1alpha1.ConditionReconciling)
	if reconciling != nil && !isProgress(reconciling.Reason) && r.isNewReason(mc, reconciling.Reason) {
		r.warn(mc, reconciling.Reason, "Reconcile", reconciling.Message)
	}
}

// isProgress reports whether a Reconciling condition with reason is part of a normal rollout.
func isProgress(reason string) bool {
	return reason == cachev1alpha1.ReasonRollingOut || reason == cachev1alpha1.ReasonWaitingForDeletion
}

// isNewReason reports whether mc has not been not ready for reason since it was last ready, and
// remembers reason. After a restart only the reason in its status is known.
func (r recorder) isNewReason(mc *cachev1alpha1.Memcached, reason string) bool {
	var reasons []string
	if known, ok := r.warned.Get(mc.UID); ok {
		reasons = known.([]string)
	} else if ready := meta.FindStatusCondition(mc.Status.Conditions, cachev1alpha1.ConditionReady); ready != nil {
		reasons = []string{ready.Reason}
	}
	isNew := !slices.Contains(reasons, reason)
	if isNew {
		reasons = append(slices.Clip(reasons), reason)
	}
	r.warned.Add(mc.UID, reasons)
	return isNew
}

// isNewlyStalled reports whether next is stalled and last was not, or was with another message.
func isNewlyStalled(last, next cachev1alpha1.MemcachedStatus) bool {
	before := meta.FindStatusCondition(last.Conditions, cachev1alpha1.ConditionStalled)
	after := meta.FindStatusCondition(next.Conditions, cachev1alpha1.ConditionStalled)
	return after != nil && (before == nil || before.Message != after.Message)
}

func (r recorder) warn(mc *cachev1alpha1.Memcached, reason, action, note string) {
	r.event(mc, corev1.EventTypeWarning, reason, action, note)
}

func (r recorder) event(mc *cachev1alpha1.Memcached, eventType, reason, action, note string) {
	r.events.Eventf(mc, nil, eventType, reason, action, "%s", sanitize.Text(note))
}
