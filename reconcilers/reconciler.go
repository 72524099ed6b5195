// SPDX-License-Identifier: Apache-2.0

package reconcilers

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/tools/events"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/log"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/example/memcached-operator/reconcilers/apply"
	"github.com/example/memcached-operator/reconcilers/memory"
	"github.com/example/memcached-operator/reconcilers/preflight"
	"github.com/example/memcached-operator/reconcilers/render"
	"github.com/example/memcached-operator/reconcilers/sanitize"
	"github.com/example/memcached-operator/reconcilers/status"
	"github.com/example/memcached-operator/reconcilers/transport"
)

// +kubebuilder:rbac:groups=cache.example.com,resources=memcacheds,verbs=get;list;watch
// +kubebuilder:rbac:groups=cache.example.com,resources=memcacheds/status,verbs=patch
// +kubebuilder:rbac:groups=cache.example.com,resources=memcacheds/finalizers,verbs=update
// +kubebuilder:rbac:groups="",resources=pods,verbs=list;watch
// +kubebuilder:rbac:groups=events.k8s.io,resources=events,verbs=create;patch

const (
	// recheckAfter is how soon an object is applied again, at the earliest, whose name belongs
	// to somebody else, or that the server rejects or changes; no watch tells when that ends.
	recheckAfter = time.Minute
	// recheckJitter spreads these looks over recheckAfter to (1 + recheckJitter) times
	// recheckAfter, five minutes.
	recheckJitter = 4.0
	// waitAgain is how soon an object that is still going is looked at again: without
	// our label on it, no watch tells when it is gone.
	waitAgain = 5 * time.Second
	// notSentAfter is how soon a Memcached is reconciled again when nothing could be sent to the
	// API server.
	notSentAfter = time.Second
	// lookAtOnce is how soon an object is looked at again that changed while it was written.
	lookAtOnce = time.Millisecond
)

// Reconciler reconciles Memcacheds. Make it with New.
type Reconciler struct {
	client      client.Client
	renderer    *render.Renderer
	applier     *apply.Applier
	recent      *apply.Recent
	kinds       []schema.GroupVersionKind
	optional    *optional
	events      events.EventRecorder
	now         func() time.Time
	recheck     time.Duration
	concurrency int
	warm        func()
}

// Reconcile brings the cluster a step nearer to what the Memcached of req asks for,
// and its status to what is.
// The error, which controller-runtime logs, is sanitized.
func (r *Reconciler) Reconcile(ctx context.Context, req ctrl.Request) (ctrl.Result, error) {
	memory.Begin()
	defer memory.End()
	result, err := r.reconcile(ctx, req)
	err = sanitize.Error(err)
	if transport.IsNotSent(err) {
		// Every Memcached would log it.
		log.FromContext(ctx).V(1).Info("waiting for the API server", "why", err.Error())
		return ctrl.Result{RequeueAfter: notSentAfter}, nil
	}
	return result, err
}

func (r *Reconciler) reconcile(ctx context.Context, req ctrl.Request) (ctrl.Result, error) {
	observed, err := r.observe(ctx, req)
	if err != nil || observed == nil {
		return ctrl.Result{}, err
	}
	if status.IsPaused(observed.Memcached) {
		return r.report(ctx, observed)
	}
	desired, err := r.render(observed)
	if err != nil {
		observed.RenderErr = err
		return r.report(ctx, observed)
	}
	owner := r.applier.Owner(observed.Memcached)
	if err := r.apply(ctx, observed, owner, desired); err != nil {
		return r.tryAgain(ctx, err, waitAgain)
	}
	if err := r.prune(ctx, observed, owner, desired); err != nil {
		return r.tryAgain(ctx, err, waitAgain)
	}
	return r.report(ctx, observed)
}

// tryAgain ends a reconcile that err stopped. When its Memcached was read from a cache that
// is out of date, the watch will wake us; after is for a watch that does not.
func (r *Reconciler) tryAgain(ctx context.Context, err error, after time.Duration) (ctrl.Result, error) {
	if stale, ok := errors.AsType[*apply.StaleOwnerError](err); ok {
		log.FromContext(ctx).V(1).Info("waiting for the cache", "why", stale.Reason)
		return ctrl.Result{RequeueAfter: after}, nil
	}
	return ctrl.Result{}, err
}

// render returns the objects that should exist, less those of optional kinds that
// cannot be used now.
func (r *Reconciler) render(observed *observation) ([]*unstructured.Unstructured, error) {
	start := time.Now()
	defer func() { renderSeconds.Observe(time.Since(start).Seconds()) }()
	rendered, err := r.renderer.Render(observed.Memcached)
	return slices.DeleteFunc(rendered, func(object *unstructured.Unstructured) bool {
		kind := object.GroupVersionKind()
		if observed.isUsable(kind) {
			return false
		}
		observed.leaveOut(object, observed.absent[kind])
		return true
	}), err
}

// apply applies desired. Objects of a kind that the API server does not serve any more are
// skipped. The error is that of owner.Verify.
func (r *Reconciler) apply(ctx context.Context, observed *observation, owner *apply.Owner, desired []*unstructured.Unstructured) error {
	results, err := r.applier.Apply(ctx, owner, desired)
	for _, result := range results {
		if result.Err != nil && r.optional.isGone(ctx, result.Object.GroupVersionKind(), result.Err) {
			observed.leaveOut(result.Object, preflight.NotServed)
			continue
		}
		observed.Results = append(observed.Results, result)
	}
	return err
}

// prune deletes what is no longer rendered, once everything that is has been applied. The
// error says that the Memcached is out of date.
func (r *Reconciler) prune(ctx context.Context, observed *observation, owner *apply.Owner, desired []*unstructured.Unstructured) error {
	if slices.ContainsFunc(observed.Results, func(r apply.Result) bool { return r.Err != nil || r.Action == apply.Waiting }) {
		return nil
	}
	kinds := slices.Clone(r.kinds)
	for _, kind := range r.optional.kinds {
		if observed.isUsable(kind) {
			kinds = append(kinds, kind)
		}
	}
	var err error
	observed.pruned, err = r.applier.Prune(ctx, owner, kinds, desired)
	if stale, ok := errors.AsType[*apply.StaleOwnerError](err); ok {
		return stale
	}
	observed.PruneErr = err
	return nil
}

// report tells what was done and what is: log, events, metrics and status.
func (r *Reconciler) report(ctx context.Context, observed *observation) (ctrl.Result, error) {
	var err error
	if observed.Deployment, err = r.deployment(ctx, observed); err != nil {
		return ctrl.Result{}, err
	}
	observed.Now = r.now()
	next := status.Compute(observed.Observation)
	r.tell(ctx, observed, next)
	overtaken, err := r.writeStatus(ctx, observed.Memcached, next)
	switch {
	case err != nil && !overtaken:
		return r.tryAgain(ctx, err, waitAgain)
	case err != nil:
		return r.tryAgain(ctx, err, lookAtOnce)
	}
	observed.overtaken = overtaken
	return r.outcome(observed)
}

// outcome decides when to come back. Everything that a watch reports wakes us by
// itself; what is left are failures, which back off, and what no watch shows. What
// cannot succeed by trying again is an error once, when it is news.
func (r *Reconciler) outcome(observed *observation) (ctrl.Result, error) {
	transient, terminal := failures(observed)
	if transient != nil {
		return ctrl.Result{}, transient
	}
	if after := r.requeueAfter(observed); after > 0 {
		return ctrl.Result{RequeueAfter: after}, nil
	}
	if terminal != nil && observed.newlyStalled {
		return ctrl.Result{}, reconcile.TerminalError(terminal)
	}
	return ctrl.Result{}, nil
}

// failures sorts what went wrong by whether trying again can help.
func failures(observed *observation) (transient, terminal error) {
	if observed.RenderErr != nil {
		terminal = fmt.Errorf("rendering: %w", observed.RenderErr)
	}
	for _, result := range observed.Results {
		_, contended := errors.AsType[*apply.ContentionError](result.Err)
		switch {
		case contended: // requeueAfter says when.
		case apply.IsTerminal(result.Err):
			terminal = errors.Join(terminal, result.Err)
		default:
			transient = errors.Join(transient, result.Err)
		}
	}
	return errors.Join(transient, observed.PruneErr), terminal
}

// requeueAfter is how soon to look at what no watch will show; 0 says that there is no
// such thing.
func (r *Reconciler) requeueAfter(observed *observation) time.Duration {
	if observed.overtaken {
		return lookAtOnce
	}
	var soonest time.Duration
	for _, result := range observed.Results {
		var after time.Duration
		contention, contended := errors.AsType[*apply.ContentionError](result.Err)
		switch {
		case contended:
			after = contention.Wait
		case result.Overtaken:
			after = lookAtOnce
		case result.Action == apply.Waiting:
			after = waitAgain
		case result.Unconfirmed:
			// Should the cache never show it, it was deleted unseen.
			after = apply.RecentTTL + time.Second
		case apply.IsTerminal(result.Err), result.Drift != "":
			after = wait.Jitter(r.recheck, recheckJitter)
		}
		if after > 0 && (soonest == 0 || after < soonest) {
			soonest = after
		}
	}
	return soonest
}
