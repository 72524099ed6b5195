// SPDX-License-Identifier: Apache-2.0

package operator

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"

	"github.com/go-logr/zapr"
	"go.uber.org/zap"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	"k8s.io/klog/v2"
	ctrl "sigs.k8s.io/controller-runtime"
	ctrlzap "sigs.k8s.io/controller-runtime/pkg/log/zap"

	"github.com/example/memcached-operator/internal/transport"
)

// Run runs the operator with the command-line arguments args until ctx is done. version is the
// operator's own, for its log and its user agent. With --version or --help it prints to standard
// output and returns.
func Run(ctx context.Context, args []string, version string) error {
	o, err := parse(args, os.Getenv, os.Stdout)
	if errors.Is(err, flag.ErrHelp) {
		return nil
	}
	if err != nil {
		return err
	}
	if o.version {
		_, err := fmt.Fprintln(os.Stdout, "memcached-operator", version)
		return err
	}
	raw := ctrlzap.NewRaw(ctrlzap.UseFlagOptions(&o.zap))
	// Standard error does not always support Sync, in which case nothing is buffered.
	defer func() { _ = raw.Sync() }()
	// HTTP servers log client errors with the standard logger.
	defer zap.RedirectStdLog(raw)()
	logger := zapr.NewLogger(raw)
	ctrl.SetLogger(logger)
	klog.SetLogger(logger.WithName("client-go"))
	logger.Info("Starting", "version", version)
	setMemoryLimit(o.memoryLimit)
	setGCPercent()
	o.templates.FullBuilds = func(components []string, reason string) {
		fullBuilds.Inc()
		logger.WithName("templates").Info("Memcacheds with these components take a full kustomize build each, which is 5 to 10 times slower", "components", components, "reason", reason)
	}
	tree, err := o.templates.Load()
	if err != nil {
		return err
	}
	renderer, err := o.templates.RendererOf(tree)
	if err != nil {
		return err
	}
	cfg, err := connect(o.kubeconfig, version)
	if err != nil {
		return err
	}
	ctx, stop := context.WithCancelCause(ctx)
	defer stop(nil)
	mgr, found, err := newManager(ctx, cfg, renderer, tree, o, stop)
	if err != nil {
		return err
	}
	err = checkTemplates(ctx, logger, cfg, renderer, found.Access.Namespaces(found.Denied), o.leaderElectionNS)
	if isTransient(err) { // The cause may be a webhook that is down, and the operator must not be down with it.
		logger.Info(notChecked, "reason", err.Error())
	} else if err != nil {
		return err
	}
	err = mgr.Start(ctx)
	if lost, ok := errors.AsType[*transport.StaleLeaseError](context.Cause(ctx)); ok && err == nil {
		return lost
	}
	return err
}

// connect returns the client configuration of kubeconfig, KUBECONFIG, the cluster that the operator runs in, or
// ~/.kube/config, in this order. In a pod it does not read the last one, which the pod's user may not be
// permitted to access.
func connect(kubeconfig, version string) (*rest.Config, error) {
	rules := clientcmd.NewDefaultClientConfigLoadingRules()
	rules.ExplicitPath = kubeconfig
	if os.Getenv("KUBERNETES_SERVICE_HOST") != "" && os.Getenv(clientcmd.RecommendedConfigPathEnvVar) == "" {
		rules.Precedence = nil
	}
	cfg, err := clientcmd.NewNonInteractiveDeferredLoadingClientConfig(rules, nil).ClientConfig()
	if clientcmd.IsEmptyConfig(err) {
		return nil, errors.New("no cluster configured: use --kubeconfig, set KUBECONFIG to a file that exists, or run in a cluster")
	}
	if err != nil {
		return nil, fmt.Errorf("reading the kubeconfig: %w", err)
	}
	// The API server's priority and fairness limits the operator. A client-side limit would only slow
	// down the start.
	cfg.QPS = -1
	cfg.UserAgent = "memcached-operator/" + version
	return cfg, nil
}
