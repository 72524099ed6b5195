// SPDX-License-Identifier: Apache-2.0

// Command memcached-operator runs Memcacheds: it renders its templates for each
// custom resource, applies what comes out, and reports what is.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io/fs"
	"net/http"
	"os"
	"time"

	"github.com/go-logr/zapr"
	"go.uber.org/zap"
	"k8s.io/apimachinery/pkg/runtime"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	"k8s.io/klog/v2"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/config"
	ctrlzap "sigs.k8s.io/controller-runtime/pkg/log/zap"

	cachev1alpha1 "github.com/example/memcached-operator/apis/v1alpha1"
	"github.com/example/memcached-operator/manifests"
	"github.com/example/memcached-operator/reconcilers"
	"github.com/example/memcached-operator/reconcilers/preflight"
	"github.com/example/memcached-operator/reconcilers/render"
	"github.com/example/memcached-operator/reconcilers/transport"
	"github.com/example/memcached-operator/reconcilers/upgradeable"
)

// version is set when the operator is built, by -ldflags.
var version = "devel"

func main() {
	if err := run(ctrl.SetupSignalHandler(), os.Args[1:]); err != nil {
		fmt.Fprintf(os.Stderr, "memcached-operator: %v\n", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, args []string) error {
	o, err := parse(args, os.Getenv, os.Stdout)
	if errors.Is(err, flag.ErrHelp) {
		return nil
	}
	if err != nil {
		return err
	}
	if o.version {
		fmt.Println("memcached-operator", version)
		return nil
	}
	raw := ctrlzap.NewRaw(ctrlzap.UseFlagOptions(&o.zap))
	// Standard error cannot always be synced, and then nothing is lost.
	defer func() { _ = raw.Sync() }()
	// HTTP servers log there what clients do wrong.
	defer zap.RedirectStdLog(raw)()
	logger := zapr.NewLogger(raw)
	ctrl.SetLogger(logger)
	klog.SetLogger(logger.WithName("client-go"))
	logger.Info("starting", "version", version)
	setMemoryLimit(o.memoryLimit)
	limitGarbage()
	renderer, err := newRenderer(o)
	if err != nil {
		return err
	}
	cfg, err := connect(o.kubeconfig)
	if err != nil {
		return err
	}
	var mgr ctrl.Manager
	err = retryStart(ctx, logger, func() error {
		mgr, err = newManager(ctx, cfg, renderer, o)
		return err
	})
	if err != nil {
		return err
	}
	return mgr.Start(ctx)
}

// newRenderer reads and checks the templates: the embedded ones, and those of
// --manifests-dir over them.
func newRenderer(o *options) (*render.Renderer, error) {
	layers := []fs.FS{manifests.FS}
	if o.manifestsDir != "" {
		layers = append(layers, os.DirFS(o.manifestsDir))
	}
	tree, err := render.LoadTree(layers...)
	if err != nil {
		return nil, err
	}
	return render.New(tree, render.Defaults{
		Image:                 o.memcachedImage,
		ExporterImage:         o.exporterImage,
		ReloaderImage:         o.reloaderImage,
		AllowPrivilegedFields: o.privilegedFields,
		OperandImages:         o.operandImages,
	})
}

// connect finds the API server: by kubeconfig, or else KUBECONFIG, or else the cluster
// that the operator runs in, or else ~/.kube/config. In a pod it does not look for the
// last one, which the user that the pod happens to run as may not be allowed to.
func connect(kubeconfig string) (*rest.Config, error) {
	rules := clientcmd.NewDefaultClientConfigLoadingRules()
	rules.ExplicitPath = kubeconfig
	if os.Getenv("KUBERNETES_SERVICE_HOST") != "" && os.Getenv(clientcmd.RecommendedConfigPathEnvVar) == "" {
		rules.Precedence = nil
	}
	cfg, err := clientcmd.NewNonInteractiveDeferredLoadingClientConfig(rules, nil).ClientConfig()
	if clientcmd.IsEmptyConfig(err) {
		return nil, errors.New("no API server is known: use --kubeconfig, let KUBECONFIG name a file that exists, or run in a cluster")
	}
	if err != nil {
		return nil, fmt.Errorf("reading the kubeconfig: %w", err)
	}
	// The server's priority and fairness limits us; a second limit here would only
	// slow down a start.
	cfg.QPS = -1
	cfg.UserAgent = "memcached-operator/" + version
	return cfg, nil
}

const (
	// leaseDuration and renewDeadline are client-go's own: another replica leads 15 s after
	// the last renewal, and the leader stops after 10 s.
	leaseDuration = 15 * time.Second
	renewDeadline = 10 * time.Second
	// retryPeriod is how often the leader renews the lease, and the shortest time after which
	// the others look at it; the longest is 2.2 times as long. A lease that was released is
	// taken over within 2 s.
	retryPeriod = 700 * time.Millisecond
	// shutdownTimeout is how long reconciles may take to end before the lease is released; the
	// pod is killed after 10 s (config/manager).
	shutdownTimeout = 7 * time.Second
)

// newManager checks that the API server is fit for the templates and sets everything
// up to start.
func newManager(ctx context.Context, cfg *rest.Config, renderer *render.Renderer, o *options) (ctrl.Manager, error) {
	scheme := runtime.NewScheme()
	if err := errors.Join(clientgoscheme.AddToScheme(scheme), cachev1alpha1.AddToScheme(scheme)); err != nil {
		return nil, err
	}
	found, err := preflight.Check(ctx, cfg, scheme, renderer, o.watchNamespaces)
	if err != nil {
		return nil, err
	}
	cfg = rest.CopyConfig(cfg)
	warm := make(chan struct{})
	if o.leaderElect {
		transport.Wrap(cfg, transport.NewLease(renewDeadline, warm))
	} else {
		transport.Wrap(cfg, nil)
	}
	cacheOptions, err := reconcilers.CacheOptions(o.watchNamespaces)
	if err != nil {
		return nil, err
	}
	metrics, err := metricsOptions(o)
	if err != nil {
		return nil, err
	}
	mgr, err := ctrl.NewManager(cfg, ctrl.Options{
		Scheme:                        scheme,
		Cache:                         cacheOptions,
		Client:                        client.Options{Cache: &client.CacheOptions{Unstructured: true}},
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
		Controller:                    config.Controller{SkipNameValidation: new(true)}, // a start is tried again
	})
	if err != nil {
		return nil, fmt.Errorf("setting up: %w", err)
	}
	reconciler := reconcilers.New(mgr, reconcilers.Options{
		Renderer: renderer, Found: found, Concurrency: o.concurrency, Warm: func() { close(warm) },
	})
	if err := errors.Join(reconciler.SetUp(ctx, mgr), upgradeable.New(mgr).SetUp(mgr)); err != nil {
		return nil, err
	}
	synced := func(req *http.Request) error {
		ctx, cancel := context.WithTimeout(req.Context(), time.Second)
		defer cancel()
		if !mgr.GetCache().WaitForCacheSync(ctx) {
			return errors.New("the caches are not filled yet")
		}
		return nil
	}
	alive := func(*http.Request) error { return nil }
	return mgr, errors.Join(mgr.AddHealthzCheck("ping", alive), mgr.AddReadyzCheck("caches", synced))
}
