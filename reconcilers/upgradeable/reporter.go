// SPDX-License-Identifier: Apache-2.0

package upgradeable

import (
	"context"
	"fmt"
	"os"
	"time"

	apiv2 "github.com/operator-framework/api/pkg/operators/v2"
	"github.com/operator-framework/operator-lib/conditions"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/util/retry"
	"k8s.io/client-go/util/workqueue"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/builder"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/log"
	"sigs.k8s.io/controller-runtime/pkg/predicate"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
	"sigs.k8s.io/controller-runtime/pkg/source"

	cachev1alpha1 "github.com/example/memcached-operator/apis/v1alpha1"
)

const (
	// nameVariable is where OLM says how the OperatorCondition is called; operator-lib
	// reads it too.
	nameVariable = "OPERATOR_CONDITION_NAME"
	// pause is the least time between two writes that change the message alone: with
	// many Memcacheds the names in it change all the time, and OLM answers each write
	// with one of its own.
	pause = 30 * time.Second
	// firstRetry and maxRetry are how soon a missing OperatorCondition, or permission,
	// is looked for again: soon while OLM may still be about to grant it, and as
	// optional APIs in the end.
	firstRetry = time.Second
	maxRetry   = 5 * time.Minute
)

// Reporter keeps the condition Upgradeable of the operator's OperatorCondition. Make it
// with New.
type Reporter struct {
	memcacheds client.Reader
	condition  conditions.Condition
	now        func() time.Time
	bound      time.Duration
	pause      time.Duration

	// known is the condition as the server has it, without its time.
	known metav1.Condition
	// wrote is when it was last written.
	wrote time.Time
	// missing is why it could not be kept the last time; then it is not tried before
	// again, and retry is how long that was.
	missing string
	again   time.Time
	retry   time.Duration
}

// New returns a Reporter that reads Memcacheds from the cache of mgr.
func New(mgr ctrl.Manager) *Reporter {
	return &Reporter{memcacheds: mgr.GetClient(), now: time.Now, bound: bound, pause: pause}
}

// SetUp adds r to mgr, where OLM installed the operator; elsewhere it does nothing.
func (r *Reporter) SetUp(mgr ctrl.Manager) error {
	if os.Getenv(nameVariable) == "" {
		return nil
	}
	live, err := newClient(mgr)
	if err != nil {
		return fmt.Errorf("setting up the client for the OperatorCondition: %w", err)
	}
	factory := conditions.InClusterFactory{Client: live}
	name, err := factory.GetNamespacedName()
	if err == nil {
		r.condition, err = factory.NewCondition(apiv2.ConditionType(apiv2.Upgradeable))
	}
	if err != nil {
		// The variable is set by hand, outside a pod: there is no OLM to tell.
		mgr.GetLogger().Info("no OperatorCondition is kept", "why", err.Error())
		return nil
	}
	only := reconcile.Request{NamespacedName: *name}
	// With no Memcached, no event wakes us; still OLM has to be told once.
	atStart := source.Func(func(_ context.Context, queue workqueue.TypedRateLimitingInterface[reconcile.Request]) error {
		queue.Add(only)
		return nil
	})
	toOnly := handler.EnqueueRequestsFromMapFunc(func(context.Context, client.Object) []reconcile.Request {
		return []reconcile.Request{only}
	})
	err = ctrl.NewControllerManagedBy(mgr).
		Named("upgradeable").
		Watches(&cachev1alpha1.Memcached{}, toOnly, builder.WithPredicates(rollOutChanged)).
		WatchesRawSource(atStart).
		Complete(r)
	if err != nil {
		return fmt.Errorf("setting up the controller of the OperatorCondition: %w", err)
	}
	return nil
}

// newClient returns a client that reads from the server: OLM grants to get the
// OperatorCondition, not to list or watch it, so no cache can hold it.
func newClient(mgr ctrl.Manager) (client.Client, error) {
	scheme := runtime.NewScheme()
	if err := apiv2.AddToScheme(scheme); err != nil {
		return nil, err
	}
	return client.New(mgr.GetConfig(), client.Options{HTTPClient: mgr.GetHTTPClient(), Mapper: mgr.GetRESTMapper(), Scheme: scheme})
}

// rollOutChanged passes what begins or ends a roll-out.
var rollOutChanged = predicate.Funcs{
	CreateFunc: func(e event.CreateEvent) bool { return !since(e.Object).IsZero() },
	UpdateFunc: func(e event.UpdateEvent) bool { return !since(e.ObjectOld).Equal(since(e.ObjectNew)) },
	DeleteFunc: func(e event.DeleteEvent) bool { return !since(e.Object).IsZero() },
}

func since(object client.Object) time.Time {
	if mc, ok := object.(*cachev1alpha1.Memcached); ok {
		return rollingOutSince(mc)
	}
	return time.Time{}
}

// Reconcile makes the condition what follows from the Memcacheds, by no request when it
// is known to be that already. It is never called twice at a time.
func (r *Reporter) Reconcile(ctx context.Context, _ ctrl.Request) (ctrl.Result, error) {
	memcacheds := &cachev1alpha1.MemcachedList{}
	// Only read, never changed: no copy is needed.
	if err := r.memcacheds.List(ctx, memcacheds, client.UnsafeDisableDeepCopy); err != nil {
		return ctrl.Result{}, fmt.Errorf("listing the Memcacheds: %w", err)
	}
	now := r.now()
	want, holds := decide(memcacheds.Items, now, r.bound)
	if isSame(want, r.known) {
		return ctrl.Result{RequeueAfter: holds}, nil
	}
	notBefore := r.again
	if want.Status == r.known.Status && want.Reason == r.known.Reason {
		notBefore = r.wrote.Add(r.pause)
	}
	if wait := notBefore.Sub(now); wait > 0 {
		if holds > 0 {
			wait = min(wait, holds)
		}
		return ctrl.Result{RequeueAfter: wait}, nil
	}
	// Whatever becomes of it, it is known only once the server said so.
	r.known = metav1.Condition{}
	wrote, err := r.keep(ctx, want)
	switch {
	case meta.IsNoMatchError(err), apierrors.IsNotFound(err), apierrors.IsForbidden(err):
		return r.later(ctx, now, err), nil
	case err != nil:
		return ctrl.Result{}, fmt.Errorf("keeping the OperatorCondition: %w", err)
	}
	r.known, r.missing, r.again, r.retry = want, "", time.Time{}, 0
	if wrote {
		r.wrote = now
		log.FromContext(ctx).Info("told OLM", "upgradeable", want.Status, "reason", want.Reason, "message", want.Message)
	}
	return ctrl.Result{RequeueAfter: holds}, nil
}

// keep writes the condition unless the server has it as wanted.
func (r *Reporter) keep(ctx context.Context, want metav1.Condition) (wrote bool, err error) {
	current, err := r.condition.Get(ctx)
	if err == nil && isSame(*current, want) {
		return false, nil
	}
	// Either there is no such condition yet, which Set mends, or Set fails as Get did.
	err = retry.RetryOnConflict(retry.DefaultRetry, func() error {
		return r.condition.Set(ctx, want.Status, conditions.WithReason(want.Reason), conditions.WithMessage(want.Message))
	})
	return err == nil, err
}

// later puts off the next try: OLM is not there, or has not granted us anything yet. It
// is said once.
func (r *Reporter) later(ctx context.Context, now time.Time, err error) ctrl.Result {
	if r.missing != err.Error() {
		r.missing = err.Error()
		log.FromContext(ctx).Info("the OperatorCondition cannot be kept; OLM will not know of roll-outs", "why", r.missing)
	}
	r.retry = min(max(2*r.retry, firstRetry), maxRetry)
	r.again = now.Add(r.retry)
	return ctrl.Result{RequeueAfter: r.retry}
}

func isSame(a, b metav1.Condition) bool {
	return a.Status == b.Status && a.Reason == b.Reason && a.Message == b.Message
}
