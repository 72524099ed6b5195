// SPDX-License-Identifier: Apache-2.0

package reconcilers

import (
	"context"
	"slices"

	appsv1 "k8s.io/api/apps/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/log"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	cachev1alpha1 "github.com/example/memcached-operator/apis/v1alpha1"
	"github.com/example/memcached-operator/reconcilers/apply"
	"github.com/example/memcached-operator/reconcilers/pacing"
	"github.com/example/memcached-operator/reconcilers/status"
)

// mayReplacePods returns the Owner.MayReplacePods of mc. It is nil if the Memcached has not been
// ready with its present spec: a change of the spec never waits. The size does not count: who scales does not ask for other pods.
func mayReplacePods(ctx context.Context, templates *templateSet, mc *cachev1alpha1.Memcached) func(outdated string) bool {
	if !status.WasReady(mc) {
		return nil
	}
	return func(outdated string) bool {
		return templates.pacing.MayReplacePods(ctx, pacing.Candidate{
			NamespacedName: client.ObjectKeyFromObject(mc),
			Outdated:       outdated,
			Ready:          meta.IsStatusConditionTrue(mc.Status.Conditions, cachev1alpha1.ConditionReady),
			Size:           ptr.Deref(mc.Spec.Size, 1),
		})
	}
}

// isDeferred reports whether a replacement of pods was deferred.
func isDeferred(results []apply.Result) bool {
	return slices.ContainsFunc(results, func(result apply.Result) bool { return result.Action == apply.Deferred })
}

// reportToPacing reports the outcome of a reconcile that computed the status next.
func (r *Reconciler) reportToPacing(ctx context.Context, templates *templateSet, observed status.Observation, next cachev1alpha1.MemcachedStatus) {
	ready := meta.FindStatusCondition(next.Conditions, cachev1alpha1.ConditionReady)
	halted := templates.pacing.Report(ctx, client.ObjectKeyFromObject(observed.Memcached), pacing.Outcome{
		Deferred:  isDeferred(observed.Results),
		NotReady:  ready.Status == metav1.ConditionFalse && status.WasReady(observed.Memcached),
		Replacing: isReplacingPods(observed.Deployment),
		Stalled:   meta.IsStatusConditionTrue(next.Conditions, cachev1alpha1.ConditionStalled),
	})
	if halted {
		log.FromContext(ctx).Info("Rollout of changed templates halted, since this Memcached became stalled", "message", ready.Message)
		r.recorder.warn(observed.Memcached, reasonRolloutHalted, "RollOut",
			"no further Memcacheds are changed to the operator's changed templates, since this one became stalled: "+ready.Message)
	}
}

// isReplacingPods reports whether d, which may be nil, is replacing pods, or has not observed its change yet.
func isReplacingPods(d *appsv1.Deployment) bool {
	if d == nil {
		return false
	}
	s := d.Status
	return s.ObservedGeneration < d.Generation || s.UpdatedReplicas < ptr.Deref(d.Spec.Replicas, 1) || s.Replicas > s.UpdatedReplicas
}

// memcachedKeys returns the names of all Memcacheds.
func (r *Reconciler) memcachedKeys(ctx context.Context) ([]types.NamespacedName, error) {
	list := &cachev1alpha1.MemcachedList{}
	// The items are only read, so that no copy is needed.
	if err := r.client.List(ctx, list, client.UnsafeDisableDeepCopy); err != nil {
		return nil, err
	}
	keys := make([]types.NamespacedName, 0, len(list.Items))
	for i := range list.Items {
		keys = append(keys, client.ObjectKeyFromObject(&list.Items[i]))
	}
	return keys, nil
}

// enqueue adds the Memcached of key to the work queue.
func (r *Reconciler) enqueue(key types.NamespacedName) {
	r.queue.Add(reconcile.Request{NamespacedName: key})
}
