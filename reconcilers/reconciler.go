// SPDX-License-Identifier: Apache-2.0

package reconcilers

import (
	"context"
	"errors"
	"reflect"
	"slices"
	"sync/atomic"
	"time"

	corev1 "k8s.io/api/core/v1"
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
	"github.com/example/memcached-operator/reconcilers/nodes"
	"github.com/example/memcached-operator/reconcilers/pacing"
	"github.com/example/memcached-operator/reconcilers/status"
)

// +kubebuilder:rbac:groups=cache.example.com,resources=memcacheds,verbs=get;list;watch
// +kubebuilder:rbac:groups=cache.example.com,resources=memcacheds/status,verbs=patch
// +kubebuilder:rbac:groups=cache.example.com,resources=memcacheds/finalizers,verbs=update
// +kubebuilder:rbac:groups="",resources=pods,verbs=list;watch
// For the annotations of pods of Memcacheds with stable names.
// +kubebuilder:rbac:groups="",resources=pods,verbs=patch
// For changes of images in place, with spec.warmRestart.
// +kubebuilder:rbac:groups=apps,resources=replicasets,verbs=list;patch;delete
// OpenShift asks for it where endpoints have addresses of pods.
// +kubebuilder:rbac:groups=discovery.k8s.io,resources=endpointslices/restricted,verbs=create
// +kubebuilder:rbac:groups=events.k8s.io,resources=events,verbs=create;patch

// Reconciler reconciles Memcacheds. Create it with New.
type Reconciler struct {
	client        client.Client
	live          client.Reader
	pendingWrites *apply.PendingWrites
	contention    *apply.Contention

	templates atomic.Pointer[templateSet]
	// rendered holds the last rendering of some Memcacheds by their UIDs.
	rendered *lru.Cache

	newApplier  func(*apply.Types) *apply.Applier
	optional    *discovery.Watcher
	watches     *watches
	recorder    recorder
	now         func() time.Time
	concurrency int
	onWarm      func()
	// queue is the controller's work queue.
	queue workqueue.TypedRateLimitingInterface[reconcile.Request]
}

// Reconcile renders and applies the objects of the Memcached in req, prunes stale ones and updates
// its status. The returned error, which controller-runtime logs, is sanitized.
func (r *Reconciler) Reconcile(ctx context.Context, req ctrl.Request) (ctrl.Result, error) {
	memory.Begin(memory.One)
	defer memory.End(memory.One)
	templates := r.templates.Load()
	var result ctrl.Result
	var reported bool
	var err error
	defer func() { // also after a panic
		if reported || errors.Is(ctx.Err(), context.Canceled) || transport.IsNotSent(err) {
			return
		}
		if templates.pacing.Fail(context.WithoutCancel(ctx), req.NamespacedName) {
			log.FromContext(ctx).Info("Rollout of changed templates goes on without this Memcached, whose reconciles fail")
		}
	}()
	result, reported, err = r.reconcile(ctx, req, templates)
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

// reconcile reports whether pacing has the outcome.
func (r *Reconciler) reconcile(ctx context.Context, req ctrl.Request, templates *templateSet) (result ctrl.Result, reported bool, err error) {
	mc, pods, err := r.observe(ctx, req)
	if err != nil {
		return ctrl.Result{}, false, err
	}
	// Once the permissions are back, all Memcacheds are reconciled.
	if mc == nil || templates.IsDenied(req.Namespace) {
		templates.pacing.Report(ctx, req.NamespacedName, pacing.Outcome{})
		return ctrl.Result{}, true, nil
	}
	done, err := r.act(ctx, templates, mc, pods)
	if err != nil {
		result, err = requeueIfStale(ctx, err, deletionPollInterval)
		return result, false, err
	}
	if slices.ContainsFunc(done.results, func(result apply.Result) bool { return apply.IsRace(result.Err) }) {
		r.recorder.recordChanges(ctx, mc, done.results, done.pruned)
		return ctrl.Result{RequeueAfter: raceRequeueInterval}, false, nil
	}
	result, reported, err = r.report(ctx, templates, status.Observation{
		Memcached: mc, Pods: pods, RenderErr: done.renderErr, Results: done.results, SkippedKinds: done.skipped, PruneErr: done.pruneErr,
		MovesUntil: done.layout.MovesUntil(),
	}, done.pruned)
	if after := done.layout.NextChange().Sub(r.now()); err == nil && after > 0 && (result.RequeueAfter == 0 || after < result.RequeueAfter) {
		result.RequeueAfter = after
	}
	if err == nil {
		err = errors.Join(r.setDeletionCosts(ctx, mc, done.layout, pods), r.touchProxies(ctx, mc, done.layout, done.results))
	}
	return result, reported, err
}

// actions is what a reconcile did.
type actions struct {
	layout    nodes.Layout
	renderErr error
	results   []apply.Result
	// skipped are the rendered objects of unavailable kinds.
	skipped  []status.SkippedKind
	pruned   []client.Object
	pruneErr error
}

// act renders mc, unless it is paused, applies the objects, and prunes those that are no longer rendered if every rendered one has
// been applied. The error is that of Owner.Verify, after which nothing is written.
func (r *Reconciler) act(ctx context.Context, templates *templateSet, mc *cachev1alpha1.Memcached, pods []corev1.Pod) (done actions, err error) {
	if status.IsPaused(mc) {
		return done, nil
	}
	owner := templates.applier.Owner(mc)
	if done.layout, err = r.layout(ctx, templates, owner, mc, pods); err != nil {
		return done, err
	}
	rendered, desired := r.render(templates, mc, done.layout)
	if rendered.err != nil {
		return actions{renderErr: rendered.err}, nil //nolint:nilerr // it goes to the status
	}
	owner.MayReplacePods, owner.ChangeImages = mayReplacePods(ctx, templates, mc), r.changeImages(mc)
	results, err := templates.applier.Apply(ctx, owner, desired)
	if err != nil {
		return done, err
	}
	done.skipped = slices.Clip(rendered.skipped)
	for _, result := range results {
		kind := result.Object.GroupVersionKind()
		if result.Err != nil && r.optional.Gone(ctx, templates.Templates, kind, result.Err) {
			done.skipped = append(done.skipped, status.SkippedKind{Kind: kind.Kind, Reason: string(discovery.NotServed)})
			continue
		}
		done.results = append(done.results, result)
	}
	if slices.ContainsFunc(done.results, isUnfinished) {
		return done, nil
	}
	done.pruned, err = templates.applier.Prune(ctx, owner, templates.Kinds(), desired)
	if stale, ok := errors.AsType[*apply.StaleOwnerError](err); ok {
		return done, stale
	}
	done.pruneErr = err
	return done, nil
}

// isUnfinished reports whether the object of result is not as rendered, so that an object that it replaces must be kept.
func isUnfinished(result apply.Result) bool {
	return result.Err != nil || result.Action == apply.Waiting || result.Action == apply.Deferred
}

// maxRendered bounds the number of Memcacheds whose rendering is kept, about 2 KB each.
const maxRendered = 1 << 11

// rendering is what templates render a Memcached with spec and layout to.
type rendering struct {
	templates *templateSet
	spec      cachev1alpha1.MemcachedSpec
	layout    nodes.Layout

	summary apply.Summary
	// skipped are the rendered objects of unavailable kinds.
	skipped []status.SkippedKind
	err     error
}

// render renders mc. A change of a Memcached is followed by a few reconciles, for the events of its objects; they do not render again
// unless an object has to be written.
func (r *Reconciler) render(templates *templateSet, mc *cachev1alpha1.Memcached, layout nodes.Layout) (rendering, apply.Desired) {
	kept, _ := r.rendered.Get(mc.UID)
	if last, ok := kept.(rendering); ok && last.templates == templates && reflect.DeepEqual(last.spec, mc.Spec) && reflect.DeepEqual(last.layout, layout) {
		return last, last.summary.Desired(func() apply.Desired {
			_, desired := r.renderAnew(templates, mc, layout)
			return desired
		})
	}
	return r.renderAnew(templates, mc, layout)
}

// renderAnew renders mc and keeps the summary.
func (r *Reconciler) renderAnew(templates *templateSet, mc *cachev1alpha1.Memcached, layout nodes.Layout) (rendering, apply.Desired) {
	start := time.Now()
	now := rendering{templates: templates, spec: *mc.Spec.DeepCopy(), layout: layout} // Reading a quantity may change it.
	var objects, available []*unstructured.Unstructured
	objects, now.err = templates.Renderer.RenderWith(mc, layout)
	renderSeconds.Observe(time.Since(start).Seconds())
	for _, object := range objects {
		if reason := templates.Unavailability(object.GroupVersionKind()); reason != discovery.Available {
			now.skipped = append(now.skipped, status.SkippedKind{Kind: object.GetKind(), Reason: string(reason)})
			continue
		}
		available = append(available, object)
	}
	desired := templates.applier.Prepare(available)
	now.summary = desired.Summary()
	r.rendered.Add(mc.UID, now)
	return now, desired
}

// report computes the status, records what the reconcile changed and writes the status.
func (r *Reconciler) report(ctx context.Context, templates *templateSet, observed status.Observation, pruned []client.Object) (result ctrl.Result, reported bool, err error) {
	if err := ctx.Err(); err != nil {
		// Requests failed because ctx ended, which is no failure to report.
		r.recorder.recordChanges(ctx, observed.Memcached, observed.Results, pruned)
		return ctrl.Result{}, false, err
	}
	if observed.Deployment, err = r.deployment(ctx, templates, observed); err != nil {
		return ctrl.Result{}, false, err
	}
	observed.Now = r.now()
	if isDeferred(observed.Results) {
		observed.RolloutNote = templates.pacing.Progress().String()
	}
	next := status.Compute(observed)
	r.recorder.record(ctx, observed, pruned, next)
	r.reportToPacing(ctx, templates, observed, next)
	if err := r.writeStatus(ctx, observed.Memcached, next); err != nil {
		result, err = requeueIfStale(ctx, err, deletionPollInterval)
		return result, true, err
	}
	result, err = r.result(observed, next)
	return result, true, err
}
