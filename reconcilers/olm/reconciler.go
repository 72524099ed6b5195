// SPDX-License-Identifier: Apache-2.0

package olm

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	apiv2 "github.com/operator-framework/api/pkg/operators/v2"
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
	// nameVariable is the environment variable with the name of the OperatorCondition, which OLM sets.
	nameVariable = "OPERATOR_CONDITION_NAME"
	// namespaceFile is where Kubernetes mounts the name of a pod's namespace.
	namespaceFile = "/var/run/secrets/kubernetes.io/serviceaccount/namespace"
	// messageInterval is the minimum time between two writes that change only the message. With many
	// Memcacheds the names in it change all the time, and OLM responds to each write with another.
	messageInterval = 30 * time.Second
	// firstRetry and maxRetry bound the delay before a missing OperatorCondition or permission is
	// checked again. OLM may grant it shortly after the start.
	firstRetry = time.Second
	maxRetry   = 5 * time.Minute
)

// ConditionKey returns the namespace and name of the operator's OperatorCondition; they are empty if OLM did
// not install the operator. It is an error if the process has OLM's environment variable and is not in a pod.
func ConditionKey(getenv func(string) string, readFile func(string) ([]byte, error)) (client.ObjectKey, error) {
	name := getenv(nameVariable)
	if name == "" {
		return client.ObjectKey{}, nil
	}
	namespace, err := readFile(namespaceFile)
	if err != nil {
		return client.ObjectKey{}, fmt.Errorf("%s is set, but the namespace of the pod is unknown: %w", nameVariable, err)
	}
	return client.ObjectKey{Namespace: strings.TrimSpace(string(namespace)), Name: name}, nil
}

// OperatorConditionReconciler reconciles the condition Upgradeable of the operator's OperatorCondition. Create
// it with New.
type OperatorConditionReconciler struct {
	memcacheds client.Reader
	key        client.ObjectKey
	// condition reads and writes the OperatorCondition.
	condition client.Client
	now       func() time.Time
	bound     time.Duration
	// messageInterval is the constant of this name, except in tests.
	messageInterval time.Duration

	series series
	// known is the condition that the API server has, without its transition time.
	known metav1.Condition
	// wrote is the time of the last write.
	wrote time.Time
	// missing is the error of the last attempt if the OperatorCondition or permission is missing. It is
	// not attempted before again, and retry is the last delay.
	missing string
	again   time.Time
	retry   time.Duration
}

// New returns an OperatorConditionReconciler for the OperatorCondition of key, see ConditionKey. It reads
// Memcacheds from the cache of mgr.
func New(mgr ctrl.Manager, key client.ObjectKey) (*OperatorConditionReconciler, error) {
	condition, err := newClient(mgr)
	if err != nil {
		return nil, fmt.Errorf("creating the client for the OperatorCondition: %w", err)
	}
	return &OperatorConditionReconciler{
		memcacheds: mgr.GetClient(), key: key, condition: condition, now: time.Now, bound: bound, messageInterval: messageInterval,
	}, nil
}

// SetupWithManager adds r to mgr.
func (r *OperatorConditionReconciler) SetupWithManager(mgr ctrl.Manager) error {
	only := reconcile.Request{NamespacedName: r.key}
	// Without Memcacheds no event starts a reconcile, but the condition has to be written once.
	atStart := source.Func(func(_ context.Context, queue workqueue.TypedRateLimitingInterface[reconcile.Request]) error {
		queue.Add(only)
		return nil
	})
	toOnly := handler.EnqueueRequestsFromMapFunc(func(context.Context, client.Object) []reconcile.Request {
		return []reconcile.Request{only}
	})
	err := ctrl.NewControllerManagedBy(mgr).
		Named("operatorcondition").
		Watches(&cachev1alpha1.Memcached{}, toOnly, builder.WithPredicates(rolloutChanged)).
		WatchesRawSource(atStart).
		Complete(r)
	if err != nil {
		return fmt.Errorf("setting up the controller of the OperatorCondition: %w", err)
	}
	return nil
}

// newClient returns a client that reads from the API server. OLM grants get on the OperatorCondition, not list
// or watch, so that a cache cannot be used.
func newClient(mgr ctrl.Manager) (client.Client, error) {
	scheme := runtime.NewScheme()
	if err := apiv2.AddToScheme(scheme); err != nil {
		return nil, err
	}
	return client.New(mgr.GetConfig(), client.Options{HTTPClient: mgr.GetHTTPClient(), Mapper: mgr.GetRESTMapper(), Scheme: scheme})
}

// rolloutChanged passes events that begin or end a rollout.
var rolloutChanged = predicate.Funcs{
	CreateFunc: func(e event.CreateEvent) bool { return !since(e.Object).IsZero() },
	UpdateFunc: func(e event.UpdateEvent) bool { return !since(e.ObjectOld).Equal(since(e.ObjectNew)) },
	DeleteFunc: func(e event.DeleteEvent) bool { return !since(e.Object).IsZero() },
}

// since returns when the rollout of object began.
func since(object client.Object) time.Time {
	if mc, ok := object.(*cachev1alpha1.Memcached); ok {
		return rollingOutSince(mc)
	}
	return time.Time{}
}

// Reconcile writes the condition for the current Memcacheds. It sends no request if the API server is known to
// have it. It is not called concurrently.
func (r *OperatorConditionReconciler) Reconcile(ctx context.Context, _ ctrl.Request) (ctrl.Result, error) {
	memcacheds := &cachev1alpha1.MemcachedList{}
	// The items are only read, so that no copy is needed.
	if err := r.memcacheds.List(ctx, memcacheds, client.UnsafeDisableDeepCopy); err != nil {
		return ctrl.Result{}, fmt.Errorf("listing the Memcacheds: %w", err)
	}
	now := r.now()
	want, holds := desiredCondition(memcacheds.Items, now, r.bound)
	want, holds = r.series.limit(want, holds, now, r.bound)
	if isSame(want, r.known) {
		return ctrl.Result{RequeueAfter: holds}, nil
	}
	notBefore := r.again
	if want.Status == r.known.Status && want.Reason == r.known.Reason {
		notBefore = r.wrote.Add(r.messageInterval)
	}
	if wait := notBefore.Sub(now); wait > 0 {
		if holds > 0 {
			wait = min(wait, holds)
		}
		return ctrl.Result{RequeueAfter: wait}, nil
	}
	// The condition is unknown until the API server has responded.
	r.known = metav1.Condition{}
	wrote, err := r.writeCondition(ctx, want)
	switch {
	case errors.Is(ctx.Err(), context.Canceled): // The operator stops.
		return ctrl.Result{}, nil
	case meta.IsNoMatchError(err), apierrors.IsNotFound(err), apierrors.IsForbidden(err):
		return r.requeue(ctx, now, err), nil
	case err != nil:
		return ctrl.Result{}, fmt.Errorf("updating the OperatorCondition: %w", err)
	}
	r.known, r.missing, r.again, r.retry = want, "", time.Time{}, 0
	if wrote {
		r.wrote = now
		log.FromContext(ctx).Info("Updated the OperatorCondition", "upgradeable", want.Status, "reason", want.Reason, "message", want.Message)
	}
	return ctrl.Result{RequeueAfter: holds}, nil
}

// writeCondition writes the condition unless the API server has it.
func (r *OperatorConditionReconciler) writeCondition(ctx context.Context, want metav1.Condition) (wrote bool, err error) {
	err = retry.RetryOnConflict(retry.DefaultRetry, func() error {
		current := &apiv2.OperatorCondition{}
		if err := r.condition.Get(ctx, r.key, current); err != nil {
			return err
		}
		if c := meta.FindStatusCondition(current.Spec.Conditions, want.Type); c != nil && isSame(*c, want) {
			return nil
		}
		wrote = true
		meta.SetStatusCondition(&current.Spec.Conditions, want)
		return r.condition.Update(ctx, current)
	})
	return wrote && err == nil, err
}

// requeue delays the next attempt, since OLM is not installed or has not granted permission yet. It logs each
// error once.
func (r *OperatorConditionReconciler) requeue(ctx context.Context, now time.Time, err error) ctrl.Result {
	if r.missing != err.Error() {
		r.missing = err.Error()
		log.FromContext(ctx).Info("Updating the OperatorCondition failed; OLM does not wait for rollouts", "error", r.missing)
	}
	r.retry = min(max(2*r.retry, firstRetry), maxRetry)
	r.again = now.Add(r.retry)
	return ctrl.Result{RequeueAfter: r.retry}
}

// isSame reports whether a and b have the same status, reason and message.
func isSame(a, b metav1.Condition) bool {
	return a.Status == b.Status && a.Reason == b.Reason && a.Message == b.Message
}
