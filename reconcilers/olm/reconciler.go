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
	// batchDelay is how long the begin or the end of a rollout waits for further ones: with many Memcacheds there is one after the
	// other, and each takes a request.
	batchDelay = time.Second
	// retryInterval is the delay before a missing OperatorCondition or permission is looked for again. OLM may grant it shortly
	// after the start.
	retryInterval = 5 * time.Second
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
	// missing is why the last attempt failed, if the OperatorCondition or a permission is missing.
	missing string
}

// New returns an OperatorConditionReconciler for the OperatorCondition of key, see ConditionKey. It reads
// Memcacheds from the cache of mgr, and the OperatorCondition from the API server: OLM grants neither list nor watch on it.
func New(mgr ctrl.Manager, key client.ObjectKey) (*OperatorConditionReconciler, error) {
	scheme := runtime.NewScheme()
	if err := apiv2.AddToScheme(scheme); err != nil {
		return nil, err
	}
	condition, err := client.New(mgr.GetConfig(), client.Options{HTTPClient: mgr.GetHTTPClient(), Mapper: mgr.GetRESTMapper(), Scheme: scheme})
	if err != nil {
		return nil, fmt.Errorf("creating the client for the OperatorCondition: %w", err)
	}
	return &OperatorConditionReconciler{memcacheds: mgr.GetClient(), key: key, condition: condition, now: time.Now}, nil
}

// SetupWithManager adds r to mgr.
func (r *OperatorConditionReconciler) SetupWithManager(mgr ctrl.Manager) error {
	type queue = workqueue.TypedRateLimitingInterface[reconcile.Request]
	only := reconcile.Request{NamespacedName: r.key}
	enqueue := func(queue queue) { queue.AddAfter(only, batchDelay) }
	// Without Memcacheds no event starts a reconcile, but the condition has to be written once.
	atStart := source.Func(func(_ context.Context, queue queue) error {
		queue.Add(only)
		return nil
	})
	err := ctrl.NewControllerManagedBy(mgr).
		Named("operatorcondition").
		Watches(&cachev1alpha1.Memcached{}, handler.Funcs{
			CreateFunc: func(_ context.Context, _ event.CreateEvent, q queue) { enqueue(q) },
			UpdateFunc: func(_ context.Context, _ event.UpdateEvent, q queue) { enqueue(q) },
			DeleteFunc: func(_ context.Context, _ event.DeleteEvent, q queue) { enqueue(q) },
		}, builder.WithPredicates(rolloutChanged)).
		WatchesRawSource(atStart).
		Complete(r)
	if err != nil {
		return fmt.Errorf("setting up the controller of the OperatorCondition: %w", err)
	}
	return nil
}

// rolloutChanged passes events that begin or end a rollout.
var rolloutChanged = predicate.Funcs{
	CreateFunc: func(e event.CreateEvent) bool { return rollsOut(e.Object) },
	UpdateFunc: func(e event.UpdateEvent) bool { return rollsOut(e.ObjectOld) != rollsOut(e.ObjectNew) },
	DeleteFunc: func(e event.DeleteEvent) bool { return rollsOut(e.Object) },
}

func rollsOut(object client.Object) bool {
	mc, ok := object.(*cachev1alpha1.Memcached)
	return ok && isRollingOut(mc)
}

// Reconcile writes the condition for the current Memcacheds, unless the OperatorCondition has it.
func (r *OperatorConditionReconciler) Reconcile(ctx context.Context, _ ctrl.Request) (ctrl.Result, error) {
	memcacheds := &cachev1alpha1.MemcachedList{}
	// The items are only read, so that no copy is needed.
	if err := r.memcacheds.List(ctx, memcacheds, client.UnsafeDisableDeepCopy); err != nil {
		return ctrl.Result{}, fmt.Errorf("listing the Memcacheds: %w", err)
	}
	next, err := r.update(ctx, memcacheds.Items)
	switch {
	case errors.Is(ctx.Err(), context.Canceled): // The operator stops.
		return ctrl.Result{}, nil
	case meta.IsNoMatchError(err), apierrors.IsNotFound(err), apierrors.IsForbidden(err):
		if r.missing != err.Error() {
			r.missing = err.Error()
			log.FromContext(ctx).Info("Updating the OperatorCondition failed; OLM does not wait for rollouts", "error", r.missing)
		}
		return ctrl.Result{RequeueAfter: retryInterval}, nil
	case apierrors.IsConflict(err): // OLM writes it too.
		return ctrl.Result{RequeueAfter: batchDelay}, nil
	case err != nil:
		return ctrl.Result{}, fmt.Errorf("updating the OperatorCondition: %w", err)
	}
	r.missing = ""
	if next.Status == metav1.ConditionFalse {
		return ctrl.Result{RequeueAfter: max(batchDelay, remaining(next, r.now()))}, nil
	}
	return ctrl.Result{}, nil
}

// update reads the OperatorCondition and writes the condition for memcacheds, which it returns, unless it has it.
func (r *OperatorConditionReconciler) update(ctx context.Context, memcacheds []cachev1alpha1.Memcached) (metav1.Condition, error) {
	current := &apiv2.OperatorCondition{}
	if err := r.condition.Get(ctx, r.key, current); err != nil {
		return metav1.Condition{}, err
	}
	next := nextCondition(meta.FindStatusCondition(current.Spec.Conditions, apiv2.Upgradeable), memcacheds, r.now())
	next.LastTransitionTime = metav1.NewTime(r.now())
	if meta.SetStatusCondition(&current.Spec.Conditions, next) {
		if err := r.condition.Update(ctx, current); err != nil {
			return metav1.Condition{}, err
		}
		log.FromContext(ctx).Info("Updated the OperatorCondition", "upgradeable", next.Status, "reason", next.Reason, "message", next.Message)
	}
	return *meta.FindStatusCondition(current.Spec.Conditions, apiv2.Upgradeable), nil
}
