// SPDX-License-Identifier: Apache-2.0

package operator

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"os"
	"time"

	"k8s.io/apimachinery/pkg/runtime"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/log"

	cachev1alpha1 "github.com/example/memcached-operator/apis/v1alpha1"
	"github.com/example/memcached-operator/internal/transport"
	"github.com/example/memcached-operator/reconcilers"
	"github.com/example/memcached-operator/reconcilers/olm"
	"github.com/example/memcached-operator/reconcilers/preflight"
	"github.com/example/memcached-operator/reconcilers/render"
)

const (
	// leaseDuration and renewDeadline are client-go's defaults: another replica can become the leader
	// 15 s after the last renewal, and the leader exits after 10 s.
	leaseDuration = 15 * time.Second
	renewDeadline = 10 * time.Second
	// retryPeriod is the interval at which the leader renews the lease, and the minimum interval at
	// which other replicas check it; the maximum is 2.2 times as long. A released lease is acquired
	// within 2 s.
	retryPeriod = 700 * time.Millisecond
	// shutdownTimeout bounds the time for reconciles to end before the lease is released. The pod is
	// killed after 10 s (config/manager).
	shutdownTimeout = 7 * time.Second
)

// newScheme returns the scheme of the operator's clients.
func newScheme() (*runtime.Scheme, error) {
	scheme := runtime.NewScheme()
	return scheme, errors.Join(clientgoscheme.AddToScheme(scheme), cachev1alpha1.AddToScheme(scheme))
}

// newManager runs the preflight checks and returns a manager with the controllers, ready to start, and what the checks found. Only
// requests are retried, since a manager holds the ports. tree holds the templates of renderer. stop ends the process for a reason.
func newManager(ctx context.Context, cfg *rest.Config, renderer *render.Renderer, tree render.Tree, o *options, stop func(error)) (ctrl.Manager, *preflight.Result, error) {
	scheme, err := newScheme()
	if err != nil {
		return nil, nil, err
	}
	var found *preflight.Result
	err = retryStart(ctx, log.FromContext(ctx), func() (err error) {
		found, err = preflight.Check(ctx, cfg, scheme, renderer, o.watchNamespaces)
		return err
	})
	if err != nil {
		return nil, nil, err
	}
	warm := make(chan struct{})
	mgr, err := newControllerManager(cfg, scheme, o, warm, stop)
	if err != nil {
		return nil, nil, err
	}
	events, err := newPodEvents(ctx, cfg)
	if err != nil {
		return nil, nil, err
	}
	denied := &namespaces{logger: log.FromContext(ctx).WithName("namespaces"), events: events}
	reconciler := reconcilers.New(mgr, reconcilers.Options{
		Renderer: renderer, Preflight: found, Concurrency: o.concurrency, MaxRolling: o.maxRolling, OnWarm: func() { close(warm) }, Denied: denied.report,
	})
	if err := errors.Join(reconciler.SetupWithManager(ctx, mgr), setupOperatorCondition(mgr)); err != nil {
		return nil, nil, err
	}
	if err := retryStart(ctx, log.FromContext(ctx), func() error { return reconciler.DiscoverKinds(ctx) }); err != nil {
		return nil, nil, err
	}
	return mgr, found, errors.Join(addOptional(mgr, cfg, reconciler, tree, events, o), addProbes(mgr))
}

// newControllerManager returns a manager without controllers. A replica does not become the leader before warm is closed. lost is
// called when it has lost the lease.
func newControllerManager(cfg *rest.Config, scheme *runtime.Scheme, o *options, warm <-chan struct{}, lost func(error)) (ctrl.Manager, error) {
	managerConfig := rest.CopyConfig(cfg)
	if o.leaderElect {
		transport.Wrap(managerConfig, transport.NewLease(renewDeadline, warm, lost))
	} else {
		transport.Wrap(managerConfig, nil)
	}
	cacheOptions, err := reconcilers.CacheOptions(o.watchNamespaces)
	if err != nil {
		return nil, err
	}
	metrics, err := metricsOptions(o)
	if err != nil {
		return nil, err
	}
	mgr, err := ctrl.NewManager(managerConfig, ctrl.Options{
		Scheme:                        scheme,
		Cache:                         cacheOptions,
		Metrics:                       metrics,
		HealthProbeBindAddress:        o.healthProbeAddress,
		LeaderElection:                o.leaderElect,
		LeaderElectionID:              o.leaderElectionName,
		LeaderElectionNamespace:       o.leaderElectionNS,
		LeaderElectionReleaseOnCancel: true,
		LeaseDuration:                 new(leaseDuration),
		RenewDeadline:                 new(renewDeadline),
		RetryPeriod:                   new(retryPeriod),
		GracefulShutdownTimeout:       new(shutdownTimeout),
	})
	if err != nil {
		return nil, fmt.Errorf("creating the manager: %w", err)
	}
	return mgr, nil
}

// addOptional adds the reload of templates and the webhook to mgr, if o turns them on.
func addOptional(mgr ctrl.Manager, cfg *rest.Config, reconciler *reconcilers.Reconciler, tree render.Tree, events *podEvents, o *options) error {
	if o.templates.Dir != "" {
		check := func(ctx context.Context, renderer *render.Renderer) (*preflight.Result, error) {
			return checkReload(ctx, cfg, mgr.GetScheme(), renderer, o)
		}
		if err := mgr.Add(newReloader(events, &o.templates, tree, check, reconciler.Reload)); err != nil {
			return err
		}
	}
	if o.webhookAddress == "0" {
		return nil
	}
	return mgr.Add(newWebhookServer(o, mgr.GetScheme(), reconciler.Validator()))
}

// checkReload runs those checks of the start that ask the API server.
func checkReload(ctx context.Context, cfg *rest.Config, scheme *runtime.Scheme, renderer *render.Renderer, o *options) (*preflight.Result, error) {
	found, err := preflight.Check(ctx, cfg, scheme, renderer, o.watchNamespaces)
	if err != nil {
		return nil, err
	}
	return found, checkTemplates(ctx, log.FromContext(ctx), cfg, renderer, found.Access.Namespaces(found.Denied), o.leaderElectionNS)
}

// addProbes adds the checks of liveness and readiness to mgr.
func addProbes(mgr ctrl.Manager) error {
	synced := func(req *http.Request) error {
		ctx, cancel := context.WithTimeout(req.Context(), time.Second)
		defer cancel()
		if !mgr.GetCache().WaitForCacheSync(ctx) {
			return errors.New("caches not synced")
		}
		return nil
	}
	alive := func(*http.Request) error { return nil }
	return errors.Join(mgr.AddHealthzCheck("ping", alive), mgr.AddReadyzCheck("caches", synced))
}

// setupOperatorCondition adds the reconciler of the OperatorCondition to mgr if OLM installed the operator.
func setupOperatorCondition(mgr ctrl.Manager) error {
	key, err := olm.ConditionKey(os.Getenv, os.ReadFile)
	if err != nil {
		mgr.GetLogger().Info("OperatorCondition disabled", "reason", err.Error())
		return nil
	}
	if key.Name == "" {
		return nil
	}
	reconciler, err := olm.New(mgr, key)
	if err != nil {
		return err
	}
	return reconciler.SetupWithManager(mgr)
}
