// SPDX-License-Identifier: Apache-2.0

package reconcilers

import (
	"context"
	"time"

	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/util/workqueue"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/priorityqueue"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/handler"
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

// changed returns a predicate that drops an update which changes nothing that the cache keeps, such as one of the status of a
// PodDisruptionBudget, unless a write of the operator may lie between the two versions: then it may be the reversal
// of that. It also records in pending the deletions that the cache has seen.
func changed(pending *apply.PendingWrites) predicate.Predicate {
	return predicate.Funcs{
		UpdateFunc: func(e event.UpdateEvent) bool {
			return pending.IsPending(e.ObjectNew) || !apply.EqualIgnoringVersion(e.ObjectOld, e.ObjectNew)
		},
		// An object that loses our label is reported as deleted.
		DeleteFunc: func(e event.DeleteEvent) bool {
			pending.ObserveDelete(e.Object)
			return true
		},
	}
}

// batchDelay is how long the events of objects, pods and status wait for further ones: a write of the operator causes several,
// its own and those of the controllers that react to it. A change of a Memcached's spec does not wait.
const batchDelay = 100 * time.Millisecond

// batched returns h, whose requests are delayed by batchDelay, so that the events of that time start one reconcile.
func batched(h handler.EventHandler) handler.EventHandler {
	return handler.Funcs{
		CreateFunc: func(ctx context.Context, e event.CreateEvent, q queue) { h.Create(ctx, e, batch(q)) },
		UpdateFunc: func(ctx context.Context, e event.UpdateEvent, q queue) { h.Update(ctx, e, batch(q)) },
		DeleteFunc: func(ctx context.Context, e event.DeleteEvent, q queue) { h.Delete(ctx, e, batch(q)) },
	}
}

type queue = workqueue.TypedRateLimitingInterface[reconcile.Request]

// batchQueue delays what is added to a queue, except with low priority: at the start, no event follows.
type batchQueue struct {
	priorityqueue.PriorityQueue[reconcile.Request]
}

func batch(q queue) queue { return batchQueue{q.(priorityqueue.PriorityQueue[reconcile.Request])} }

func (q batchQueue) Add(request reconcile.Request) {
	q.AddWithOpts(priorityqueue.AddOpts{}, request)
}

func (q batchQueue) AddWithOpts(options priorityqueue.AddOpts, requests ...reconcile.Request) {
	if options.Priority == nil || *options.Priority >= 0 {
		options.After = max(options.After, batchDelay)
	}
	q.PriorityQueue.AddWithOpts(options, requests...)
}

// specChanged passes the events of a Memcached but the updates without another spec, which statusChanged passes.
var (
	specChanged   = predicate.Funcs{UpdateFunc: isSpecChange}
	statusChanged = predicate.Funcs{
		CreateFunc: func(event.CreateEvent) bool { return false },
		UpdateFunc: func(e event.UpdateEvent) bool { return !isSpecChange(e) },
		DeleteFunc: func(event.DeleteEvent) bool { return false },
	}
)

func isSpecChange(e event.UpdateEvent) bool {
	return e.ObjectOld.GetUID() != e.ObjectNew.GetUID() || e.ObjectOld.GetGeneration() != e.ObjectNew.GetGeneration()
}
