// SPDX-License-Identifier: Apache-2.0

package features

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"github.com/go-logr/logr"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/rest"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/log"
	metricsserver "sigs.k8s.io/controller-runtime/pkg/metrics/server"
	"sigs.k8s.io/yaml"

	"github.com/example/memcached-operator/manifests"
	"github.com/example/memcached-operator/reconcilers"
	"github.com/example/memcached-operator/reconcilers/apply"
	"github.com/example/memcached-operator/reconcilers/preflight"
	"github.com/example/memcached-operator/reconcilers/render"
	"github.com/example/memcached-operator/test/controlplane"
)

// The Go module that has the definitions of ServiceMonitor and PrometheusRule as their
// makers ship them.
const (
	prometheusOperator    = "github.com/prometheus-operator/prometheus-operator@v0.85.0"
	prometheusOperatorSum = "h1:M5xLCLEoaW2IJfnuCwFzzpL+jSVQu3KGT84Pye+fW8s="
)

// suite is what all tests share: a control plane, and one operator for all namespaces.
var suite struct {
	*controlplane.ControlPlane
	requests
	renderer   *render.Renderer
	manager    ctrl.Manager
	reconciler *reconcilers.Reconciler
}

func TestMain(m *testing.M) {
	log.SetLogger(logr.Discard())
	code, err := runTests(m)
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		code = 1
	}
	os.Exit(code)
}

func runTests(m *testing.M) (code int, err error) {
	ctx, cancel := context.WithCancel(context.Background()) //nolint:forbidigo // there is no test yet whose context it could be
	defer cancel()
	if suite.ControlPlane, err = controlplane.Start(); err != nil {
		return 1, err
	}
	defer func() { err = errors.Join(err, suite.Stop()) }()
	cfg, err := suite.OperatorConfig(ctx)
	if err != nil {
		return 1, err
	}
	tree, err := render.LoadTree(manifests.FS)
	if err != nil {
		return 1, err
	}
	if suite.renderer, err = render.New(tree, render.Defaults{AllowPrivilegedFields: true}); err != nil {
		return 1, err
	}
	if err := defineMonitoring(ctx); err != nil {
		return 1, err
	}
	if err := setUpOperator(ctx, cfg); err != nil {
		return 1, err
	}
	done := make(chan error, 1)
	go func() { done <- suite.manager.Start(ctx) }()
	defer func() {
		cancel()
		err = errors.Join(err, <-done)
	}()
	return m.Run(), nil
}

// setUpOperator makes an operator whose requests are counted.
func setUpOperator(ctx context.Context, cfg *rest.Config) error {
	scheme := suite.Client.Scheme()
	found, err := preflight.Check(ctx, cfg, scheme, suite.renderer, nil)
	if err != nil {
		return err
	}
	cfg = rest.CopyConfig(cfg)
	cfg.Wrap(suite.count)
	cacheOptions, err := reconcilers.CacheOptions(nil)
	if err != nil {
		return err
	}
	suite.manager, err = ctrl.NewManager(cfg, ctrl.Options{
		Scheme:  scheme,
		Cache:   cacheOptions,
		Client:  client.Options{Cache: &client.CacheOptions{Unstructured: true}},
		Metrics: metricsserver.Options{BindAddress: "0"},
	})
	if err != nil {
		return err
	}
	suite.reconciler = reconcilers.New(suite.manager, reconcilers.Options{
		Renderer: suite.renderer, Found: found, Concurrency: 8, Recheck: 200 * time.Millisecond,
	})
	return suite.reconciler.SetUp(ctx, suite.manager)
}

// defineMonitoring installs the kinds of the Prometheus operator, and waits until the
// API server serves them with their schemas.
func defineMonitoring(ctx context.Context) error {
	directory, err := moduleDirectory(ctx, prometheusOperator, prometheusOperatorSum)
	if err != nil {
		return err
	}
	plurals := []string{"servicemonitors", "prometheusrules"}
	for _, plural := range plurals {
		content, err := os.ReadFile(filepath.Join(directory, "example", "prometheus-operator-crd", "monitoring.coreos.com_"+plural+".yaml"))
		if err != nil {
			return err
		}
		definition := &unstructured.Unstructured{}
		if err := yaml.Unmarshal(content, &definition.Object); err != nil {
			return err
		}
		if err := suite.Apply(ctx, definition); err != nil {
			return err
		}
	}
	server, err := discovery.NewDiscoveryClientForConfig(suite.Config)
	if err != nil {
		return err
	}
	kinds := []schema.GroupVersionKind{monitoring("ServiceMonitor"), monitoring("PrometheusRule")}
	var last error
	err = wait.PollUntilContextTimeout(ctx, 50*time.Millisecond, time.Minute, true, func(context.Context) (bool, error) {
		// The one is published without regard to the other.
		_, last = apply.NewTypes(suite.Client.Scheme(), server.OpenAPIV3(), kinds)
		for _, plural := range plurals {
			served, err := discovery.IsResourceEnabled(server, monitoring("").GroupVersion().WithResource(plural))
			if err == nil && !served {
				err = fmt.Errorf("%s are not listed", plural)
			}
			last = errors.Join(last, err)
		}
		return last == nil, nil
	})
	if err != nil {
		return fmt.Errorf("waiting for the kinds of the Prometheus operator: %w", errors.Join(err, last))
	}
	return nil
}

func monitoring(kind string) schema.GroupVersionKind {
	return schema.GroupVersionKind{Group: "monitoring.coreos.com", Version: "v1", Kind: kind}
}

// moduleDirectory downloads a Go module, unless it is there already, and returns where
// its files are.
func moduleDirectory(ctx context.Context, module, sum string) (string, error) {
	command := exec.CommandContext(ctx, "go", "mod", "download", "-json", module)
	command.Dir = controlplane.Root()
	output, err := command.Output()
	var downloaded struct{ Dir, Sum, Error string }
	if parseErr := json.Unmarshal(output, &downloaded); err != nil || parseErr != nil {
		return "", fmt.Errorf("downloading %s: %w: %s", module, errors.Join(err, parseErr), downloaded.Error)
	}
	if downloaded.Sum != sum {
		return "", fmt.Errorf("%s has the checksum %s, not %s", module, downloaded.Sum, sum)
	}
	return downloaded.Dir, nil
}

func fatal(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// poll asks until holds says so.
func poll(t *testing.T, what string, holds func(context.Context) (bool, error)) {
	t.Helper()
	// Far longer than it takes, also where many tests share a core.
	if err := wait.PollUntilContextTimeout(t.Context(), 30*time.Millisecond, 2*time.Minute, true, holds); err != nil {
		t.Fatalf("%s: %v", what, err)
	}
}
