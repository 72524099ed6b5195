// SPDX-License-Identifier: Apache-2.0

package reconcilers

import (
	"errors"
	"testing"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	cachev1alpha1 "github.com/example/memcached-operator/apis/v1alpha1"
	"github.com/example/memcached-operator/reconcilers/apply"
	"github.com/example/memcached-operator/reconcilers/status"
)

var (
	contended = &apply.ContentionError{Kind: "Service", Name: "cache", Wait: 7 * time.Second}
	taken     = &apply.OwnershipConflictError{Kind: "Service", Name: "cache"}
	busy      = apierrors.NewServiceUnavailable("busy")
)

// requeuesAt is when the Memcacheds of requeues are reconciled.
var requeuesAt = time.Now()

// requeues are observations, and when and with which error their Memcached is reconciled again: after 0, an event has to come.
var requeues = map[string]struct {
	observed    status.Observation
	after, upTo time.Duration
	err         error
}{
	"all is well":                         {results(apply.Result{Action: apply.Unchanged}), 0, 0, nil},
	"an earlier object is being deleted":  {results(apply.Result{Action: apply.Waiting}), 5 * time.Second, 0, nil},
	"a write is contended":                {results(apply.Result{Action: apply.Failed, Err: contended}), 7 * time.Second, 0, nil},
	"a deletion is contended":             {status.Observation{PruneErr: contended}, 7 * time.Second, 0, nil},
	"the cache does not show a write":     {results(apply.Result{Action: apply.Created, NotYetCached: true}), 11 * time.Second, 0, nil},
	"an object has another owner":         {results(apply.Result{Action: apply.Conflict, Err: taken}), 2 * time.Second, 2500 * time.Millisecond, nil},
	"it has had it for ten seconds":       {stalledFor(10 * time.Second), 10 * time.Second, 15 * time.Second, nil},
	"it has had it for an hour":           {stalledFor(time.Hour), 4 * time.Minute, 5 * time.Minute, nil},
	"the soonest counts":                  {results(apply.Result{Action: apply.Failed, Err: contended}, apply.Result{Action: apply.Waiting}), 5 * time.Second, 0, nil},
	"a write failed":                      {results(apply.Result{Action: apply.Failed, Err: busy}, apply.Result{Action: apply.Waiting}), 0, 0, busy},
	"a deletion failed":                   {status.Observation{PruneErr: busy}, 0, 0, busy},
	"rendering failed: nothing but a fix": {status.Observation{RenderErr: errors.New("a mistake")}, 0, 0, reconcile.TerminalError(nil)},
}

// results returns an observation with results.
func results(results ...apply.Result) status.Observation {
	for i := range results {
		results[i].Object = &unstructured.Unstructured{}
	}
	return status.Observation{Results: results}
}

// stalledFor returns an observation of a Memcached that has been stalled for age, since an object has another owner.
func stalledFor(age time.Duration) status.Observation {
	observed := results(apply.Result{Action: apply.Conflict, Err: taken})
	observed.Memcached = &cachev1alpha1.Memcached{}
	observed.Memcached.Status.Conditions = []metav1.Condition{{
		Type: cachev1alpha1.ConditionStalled, Status: metav1.ConditionTrue, LastTransitionTime: metav1.NewTime(requeuesAt.Add(-age)),
	}}
	return observed
}

func TestResult_Requeues(t *testing.T) {
	t.Parallel()
	for name, test := range requeues {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := &Reconciler{now: func() time.Time { return requeuesAt }}
			if test.observed.Memcached == nil {
				test.observed.Memcached = &cachev1alpha1.Memcached{}
			}
			test.observed.Now = requeuesAt
			got, err := r.result(test.observed, status.Compute(test.observed))
			if got.RequeueAfter < test.after || got.RequeueAfter > max(test.after, test.upTo) {
				t.Errorf("after %s, want %s to %s", got.RequeueAfter, test.after, test.upTo)
			}
			if !errors.Is(err, test.err) || (err != nil) != (test.err != nil) {
				t.Errorf("error %v, want %v", err, test.err)
			}
		})
	}
}
