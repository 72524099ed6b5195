// SPDX-License-Identifier: Apache-2.0

package reconcilers

import (
	"cmp"
	"context"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/managedfields"
	"k8s.io/client-go/util/workqueue"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/builder"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/metrics"
	"sigs.k8s.io/controller-runtime/pkg/predicate"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	cachev1alpha1 "github.com/example/memcached-operator/apis/v1alpha1"
	"github.com/example/memcached-operator/reconcilers/apply"
	"github.com/example/memcached-operator/reconcilers/render"
)

// podIndex is the name of the cache index of pods by the Memcached they belong to.
const podIndex = "memcached"

// Options are what a Reconciler needs beside the manager.
type Options struct {
	// Renderer holds the templates.
	Renderer *render.Renderer
	// Kinds are the kinds to watch and to prune: those of the templates, and those
	// that hold leftovers of earlier templates.
	Kinds []schema.GroupVersionKind
	// Types knows the schema of every one of Kinds.
	Types managedfields.TypeConverter
	// Concurrency is how many Memcacheds are reconciled at once.
	Concurrency int
	// Recheck is how soon a name that somebody else holds is looked at again, at the
	// earliest; at the latest after five times as long. The zero value means a minute.
	Recheck time.Duration
}

// New returns a Reconciler that works through mgr, whose cache has the options that
// CacheOptions gives for the same kinds.
func New(mgr ctrl.Manager, options Options) *Reconciler {
	recent := apply.NewRecent(mgr.GetScheme())
	return &Reconciler{
		client:      mgr.GetClient(),
		renderer:    options.Renderer,
		applier:     apply.New(mgr.GetClient(), mgr.GetAPIReader(), options.Types, recent),
		recent:      recent,
		kinds:       options.Kinds,
		events:      mgr.GetEventRecorder(apply.FieldManager),
		now:         time.Now,
		recheck:     cmp.Or(options.Recheck, recheckAfter),
		concurrency: options.Concurrency,
	}
}

// SetUp adds r to mgr: the indexes that it reads by, and what wakes it.
func (r *Reconciler) SetUp(ctx context.Context, mgr ctrl.Manager) error {
	if err := mgr.GetFieldIndexer().IndexField(ctx, &corev1.Pod{}, podIndex, indexPod); err != nil {
		return fmt.Errorf("indexing pods: %w", err)
	}
	b := ctrl.NewControllerManagedBy(mgr).
		Named("memcached").
		For(&cachev1alpha1.Memcached{}, builder.WithPredicates(predicate.GenerationChangedPredicate{})).
		Watches(&corev1.Pod{}, handler.EnqueueRequestsFromMapFunc(podOwner), builder.WithPredicates(podChanged)).
		WithOptions(controller.Options{
			MaxConcurrentReconciles: r.concurrency,
			// Caches and queue are filled before the lease is held, so that a new leader
			// serves at once.
			EnableWarmup: new(true),
		})
	for _, kind := range r.kinds {
		object, err := apply.NewObject(mgr.GetScheme(), kind)
		if err != nil {
			return err
		}
		if err := mgr.GetFieldIndexer().IndexField(ctx, object, apply.OwnerIndex, apply.IndexOwner); err != nil {
			return fmt.Errorf("indexing %s objects: %w", kind.Kind, err)
		}
		b = b.Watches(object, remembering{
			EventHandler: handler.EnqueueRequestForOwner(mgr.GetScheme(), mgr.GetRESTMapper(), &cachev1alpha1.Memcached{}, handler.OnlyControllerOwner()),
			recent:       r.recent,
		})
	}
	if err := b.Complete(r); err != nil {
		return fmt.Errorf("setting up the controller: %w", err)
	}
	// A second manager in one process (as in tests) counts for itself.
	_ = metrics.Registry.Register(memcacheds{mgr.GetClient()})
	return nil
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
		!equality.Semantic.DeepEqual(before.Status, after.Status)
}}

// remembering is a handler that keeps recent in step with the cache: what the cache
// shows need not be remembered any more. An event that shows nothing but what we
// wrote ourselves wakes nobody: the reconcile that wrote it has judged the answer.
type remembering struct {
	handler.EventHandler
	recent *apply.Recent
}

// Create implements handler.EventHandler.
func (h remembering) Create(ctx context.Context, e event.CreateEvent, queue workqueue.TypedRateLimitingInterface[reconcile.Request]) {
	if !h.recent.Confirm(e.Object) {
		h.EventHandler.Create(ctx, e, queue)
	}
}

// Update implements handler.EventHandler.
func (h remembering) Update(ctx context.Context, e event.UpdateEvent, queue workqueue.TypedRateLimitingInterface[reconcile.Request]) {
	if !h.recent.Confirm(e.ObjectNew) {
		h.EventHandler.Update(ctx, e, queue)
	}
}

// Delete implements handler.EventHandler. An object that was relabelled looks deleted.
func (h remembering) Delete(ctx context.Context, e event.DeleteEvent, queue workqueue.TypedRateLimitingInterface[reconcile.Request]) {
	h.recent.Forget(e.Object)
	h.EventHandler.Delete(ctx, e, queue)
}
