// SPDX-License-Identifier: Apache-2.0

package reconcilers

import (
	"context"
	"errors"
	"fmt"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/util/wait"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/log"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	cachev1alpha1 "github.com/example/memcached-operator/apis/v1alpha1"
	"github.com/example/memcached-operator/reconcilers/apply"
	"github.com/example/memcached-operator/reconcilers/status"
)

const (
	// minRecheck and maxRecheck bound the delay before an object is applied again that has another owner, or that the API server
	// rejects: no watch event reports the end of that. It is as long as the Memcached has been stalled, and up to recheckJitter
	// times that longer, so that those of a restart do not come together.
	minRecheck    = 2 * time.Second
	maxRecheck    = 4 * time.Minute
	recheckJitter = 0.25
	// deletionPollInterval is the delay before an object that is being deleted is read again. An
	// object without our label is not watched.
	deletionPollInterval = 5 * time.Second
	// disconnectedRequeueInterval is the delay before a Memcached is reconciled again when no
	// request could be sent to the API server.
	disconnectedRequeueInterval = time.Second
	// raceRequeueInterval is the delay before a Memcached is reconciled again, without a word, of whose objects another
	// client wrote one between our read and our write.
	raceRequeueInterval = time.Second
)

// result returns what Reconcile returns. Transient failures are retried with backoff. A terminal
// error is returned, and logged, only when the Memcached becomes stalled.
func (r *Reconciler) result(observed status.Observation, next cachev1alpha1.MemcachedStatus) (ctrl.Result, error) {
	transient, terminal := failures(observed)
	after := r.requeueAfter(observed, next)
	switch {
	case transient != nil:
		return ctrl.Result{}, transient
	case after > 0:
		return ctrl.Result{RequeueAfter: after}, nil
	case terminal != nil && isNewlyStalled(observed.Memcached.Status, next):
		return ctrl.Result{}, reconcile.TerminalError(terminal)
	}
	return ctrl.Result{}, nil
}

// requeueIfStale ends a reconcile that failed with err. A StaleOwnerError is not an error of the
// reconcile: the watch event of the newer Memcached starts the next one, or else the delay does. Neither is a
// ContentionError, of the status.
func requeueIfStale(ctx context.Context, err error, after time.Duration) (ctrl.Result, error) {
	if isContended(err) {
		log.FromContext(ctx).V(1).Info("Waiting to write the status", "reason", err.Error())
		return ctrl.Result{RequeueAfter: waitOf(err)}, nil
	}
	if stale, ok := errors.AsType[*apply.StaleOwnerError](err); ok {
		log.FromContext(ctx).V(1).Info("Waiting for the cache", "reason", stale.Reason)
		return ctrl.Result{RequeueAfter: after}, nil
	}
	return ctrl.Result{}, err
}

// failures returns the errors of a reconcile, sorted by whether a retry can succeed.
func failures(observed status.Observation) (transient, terminal error) {
	if observed.RenderErr != nil {
		terminal = fmt.Errorf("rendering: %w", observed.RenderErr)
	}
	for _, result := range observed.Results {
		switch {
		case isContended(result.Err): // requeueAfter returns its delay.
		case apply.IsTerminal(result.Err):
			terminal = errors.Join(terminal, result.Err)
		default:
			transient = errors.Join(transient, result.Err)
		}
	}
	if !isContended(observed.PruneErr) {
		transient = errors.Join(transient, observed.PruneErr)
	}
	return transient, terminal
}

func isContended(err error) bool { return waitOf(err) > 0 }

// waitOf returns the delay of a ContentionError, and 0 for any other error.
func waitOf(err error) time.Duration {
	if contention, ok := errors.AsType[*apply.ContentionError](err); ok {
		return contention.Wait
	}
	return 0
}

// requeueAfter returns the delay before the next reconcile for a change that no watch event
// reports, or 0 when there is none to expect. next is the status that observed leads to.
func (r *Reconciler) requeueAfter(observed status.Observation, next cachev1alpha1.MemcachedStatus) time.Duration {
	soonest := observed.RecheckAfter()
	sooner := func(after time.Duration) {
		if after > 0 && (soonest == 0 || after < soonest) {
			soonest = after
		}
	}
	for _, result := range observed.Results {
		sooner(result.InPlace.After)
		switch {
		case isContended(result.Err):
			sooner(waitOf(result.Err))
		case result.Action == apply.Waiting:
			sooner(deletionPollInterval)
		case result.NotYetCached:
			// If the cache never shows the object, it was deleted before the watch saw it.
			sooner(apply.PendingWriteTTL + time.Second)
		case apply.IsTerminal(result.Err):
			sooner(r.recheckAfter(next))
		}
	}
	sooner(waitOf(observed.PruneErr))
	return soonest
}

// recheckAfter returns the delay before an object is applied again that was rejected, with which the Memcached has the status next.
func (r *Reconciler) recheckAfter(next cachev1alpha1.MemcachedStatus) time.Duration {
	after := minRecheck
	if stalled := meta.FindStatusCondition(next.Conditions, cachev1alpha1.ConditionStalled); stalled != nil {
		after = min(max(minRecheck, r.now().Sub(stalled.LastTransitionTime.Time)), maxRecheck)
	}
	return wait.Jitter(after, recheckJitter)
}
