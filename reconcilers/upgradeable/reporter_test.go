// SPDX-License-Identifier: Apache-2.0

package upgradeable

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/go-logr/logr/funcr"
	apiv2 "github.com/operator-framework/api/pkg/operators/v2"
	"github.com/operator-framework/operator-lib/conditions"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/log"

	cachev1alpha1 "github.com/example/memcached-operator/apis/v1alpha1"
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

// server holds the condition, and answers with err.
type server struct {
	current *metav1.Condition
	err     error
	// lost says that a write is done, and only its answer is the error.
	lost   bool
	writes int
}

func (s *server) Get(context.Context) (*metav1.Condition, error) {
	if s.err != nil && !s.lost {
		return nil, s.err
	}
	if s.current == nil {
		return nil, errors.New("conditionType Upgradeable not found")
	}
	return s.current, nil
}

func (s *server) Set(_ context.Context, status metav1.ConditionStatus, options ...conditions.Option) error {
	if s.err == nil || s.lost {
		s.writes++
		s.current = &metav1.Condition{Type: apiv2.Upgradeable, Status: status}
		for _, option := range options {
			option(s.current)
		}
	}
	return s.err
}

// at is a Reporter at a time, before what the server and the cache hold.
func at(s *server, mcs ...cachev1alpha1.Memcached) *Reporter {
	return &Reporter{memcacheds: memcacheds(mcs), condition: s, now: func() time.Time { return now }, bound: bound, pause: pause}
}

func TestAWriteWhoseAnswerIsLostIsNotForgotten(t *testing.T) {
	t.Parallel()
	s := &server{}
	r := at(s)
	if _, err := r.Reconcile(t.Context(), ctrl.Request{}); err != nil || s.current.Status != metav1.ConditionTrue {
		t.Fatalf("%+v: %v", s.current, err)
	}
	r.memcacheds = memcacheds{rolling("a", 0)}
	s.err, s.lost = errors.New("timeout"), true
	if _, err := r.Reconcile(t.Context(), ctrl.Request{}); err == nil || s.current.Status != metav1.ConditionFalse {
		t.Fatalf("%+v: %v", s.current, err)
	}
	// The roll-out is over before the next try: what is wanted is what was known before.
	r.memcacheds = memcacheds{}
	s.err = nil
	if _, err := r.Reconcile(t.Context(), ctrl.Request{}); err != nil || s.current.Status != metav1.ConditionTrue {
		t.Errorf("%+v: %v", s.current, err)
	}
	if s.writes != 3 {
		t.Errorf("%d writes", s.writes)
	}
}

func TestWithoutPermissionTriesBecomeRare(t *testing.T) {
	t.Parallel()
	lines := 0
	ctx := log.IntoContext(t.Context(), funcr.New(func(_, _ string) { lines++ }, funcr.Options{}))
	s := &server{err: apierrors.NewForbidden(schema.GroupResource{Resource: "operatorconditions"}, "x", errors.New("no"))}
	r := at(s)
	clock := now
	r.now = func() time.Time { return clock }
	for i, want := range []time.Duration{1, 2, 4, 8, 16, 32, 64, 128, 256, 300, 300} {
		result, err := r.Reconcile(ctx, ctrl.Request{})
		if err != nil || result.RequeueAfter != want*time.Second {
			t.Errorf("try %d: again after %s, want %d s: %v", i, result.RequeueAfter, want, err)
		}
		// An event that comes in between is no reason to try.
		clock = clock.Add(result.RequeueAfter / 2)
		if early, err := r.Reconcile(ctx, ctrl.Request{}); err != nil || early.RequeueAfter != result.RequeueAfter/2 {
			t.Errorf("try %d: an event in between: again after %s: %v", i, early.RequeueAfter, err)
		}
		clock = clock.Add(result.RequeueAfter / 2)
	}
	if lines != 1 {
		t.Errorf("%d log lines", lines)
	}
	s.err = nil
	if result, err := r.Reconcile(ctx, ctrl.Request{}); err != nil || result.RequeueAfter != 0 || s.writes != 1 {
		t.Errorf("once it is granted: %+v, %d writes: %v", result, s.writes, err)
	}
}
