// SPDX-License-Identifier: Apache-2.0

package reconcilers

import (
	"context"
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	metav1ac "k8s.io/client-go/applyconfigurations/meta/v1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/log"

	cachev1alpha1 "github.com/example/memcached-operator/apis/v1alpha1"
	cachev1alpha1ac "github.com/example/memcached-operator/apis/v1alpha1/applyconfiguration/apis/v1alpha1"
	"github.com/example/memcached-operator/reconcilers/apply"
	"github.com/example/memcached-operator/reconcilers/sanitize"
)

// statusFieldManager owns the status of Memcacheds. Like apply.FieldManager, it must
// never change.
const statusFieldManager = apply.FieldManager + "-status"

// writeStatus applies next as the status of mc, unless mc has it. It writes to the
// resourceVersion that was read: where the API server has another one, nothing is written, and
// the error is a StaleOwnerError. overtaken reports that mc changed again meanwhile.
func (r *Reconciler) writeStatus(ctx context.Context, mc *cachev1alpha1.Memcached, next cachev1alpha1.MemcachedStatus) (overtaken bool, err error) {
	if isSameStatus(mc.Status, next) {
		return false, nil
	}
	object := cachev1alpha1ac.Memcached(mc.Name, mc.Namespace).
		WithResourceVersion(mc.ResourceVersion).
		WithStatus(statusConfiguration(next))
	overtaken, err = r.recent.Write(mc, func() (client.Object, error) {
		err := r.client.Status().Apply(ctx, object, client.FieldOwner(statusFieldManager), client.ForceOwnership)
		// The status is all that observe takes from it.
		written := &cachev1alpha1.Memcached{Status: next}
		written.Namespace, written.Name, written.UID = mc.Namespace, mc.Name, mc.UID
		written.ResourceVersion = ptr.Deref(object.ResourceVersion, mc.ResourceVersion)
		return written, err
	})
	switch {
	case apierrors.IsNotFound(err):
		return overtaken, &apply.StaleOwnerError{Reason: "it was deleted"}
	case apierrors.IsConflict(err):
		return overtaken, &apply.StaleOwnerError{Reason: "it was changed or replaced"}
	case err != nil:
		return overtaken, fmt.Errorf("writing the status: %w", err)
	}
	return overtaken, nil
}

// isSameStatus reports whether status is next, apart from conditions of types that the operator
// does not set: those belong to others.
func isSameStatus(status, next cachev1alpha1.MemcachedStatus) bool {
	status.Conditions = slices.DeleteFunc(slices.Clone(status.Conditions), func(c metav1.Condition) bool {
		return !slices.Contains(cachev1alpha1.ConditionTypes, c.Type)
	})
	byType := func(a, b metav1.Condition) int { return strings.Compare(a.Type, b.Type) }
	next.Conditions = slices.SortedFunc(slices.Values(next.Conditions), byType)
	slices.SortFunc(status.Conditions, byType)
	return equality.Semantic.DeepEqual(status, next)
}

func statusConfiguration(s cachev1alpha1.MemcachedStatus) *cachev1alpha1ac.MemcachedStatusApplyConfiguration {
	configuration := cachev1alpha1ac.MemcachedStatus().
		WithReplicas(ptr.Deref(s.Replicas, 0)).
		WithReadyReplicas(ptr.Deref(s.ReadyReplicas, 0)).
		WithEndpoint(s.Endpoint).
		WithObservedGeneration(s.ObservedGeneration).
		WithNodes(s.Nodes...)
	if s.Selector != "" {
		configuration.WithSelector(s.Selector)
	}
	if s.Image != "" {
		configuration.WithImage(s.Image)
	}
	for _, c := range s.Conditions {
		configuration.WithConditions(metav1ac.Condition().
			WithType(c.Type).
			WithStatus(c.Status).
			WithObservedGeneration(c.ObservedGeneration).
			WithLastTransitionTime(c.LastTransitionTime).
			WithReason(c.Reason).
			WithMessage(c.Message))
	}
	return configuration
}

// tell logs, counts and records as events what this reconcile did. One that did
// nothing says nothing.
func (r *Reconciler) tell(ctx context.Context, observed *observation, next cachev1alpha1.MemcachedStatus) {
	mc := observed.Memcached
	var done, changed []string
	for _, result := range observed.Results {
		objects.WithLabelValues(result.Object.GetKind(), string(result.Action)).Inc()
		name := result.Object.GetKind() + " " + result.Object.GetName()
		if result.Action == apply.Created || result.Action == apply.Configured {
			done = append(done, string(result.Action)+" "+name)
		}
		if result.NewDrift {
			changed = append(changed, sanitize.Text(name+" ("+strings.Join(strings.Fields(result.Drift), " ")+")"))
		}
	}
	for _, object := range observed.pruned {
		kind := object.GetObjectKind().GroupVersionKind().Kind
		objects.WithLabelValues(kind, "pruned").Inc()
		done = append(done, "pruned "+kind+" "+object.GetName())
	}
	if len(done) > 0 {
		log.FromContext(ctx).Info("applied", "changes", done)
		r.event(mc, corev1.EventTypeNormal, "Applied", "Apply", strings.Join(done, ", "))
	}
	if len(changed) > 0 {
		log.FromContext(ctx).Info("the server changes what is applied; it is applied again from time to time", "objects", changed)
		r.event(mc, corev1.EventTypeWarning, "ChangedByServer", "Apply",
			"after an apply these fields differ from the templates, so a mutating admission policy or webhook changes them; they are applied again from time to time: "+strings.Join(changed, ", "))
	}
	if note := observed.LeftOutNote(); note != "" {
		ready := meta.FindStatusCondition(mc.Status.Conditions, cachev1alpha1.ConditionReady)
		if ready == nil || !strings.HasSuffix(ready.Message, note) {
			r.event(mc, corev1.EventTypeWarning, "LeftOut", "LeaveOut", note)
		}
	}
	last := meta.FindStatusCondition(mc.Status.Conditions, cachev1alpha1.ConditionStalled)
	now := meta.FindStatusCondition(next.Conditions, cachev1alpha1.ConditionStalled)
	if now != nil && (last == nil || last.Message != now.Message) {
		observed.newlyStalled = true
		log.FromContext(ctx).Info("stalled", "reason", now.Reason, "message", now.Message)
		r.event(mc, corev1.EventTypeWarning, now.Reason, "Apply", now.Message)
	}
}

func (r *Reconciler) event(mc *cachev1alpha1.Memcached, kind, reason, action, note string) {
	r.events.Eventf(mc, nil, kind, reason, action, "%s", sanitize.Text(note))
}
