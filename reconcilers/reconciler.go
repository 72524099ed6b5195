// SPDX-License-Identifier: Apache-2.0

package reconcilers

import (
	"context"
	"errors"
	"reflect"
	"slices"
	"sync/atomic"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/util/workqueue"
	"k8s.io/utils/lru"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/log"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	cachev1alpha1 "github.com/example/memcached-operator/apis/v1alpha1"
	"github.com/example/memcached-operator/internal/memory"
	"github.com/example/memcached-operator/internal/sanitize"
	"github.com/example/memcached-operator/internal/transport"
	"github.com/example/memcached-operator/reconcilers/apply"
	"github.com/example/memcached-operator/reconcilers/discovery"
	"github.com/example/memcached-operator/reconcilers/render"
	"github.com/example/memcached-operator/reconcilers/rollout"
	"github.com/example/memcached-operator/reconcilers/status"
)

// +kubebuilder:rbac:groups=cache.example.com,resources=memcacheds,verbs=get;list;watch
// +kubebuilder:rbac:groups=cache.example.com,resources=memcacheds/status,verbs=patch
// +kubebuilder:rbac:groups=cache.example.com,resources=memcacheds/finalizers,verbs=update
// +kubebuilder:rbac:groups="",resources=pods,verbs=list;watch
// +kubebuilder:rbac:groups=events.k8s.io,resources=events,verbs=create;patch

// Reconciler reconciles Memcacheds. Create it with New.
type Reconciler struct {
	client        client.Client
	pendingWrites *apply.PendingWrites
	contention    *apply.Contention

	templates atomic.Pointer[templateSet]
	// rendered holds the last rendering of some Memcacheds by their UIDs.
	rendered *lru.Cache

	newApplier              func(*apply.Types) *apply.Applier
	optional                *discovery.Watcher
	watches                 *watches
	recorder                recorder
	now                     func() time.Time
	conflictRecheckInterval time.Duration
	concurrency             int
	onWarm                  func()
	// queue is the controller's work queue.
	queue workqueue.TypedRateLimitingInterface[reconcile.Request]
}

// Reconcile renders and applies the objects of the Memcached in req, prunes stale ones and updates
// its status. The returned error, which controller-runtime logs, is sanitized.
func (r *Reconciler) Reconcile(ctx context.Context, req ctrl.Request) (ctrl.Result, error) {
	memory.Begin()
	defer memory.End()
	templates := r.templates.Load()
	var err error
	reported := false
	defer func() { // also after a panic
		if reported || errors.Is(ctx.Err(), context.Canceled) || transport.IsNotSent(err) {
			return
		}
		if templates.rollout.Fail(context.WithoutCancel(ctx), req.NamespacedName) {
			log.FromContext(ctx).Info("Rollout of changed templates goes on without this Memcached, whose reconciles fail")
		}
	}()
	var result ctrl.Result
	result, err = r.reconcile(ctx, req, templates, &reported)
	if errors.Is(ctx.Err(), context.Canceled) {
		// The operator stops. The next leader reconciles every Memcached.
		return ctrl.Result{}, nil
	}
	err = sanitize.Error(err)
	if transport.IsNotSent(err) {
		// Not returned, since every Memcached would log the error.
		log.FromContext(ctx).V(1).Info("Waiting for the API server", "error", err.Error())
		return ctrl.Result{RequeueAfter: disconnectedRequeueInterval}, nil
	}
	return result, err
}

// reconcile sets reported once the rollout has the outcome.
func (r *Reconciler) reconcile(ctx context.Context, req ctrl.Request, templates *templateSet, reported *bool) (ctrl.Result, error) {
	observed, err := r.observe(ctx, req)
	if err != nil {
		return ctrl.Result{}, err
	}
	if observed == nil {
		templates.rollout.Report(ctx, req.NamespacedName, rollout.Outcome{})
		*reported = true
		return ctrl.Result{}, nil
	}
	observed.templates, observed.reported = templates, reported
	if status.IsPaused(observed.Memcached) {
		return r.report(ctx, observed)
	}
	desired, err := r.render(observed)
	if err != nil {
		observed.RenderErr = err
		return r.report(ctx, observed)
	}
	owner := templates.applier.Owner(observed.Memcached)
	owner.MayReplacePods = r.mayReplacePods(ctx, observed)
	if err := r.apply(ctx, observed, owner, desired); err != nil {
		return requeueIfStale(ctx, err, deletionPollInterval)
	}
	if slices.ContainsFunc(observed.Results, func(result apply.Result) bool { return apply.IsRace(result.Err) }) {
		r.recorder.recordChanges(ctx, observed)
		return ctrl.Result{RequeueAfter: raceRequeueInterval}, nil
	}
	if err := r.prune(ctx, observed, owner, desired); err != nil {
		return requeueIfStale(ctx, err, deletionPollInterval)
	}
	return r.report(ctx, observed)
}

// maxRendered bounds the memory of rendered objects, at about 20 KiB per Memcached.
const maxRendered = 128

// rendering is what a Memcached with spec renders to. The objects are only read.
type rendering struct {
	renderer *render.Renderer
	spec     cachev1alpha1.MemcachedSpec
	objects  []*unstructured.Unstructured
	err      error
}

// render returns the objects to apply: the rendered ones without those of unavailable kinds. A change of a Memcached is followed by
// a few reconciles within moments, for the events of its objects; they do not render again.
func (r *Reconciler) render(observed *observation) ([]*unstructured.Unstructured, error) {
	mc, renderer := observed.Memcached, observed.templates.Renderer
	kept, _ := r.rendered.Get(mc.UID)
	last, ok := kept.(rendering)
	if !ok || last.renderer != renderer || !reflect.DeepEqual(last.spec, mc.Spec) {
		start := time.Now()
		last = rendering{renderer: renderer, spec: *mc.Spec.DeepCopy()} // Reading a quantity may change it.
		last.objects, last.err = renderer.Render(mc)
		renderSeconds.Observe(time.Since(start).Seconds())
		r.rendered.Add(mc.UID, last)
	}
	return slices.DeleteFunc(slices.Clone(last.objects), func(object *unstructured.Unstructured) bool {
		reason := observed.templates.Unavailability(object.GroupVersionKind())
		if reason == discovery.Available {
			return false
		}
		observed.skip(object, reason)
		return true
	}), last.err
}

// apply applies desired and collects the results. Objects of a kind that the API server no longer
// serves are skipped. The error is that of owner.Verify.
func (r *Reconciler) apply(ctx context.Context, observed *observation, owner *apply.Owner, desired []*unstructured.Unstructured) error {
	results, err := observed.templates.applier.Apply(ctx, owner, desired)
	for _, result := range results {
		if result.Err != nil && r.optional.Gone(ctx, observed.templates.Templates, result.Object.GroupVersionKind(), result.Err) {
			observed.skip(result.Object, discovery.NotServed)
			continue
		}
		observed.Results = append(observed.Results, result)
	}
	return err
}

// prune deletes the objects that are no longer rendered, if every rendered one has been applied.
// The error is a StaleOwnerError; any other goes to the status.
func (r *Reconciler) prune(ctx context.Context, observed *observation, owner *apply.Owner, desired []*unstructured.Unstructured) error {
	if slices.ContainsFunc(observed.Results, func(r apply.Result) bool {
		return r.Err != nil || r.Action == apply.Waiting || r.Action == apply.Deferred
	}) {
		return nil
	}
	var err error
	observed.pruned, err = observed.templates.applier.Prune(ctx, owner, observed.templates.Kinds(), desired)
	if stale, ok := errors.AsType[*apply.StaleOwnerError](err); ok {
		return stale
	}
	observed.PruneErr = err
	return nil
}

// report computes the status, records what the reconcile changed and writes the status.
func (r *Reconciler) report(ctx context.Context, observed *observation) (ctrl.Result, error) {
	if err := ctx.Err(); err != nil {
		// Requests failed because ctx ended, which is no failure to report.
		r.recorder.recordChanges(ctx, observed)
		return ctrl.Result{}, err
	}
	var err error
	if observed.Deployment, err = r.deployment(ctx, observed); err != nil {
		return ctrl.Result{}, err
	}
	observed.Now = r.now()
	if isDeferred(observed) {
		observed.RolloutNote = observed.templates.rollout.Progress().String()
	}
	next := status.Compute(observed.Observation)
	r.recorder.record(ctx, observed, next)
	r.reportToRollout(ctx, observed, next)
	*observed.reported = true
	if err := r.writeStatus(ctx, observed.Memcached, next); err != nil {
		return requeueIfStale(ctx, err, deletionPollInterval)
	}
	return r.result(observed, next, r.requeueAfter(observed))
}
