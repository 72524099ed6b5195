// SPDX-License-Identifier: Apache-2.0

package reconcilers

import (
	"context"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/log"
	"sigs.k8s.io/controller-runtime/pkg/predicate"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/example/memcached-operator/reconcilers/apply"
)

// podIndex is the name of the cache index of pods by the name of their Memcached.
const podIndex = "memcached"

// indexPod is the index function of podIndex.
func indexPod(object client.Object) []string {
	return []string{object.GetLabels()[podOwnerLabel]}
}

// mapPodToMemcached maps a pod to the Memcached that its label names.
func mapPodToMemcached(_ context.Context, pod client.Object) []reconcile.Request {
	return []reconcile.Request{{NamespacedName: types.NamespacedName{
		Namespace: pod.GetNamespace(),
		Name:      pod.GetLabels()[podOwnerLabel],
	}}}
}

// mapToAllMemcacheds maps any object to all Memcacheds.
func (r *Reconciler) mapToAllMemcacheds(ctx context.Context, _ client.Object) []reconcile.Request {
	keys, err := r.memcachedKeys(ctx)
	if err != nil {
		log.FromContext(ctx).Error(err, "Listing Memcacheds failed")
		return nil
	}
	var requests []reconcile.Request
	for _, key := range keys {
		requests = append(requests, reconcile.Request{NamespacedName: key})
	}
	return requests
}

// podChanged passes updates that change what the cache keeps of a pod.
var podChanged = predicate.Funcs{UpdateFunc: func(e event.UpdateEvent) bool {
	before, ok := e.ObjectOld.(*corev1.Pod)
	after, ok2 := e.ObjectNew.(*corev1.Pod)
	if !ok || !ok2 {
		return true
	}
	return before.UID != after.UID ||
		before.DeletionTimestamp.IsZero() != after.DeletionTimestamp.IsZero() ||
		!equality.Semantic.DeepEqual(before.Labels, after.Labels) ||
		!equality.Semantic.DeepEqual(before.OwnerReferences, after.OwnerReferences) ||
		!equality.Semantic.DeepEqual(before.Status, after.Status)
}}

// ownWriteFilter returns a predicate that drops the events of the operator's own writes, whose
// answers the reconcile has seen, and updates of fields that the cache does not keep, such as the
// annotations of a Memcached. It also records in pending what the cache has seen.
func ownWriteFilter(pending *apply.PendingWrites) predicate.Predicate {
	return predicate.Funcs{
		CreateFunc: func(e event.CreateEvent) bool { return !pending.Observe(e.Object) },
		UpdateFunc: func(e event.UpdateEvent) bool {
			// While a write is pending, ObjectOld is older than that write, so that comparing
			// with it shows nothing.
			isPending := pending.IsPending(e.ObjectNew)
			return !pending.Observe(e.ObjectNew) && (isPending || !apply.EqualIgnoringVersion(e.ObjectOld, e.ObjectNew))
		},
		// An object that loses our label is reported as deleted.
		DeleteFunc: func(e event.DeleteEvent) bool {
			pending.ObserveDelete(e.Object)
			return true
		},
	}
}
