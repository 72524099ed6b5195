// SPDX-License-Identifier: Apache-2.0

package reconcilers

import (
	"context"
	"errors"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/client-go/util/workqueue"
	"k8s.io/utils/lru"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/builder"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/manager"
	"sigs.k8s.io/controller-runtime/pkg/metrics"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
	"sigs.k8s.io/controller-runtime/pkg/source"

	cachev1alpha1 "github.com/example/memcached-operator/apis/v1alpha1"
	"github.com/example/memcached-operator/internal/fairqueue"
	"github.com/example/memcached-operator/internal/memory"
	"github.com/example/memcached-operator/reconcilers/apply"
	"github.com/example/memcached-operator/reconcilers/discovery"
	"github.com/example/memcached-operator/reconcilers/pacing"
	"github.com/example/memcached-operator/reconcilers/preflight"
	"github.com/example/memcached-operator/reconcilers/render"
)

// controllerName is the controller's name in metrics and logs.
const controllerName = "memcached"

// reconcileTimeout bounds one reconcile. A slow API server makes it fail, and it is retried.
const reconcileTimeout = 2 * time.Minute

// A reconcile that failed is retried after firstRetry, which doubles up to lastRetry. The default of controller-runtime is
// a quarter of an hour.
const (
	firstRetry = 5 * time.Millisecond
	lastRetry  = 3 * time.Minute
)

// DefaultMaxRolling is the default of Options.MaxRolling.
const DefaultMaxRolling = "10%"

// Options configure a Reconciler.
type Options struct {
	// Renderer renders the templates.
	Renderer *render.Renderer
	// Preflight is what preflight.Check found at the API server.
	Preflight *preflight.Result
	// Concurrency is the number of Memcacheds that are reconciled at once.
	Concurrency int
	// MaxRolling is how many Memcacheds may replace their pods at the same time after a change of the templates:
	// a number, or a percentage of all. The zero value means DefaultMaxRolling.
	MaxRolling intstr.IntOrString
	// OnWarm, which may be nil, is called once when the caches and the queue are filled. A
	// replica that became the leader earlier would delay changes.
	OnWarm func()
	// Denied, which may be nil, is called at each discovery with the RBAC rules that the operator lacks in some of the
	// watched namespaces, by namespace.
	Denied func(map[string]string)
	// DiscoveryInterval is the interval at which the API server is asked whether it serves the
	// optional kinds, and for the permissions in watched namespaces. The zero value means five minutes.
	DiscoveryInterval time.Duration
}

// New returns a Reconciler that uses the clients of mgr, whose cache must have the options that
// CacheOptions returns.
func New(mgr ctrl.Manager, options Options) *Reconciler {
	pendingWrites, contention := apply.NewPendingWrites(mgr.GetScheme()), apply.NewContention(time.Now)
	watches := &watches{mgr: mgr, pendingWrites: pendingWrites, kinds: map[schema.GroupVersionKind]bool{}}
	r := &Reconciler{
		client: mgr.GetClient(),
		live:   mgr.GetAPIReader(),
		newApplier: func(types *apply.Types) *apply.Applier {
			return apply.New(mgr.GetClient(), mgr.GetAPIReader(), types, pendingWrites,
				apply.Options{Reduce: reduce, Contention: contention})
		},
		rendered:      lru.New(maxRendered),
		pendingWrites: pendingWrites,
		contention:    contention,
		watches:       watches,
		recorder:      newRecorder(mgr.GetEventRecorder(apply.FieldManager)),
		now:           time.Now,
		concurrency:   options.Concurrency,
		onWarm:        options.OnWarm,
		queue: fairqueue.New(controllerName,
			workqueue.NewTypedItemExponentialFailureRateLimiter[reconcile.Request](firstRetry, lastRetry), options.Concurrency),
	}
	if options.MaxRolling == (intstr.IntOrString{}) {
		options.MaxRolling = intstr.FromString(DefaultMaxRolling)
	}
	first := discovery.NewTemplates(options.Renderer, options.Preflight)
	if options.Denied == nil {
		options.Denied = func(map[string]string) {}
	}
	r.optional = discovery.New(first, r.use, options.Denied, watches, options.DiscoveryInterval)
	r.templates.Store(&templateSet{first, r.newApplier(options.Preflight.Types), pacing.New(options.MaxRolling, r.memcachedKeys, r.enqueue, time.Now)})
	return r
}

// SetupWithManager adds the controller, its indexes and its watches to mgr.
func (r *Reconciler) SetupWithManager(ctx context.Context, mgr ctrl.Manager) error {
	if err := mgr.GetFieldIndexer().IndexField(ctx, &corev1.Pod{}, podIndex, indexPod); err != nil {
		return fmt.Errorf("indexing pods: %w", err)
	}
	c, err := ctrl.NewControllerManagedBy(mgr).
		Named(controllerName).
		For(&cachev1alpha1.Memcached{}, builder.WithPredicates(specChanged, changed(r.pendingWrites))).
		Watches(&cachev1alpha1.Memcached{}, batched(&handler.EnqueueRequestForObject{}), builder.WithPredicates(statusChanged, changed(r.pendingWrites))).
		Watches(&corev1.Pod{}, batched(handler.EnqueueRequestsFromMapFunc(mapPodToMemcached)), builder.WithPredicates(changed(r.pendingWrites))).
		WatchesRawSource(source.Channel(r.optional.Changed(), handler.EnqueueRequestsFromMapFunc(r.mapToAllMemcacheds))).
		WithOptions(controller.Options{
			MaxConcurrentReconciles: r.concurrency,
			ReconciliationTimeout:   reconcileTimeout,
			// Caches and queue are filled before the replica holds the lease, so that a new
			// leader reconciles at once.
			EnableWarmup: new(true),
			NewQueue: func(string, workqueue.TypedRateLimiter[reconcile.Request]) workqueue.TypedRateLimitingInterface[reconcile.Request] {
				return r.queue
			},
		}).
		Build(r)
	if err != nil {
		return fmt.Errorf("setting up the controller: %w", err)
	}
	if err := mgr.Add(&warmup{c, r.onWarm}); err != nil {
		return fmt.Errorf("setting up the controller: %w", err)
	}
	r.watches.controller = c
	for _, kind := range r.templates.Load().Found.Kinds {
		if err := r.watches.Watch(ctx, kind); err != nil {
			return err
		}
	}
	if err := errors.Join(mgr.Add(r.optional), mgr.Add(manager.RunnableFunc(r.optional.Lead))); err != nil {
		return fmt.Errorf("setting up the discovery of optional kinds: %w", err)
	}
	counts := newMemcacheds()
	informer, err := mgr.GetCache().GetInformer(ctx, &cachev1alpha1.Memcached{}, cache.BlockUntilSynced(false))
	if err != nil {
		return fmt.Errorf("watching Memcacheds: %w", err)
	}
	if err := counts.watch(informer); err != nil {
		return fmt.Errorf("counting Memcacheds: %w", err)
	}
	// A second manager in one process, as in tests, is not counted.
	_ = metrics.Registry.Register(counts)
	_ = metrics.Registry.Register(pacingCollector{r})
	return nil
}

// DiscoverKinds asks the API server which optional kinds it serves, and watches them. It is called after SetupWithManager, and
// may be called again after an error.
func (r *Reconciler) DiscoverKinds(ctx context.Context) error {
	_, err := r.optional.Refresh(ctx)
	return err
}

// warmup calls done when the controller has filled its caches and its queue. It runs in every
// replica.
type warmup struct {
	controller controller.Controller
	done       func()
}

// NeedLeaderElection implements manager.LeaderElectionRunnable.
func (w *warmup) NeedLeaderElection() bool { return false }

// Start implements manager.Runnable.
func (w *warmup) Start(ctx context.Context) error {
	memory.Begin(memory.Many)
	defer memory.End(memory.Many)
	// The manager calls Warmup too, without waiting for it; the second call waits for the first.
	warmer, ok := w.controller.(interface{ Warmup(context.Context) error })
	if !ok {
		return fmt.Errorf("%T has no Warmup", w.controller)
	}
	if err := warmer.Warmup(ctx); err != nil {
		return fmt.Errorf("syncing the caches: %w", err)
	}
	if w.done != nil {
		w.done()
	}
	return nil
}
