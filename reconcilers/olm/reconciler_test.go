// SPDX-License-Identifier: Apache-2.0

package olm

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/go-logr/logr/funcr"
	apiv2 "github.com/operator-framework/api/pkg/operators/v2"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/log"

	cachev1alpha1 "github.com/example/memcached-operator/apis/v1alpha1"
	"github.com/example/memcached-operator/test/testenv"
)

// memcacheds are what a cache holds.
type memcacheds []cachev1alpha1.Memcached

func (memcacheds) Get(context.Context, client.ObjectKey, client.Object, ...client.GetOption) error {
	return errors.New("not needed")
}

func (m memcacheds) List(_ context.Context, list client.ObjectList, _ ...client.ListOption) error {
	list.(*cachev1alpha1.MemcachedList).Items = m
	return nil
}

// unreliable is a client of the API server whose requests fail.
type unreliable struct {
	client.Client
	// get is the error of Get, which sends no request then.
	get error
	// update is the error of Update, which is sent before.
	update error
	writes int
}

func (u *unreliable) Get(ctx context.Context, key client.ObjectKey, object client.Object, options ...client.GetOption) error {
	if u.get != nil {
		return u.get
	}
	return u.Client.Get(ctx, key, object, options...)
}

func (u *unreliable) Update(ctx context.Context, object client.Object, options ...client.UpdateOption) error {
	u.writes++
	if err := u.Client.Update(ctx, object, options...); err != nil {
		return err
	}
	return u.update
}

// newReconciler returns a reconciler without a manager, at the time now.
func newReconciler(t *testing.T) (*OperatorConditionReconciler, *unreliable) {
	t.Helper()
	oc := suite.newOperatorCondition(t, suite.NewNamespace(t))
	u := &unreliable{Client: suite.Client}
	return &OperatorConditionReconciler{
		memcacheds: memcacheds{}, key: client.ObjectKeyFromObject(oc), condition: u,
		now: func() time.Time { return now }, bound: bound, messageInterval: messageInterval,
	}, u
}

// upgradeable returns the status of the condition on the API server.
func upgradeable(t *testing.T, r *OperatorConditionReconciler) metav1.ConditionStatus {
	t.Helper()
	oc := &apiv2.OperatorCondition{}
	testenv.NoError(t, suite.Client.Get(t.Context(), r.key, oc))
	return meta.FindStatusCondition(oc.Spec.Conditions, apiv2.Upgradeable).Status
}

func TestReconcile_RetriesWriteWithoutResponse(t *testing.T) {
	t.Parallel()
	r, u := newReconciler(t)
	for _, step := range []struct {
		memcacheds memcacheds
		err        error
		want       metav1.ConditionStatus
	}{
		{memcacheds{}, nil, metav1.ConditionTrue},
		{memcacheds{rolling("a", 0)}, errors.New("timeout"), metav1.ConditionFalse},
		// The rollout ends before the retry: the desired condition is the one known before the failure.
		{memcacheds{}, nil, metav1.ConditionTrue},
	} {
		r.memcacheds, u.update = step.memcacheds, step.err
		_, err := r.Reconcile(t.Context(), ctrl.Request{})
		if got := upgradeable(t, r); !errors.Is(err, step.err) || got != step.want {
			t.Errorf("Upgradeable is %s, want %s; error %v", got, step.want, err)
		}
	}
	if u.writes != 3 {
		t.Errorf("%d writes", u.writes)
	}
}

func TestReconcile_ReportsNoErrorWhenTheOperatorStops(t *testing.T) {
	t.Parallel()
	r, u := newReconciler(t)
	ctx, stop := context.WithCancel(t.Context())
	u.get = context.Canceled
	stop()
	if _, err := r.Reconcile(ctx, ctrl.Request{}); err != nil {
		t.Errorf("error %v", err)
	}
}

func TestReconcile_BacksOffWithoutPermission(t *testing.T) {
	t.Parallel()
	lines := 0
	ctx := log.IntoContext(t.Context(), funcr.New(func(_, _ string) { lines++ }, funcr.Options{}))
	r, u := newReconciler(t)
	u.get = apierrors.NewForbidden(schema.GroupResource{Resource: "operatorconditions"}, "x", errors.New("no"))
	clock := now
	r.now = func() time.Time { return clock }
	for i, want := range []time.Duration{1, 2, 4, 8, 16, 32, 64, 128, 256, 300, 300} {
		result, err := r.Reconcile(ctx, ctrl.Request{})
		if err != nil || result.RequeueAfter != want*time.Second {
			t.Errorf("attempt %d: requeue after %s, want %d s: %v", i, result.RequeueAfter, want, err)
		}
		// An event before that is no reason for an attempt.
		clock = clock.Add(result.RequeueAfter / 2)
		if early, err := r.Reconcile(ctx, ctrl.Request{}); err != nil || early.RequeueAfter != result.RequeueAfter/2 {
			t.Errorf("attempt %d: requeue after %s by an event: %v", i, early.RequeueAfter, err)
		}
		clock = clock.Add(result.RequeueAfter / 2)
	}
	if lines != 1 {
		t.Errorf("%d log lines", lines)
	}
	u.get = nil
	if result, err := r.Reconcile(ctx, ctrl.Request{}); err != nil || result.RequeueAfter != 0 || u.writes != 1 {
		t.Errorf("with permission: %+v, %d writes: %v", result, u.writes, err)
	}
}
