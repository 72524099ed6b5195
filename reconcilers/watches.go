// SPDX-License-Identifier: Apache-2.0

package reconcilers

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/util/workqueue"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/builder"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/log"
	"sigs.k8s.io/controller-runtime/pkg/metrics"
	"sigs.k8s.io/controller-runtime/pkg/predicate"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
	"sigs.k8s.io/controller-runtime/pkg/source"

	cachev1alpha1 "github.com/example/memcached-operator/apis/v1alpha1"
	"github.com/example/memcached-operator/reconcilers/apply"
	"github.com/example/memcached-operator/reconcilers/fairqueue"
	"github.com/example/memcached-operator/reconcilers/memory"
	"github.com/example/memcached-operator/reconcilers/preflight"
	"github.com/example/memcached-operator/reconcilers/render"
)

// podIndex is the name of the cache index of pods by the Memcached they belong to.
const podIndex = "memcached"

// Options are what a Reconciler needs beside the manager.
type Options struct {
	// Renderer holds the templates.
	Renderer *render.Renderer
	// Found is what the API server was found to have.
	Found *preflight.Findings
	// Concurrency is how many Memcacheds are reconciled at once.
	Concurrency int
	// Recheck is how soon a name that somebody else holds is looked at again, at the
	// earliest; at the latest after five times as long. The zero value means a minute.
	Recheck time.Duration
	// Warm, which may be nil, is called once when the caches and the queue are filled. Whoever
	// leads before that would keep a change waiting.
	Warm func()
	// LookEvery is how often the API server is asked whether it serves optional kinds
	// now, and whether it still does. The zero value means five minutes.
	LookEvery time.Duration
}

// New returns a Reconciler that works through mgr, whose cache has the options that
// CacheOptions gives.
func New(mgr ctrl.Manager, options Options) *Reconciler {
	recent := apply.NewRecent(mgr.GetScheme())
	return &Reconciler{
		client:      mgr.GetClient(),
		renderer:    options.Renderer,
		applier:     apply.New(mgr.GetClient(), mgr.GetAPIReader(), options.Found.Types, recent, apply.Options{Reduce: reduce, Recheck: options.Recheck}),
		recent:      recent,
		kinds:       options.Found.Kinds,
		optional:    newOptional(options),
		events:      mgr.GetEventRecorder(apply.FieldManager),
		now:         time.Now,
		recheck:     cmp.Or(options.Recheck, recheckAfter),
		concurrency: options.Concurrency,
		warm:        options.Warm,
	}
}

// warmup calls done once the controller has filled its caches and its queue, which every
// replica does.
type warmup struct {
	controller controller.Controller
	done       func()
}

// NeedLeaderElection implements manager.LeaderElectionRunnable.
func (w *warmup) NeedLeaderElection() bool { return false }

// Start implements manager.Runnable.
func (w *warmup) Start(ctx context.Context) error {
	memory.Begin()
	defer memory.End()
	// The manager calls it too, and does not wait; whoever comes second waits for the first.
	warmer, ok := w.controller.(interface{ Warmup(context.Context) error })
	if !ok {
		return fmt.Errorf("%T has no Warmup", w.controller)
	}
	if err := warmer.Warmup(ctx); err != nil {
		return fmt.Errorf("filling the caches: %w", err)
	}
	if w.done != nil {
		w.done()
	}
	return nil
}

// SetUp adds r to mgr: the indexes that it reads by, and what wakes it.
func (r *Reconciler) SetUp(ctx context.Context, mgr ctrl.Manager) error {
	if err := mgr.GetFieldIndexer().IndexField(ctx, &corev1.Pod{}, podIndex, indexPod); err != nil {
		return fmt.Errorf("indexing pods: %w", err)
	}
	c, err := ctrl.NewControllerManagedBy(mgr).
		Named("memcached").
		For(&cachev1alpha1.Memcached{}, builder.WithPredicates(changedByOthers(r.recent))).
		Watches(&corev1.Pod{}, handler.EnqueueRequestsFromMapFunc(podOwner), builder.WithPredicates(podChanged)).
		WatchesRawSource(source.Channel(r.optional.changed, handler.EnqueueRequestsFromMapFunc(r.everyMemcached))).
		WithOptions(controller.Options{
			MaxConcurrentReconciles: r.concurrency,
			ReconciliationTimeout:   reconcileTimeout,
			// Caches and queue are filled before the lease is held, so that a new leader
			// serves at once.
			EnableWarmup: new(true),
			NewQueue:     r.newQueue,
		}).
		Build(r)
	if err != nil {
		return fmt.Errorf("setting up the controller: %w", err)
	}
	if err := mgr.Add(&warmup{c, r.warm}); err != nil {
		return fmt.Errorf("setting up the controller: %w", err)
	}
	r.optional.watcher = &watcher{mgr: mgr, controller: c, recent: r.recent}
	for _, kind := range r.kinds {
		if err := r.optional.watcher.add(ctx, kind); err != nil {
			return err
		}
	}
	if _, err := r.optional.look(ctx); err != nil {
		return err
	}
	if err := mgr.Add(r.optional); err != nil {
		return fmt.Errorf("setting up the look for optional kinds: %w", err)
	}
	counts := newMemcacheds()
	informer, err := mgr.GetCache().GetInformer(ctx, &cachev1alpha1.Memcached{}, cache.BlockUntilSynced(false))
	if err != nil {
		return fmt.Errorf("watching Memcacheds: %w", err)
	}
	if err := counts.watch(informer); err != nil {
		return fmt.Errorf("counting Memcacheds: %w", err)
	}
	// A second manager in one process (as in tests) counts for itself.
	_ = metrics.Registry.Register(counts)
	return nil
}

// newQueue returns the controller's work queue, in which namespaces take turns.
func (r *Reconciler) newQueue(name string, limiter workqueue.TypedRateLimiter[reconcile.Request]) workqueue.TypedRateLimitingInterface[reconcile.Request] {
	return fairqueue.New(name, limiter, r.concurrency)
}

// reconcileTimeout bounds a reconcile: one of a slow API server ends, and is tried again.
const reconcileTimeout = 2 * time.Minute

// syncTimeout is how long a kind that is watched from some time on may take until its
// objects are in the cache.
const syncTimeout = time.Minute

// watcher begins and ends to watch kinds of children.
type watcher struct {
	mgr        ctrl.Manager
	controller controller.Controller
	recent     *apply.Recent
	// live says that the caches have been started.
	live bool
}

// add indexes and watches kind. Once it returns, the cache of a live manager has its
// objects.
func (w *watcher) add(ctx context.Context, kind schema.GroupVersionKind) error {
	object, err := apply.NewObject(w.mgr.GetScheme(), kind)
	if err != nil {
		return err
	}
	informer, err := w.mgr.GetCache().GetInformer(ctx, object, cache.BlockUntilSynced(false))
	if err != nil {
		return fmt.Errorf("watching %s objects: %w", kind.Kind, err)
	}
	if err := informer.AddIndexers(apply.OwnerIndexers); err != nil {
		return fmt.Errorf("indexing %s objects: %w", kind.Kind, err)
	}
	if w.live {
		if err := w.sync(ctx, object); err != nil {
			return errors.Join(err, w.remove(ctx, kind))
		}
	}
	owner := handler.EnqueueRequestForOwner(w.mgr.GetScheme(), w.mgr.GetRESTMapper(), &cachev1alpha1.Memcached{}, handler.OnlyControllerOwner())
	err = w.controller.Watch(source.Kind(w.mgr.GetCache(), object, owner, changedByOthers(w.recent)))
	if err != nil {
		return fmt.Errorf("watching %s objects: %w", kind.Kind, err)
	}
	return nil
}

// sync waits until the cache holds the objects of object's kind.
func (w *watcher) sync(ctx context.Context, object client.Object) error {
	ctx, cancel := context.WithTimeout(ctx, syncTimeout)
	defer cancel()
	if _, err := w.mgr.GetCache().GetInformer(ctx, object); err != nil {
		return fmt.Errorf("listing %s objects: %w", object.GetObjectKind().GroupVersionKind().Kind, err)
	}
	return nil
}

// remove ends the watch of kind and empties the cache of it.
func (w *watcher) remove(ctx context.Context, kind schema.GroupVersionKind) error {
	object, err := apply.NewObject(w.mgr.GetScheme(), kind)
	if err != nil {
		return err
	}
	return w.mgr.GetCache().RemoveInformer(ctx, object)
}

// everyMemcached maps anything to all Memcacheds.
func (r *Reconciler) everyMemcached(ctx context.Context, _ client.Object) []reconcile.Request {
	list := &cachev1alpha1.MemcachedList{}
	// Only read, never changed: no copy is needed.
	if err := r.client.List(ctx, list, client.UnsafeDisableDeepCopy); err != nil {
		log.FromContext(ctx).Error(err, "listing the Memcacheds")
		return nil
	}
	var requests []reconcile.Request
	for _, mc := range list.Items {
		requests = append(requests, reconcile.Request{NamespacedName: client.ObjectKeyFromObject(&mc)})
	}
	return requests
}

// indexPod is the function of podIndex.
func indexPod(object client.Object) []string {
	return []string{object.GetLabels()[podOwnerLabel]}
}

// podOwner maps a pod to the Memcached that its label names.
func podOwner(_ context.Context, pod client.Object) []reconcile.Request {
	return []reconcile.Request{{NamespacedName: types.NamespacedName{
		Namespace: pod.GetNamespace(),
		Name:      pod.GetLabels()[podOwnerLabel],
	}}}
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

// changedByOthers returns a predicate that drops events which need no reconcile: those of a
// state that the operator wrote itself, since that reconcile has seen the server's answer, and
// updates of what the cache does not keep, such as annotations of a Memcached. It also keeps
// recent in step with the cache.
func changedByOthers(recent *apply.Recent) predicate.Predicate {
	return predicate.Funcs{
		CreateFunc: func(e event.CreateEvent) bool { return !recent.Confirm(e.Object) },
		UpdateFunc: func(e event.UpdateEvent) bool {
			// What the cache showed last is older than the write then, and tells nothing.
			pending := recent.IsPending(e.ObjectNew)
			return !recent.Confirm(e.ObjectNew) && (pending || !apply.IsSameButForVersion(e.ObjectOld, e.ObjectNew))
		},
		// An object that was relabelled looks deleted.
		DeleteFunc: func(e event.DeleteEvent) bool {
			recent.Forget(e.Object)
			return true
		},
	}
}
