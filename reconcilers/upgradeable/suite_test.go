// SPDX-License-Identifier: Apache-2.0

package upgradeable

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"
	_ "unsafe" // for go:linkname

	"github.com/go-logr/logr"
	"github.com/go-logr/logr/funcr"
	apiv2 "github.com/operator-framework/api/pkg/operators/v2"
	corev1 "k8s.io/api/core/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/rest"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/config"
	"sigs.k8s.io/controller-runtime/pkg/log"
	metricsserver "sigs.k8s.io/controller-runtime/pkg/metrics/server"

	"github.com/example/memcached-operator/manifests"
	"github.com/example/memcached-operator/reconcilers"
	"github.com/example/memcached-operator/reconcilers/preflight"
	"github.com/example/memcached-operator/reconcilers/render"
	"github.com/example/memcached-operator/test/controlplane"
)

// readNamespace is operator-lib's way to the operator's namespace, a file that exists
// in pods only; it has no other seam.
//
//go:linkname readNamespace github.com/operator-framework/operator-lib/conditions.readNamespace
var readNamespace func() (string, error)

// environment is held while a Reporter looks around: the variable and readNamespace
// belong to the process.
var environment sync.Mutex

// suite is what the tests share: a control plane with controllers, a simulated node and
// OLM's CRD, and the operator's own identity in it.
var suite *world

// world is a control plane and the operator's identity in it.
type world struct {
	*controlplane.ControlPlane
	operator *rest.Config
}

func TestMain(m *testing.M) {
	log.SetLogger(logr.Discard())
	os.Exit(runSuite(m))
}

func runSuite(m *testing.M) int {
	ctx, cancel := context.WithCancel(context.Background()) //nolint:forbidigo // there is no test yet whose context it could be
	defer cancel()
	var err error
	if suite, err = newWorld(ctx); err == nil {
		err = suite.installOLM(ctx)
	}
	if suite != nil {
		defer func() {
			if err := suite.Stop(); err != nil {
				fmt.Fprintln(os.Stderr, err)
			}
		}()
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	return m.Run()
}

func newWorld(ctx context.Context, arguments ...string) (*world, error) {
	plane, err := controlplane.Start(arguments...)
	if err != nil {
		return nil, err
	}
	scheme := plane.Client.Scheme()
	if err := errors.Join(apiv2.AddToScheme(scheme), apiextensionsv1.AddToScheme(scheme)); err != nil {
		return nil, errors.Join(err, plane.Stop())
	}
	operator, err := plane.OperatorConfig(ctx)
	if err != nil {
		return nil, errors.Join(err, plane.Stop())
	}
	return &world{plane, operator}, nil
}

// given is how the operator of a test is started.
type given struct {
	*world
	// namespace is the only one that it watches, and where it takes itself to be.
	namespace string
	// conditionName is what OLM puts into the environment.
	conditionName string
	// outsidePod leaves the namespace unknown.
	outsidePod bool
	// reconciles lets it reconcile Memcacheds too; else their status is the test's.
	reconciles bool
	// lease is the name of the lease that it needs, if any.
	lease string
	// change may change the Reporter.
	change func(*Reporter)
}

// operator is an operator that runs in the test's process.
type operator struct {
	stop func()
	mu   sync.Mutex
	seen []string
	logs []string
}

func (g given) start(t *testing.T) *operator {
	t.Helper()
	o := &operator{}
	cfg := rest.CopyConfig(g.operator)
	tree, err := render.LoadTree(manifests.FS)
	fatal(t, err)
	renderer, err := render.New(tree, render.Defaults{AllowPrivilegedFields: true})
	fatal(t, err)
	scheme := g.Client.Scheme()
	found, err := preflight.Check(t.Context(), cfg, scheme, renderer, []string{g.namespace})
	fatal(t, err)
	cacheOptions, err := reconcilers.CacheOptions([]string{g.namespace})
	fatal(t, err)
	cfg.Wrap(o.count)
	options := ctrl.Options{
		Scheme:     scheme,
		Cache:      cacheOptions,
		Client:     client.Options{Cache: &client.CacheOptions{Unstructured: true}},
		Metrics:    metricsserver.Options{BindAddress: "0"},
		Controller: config.Controller{SkipNameValidation: new(true)},
		Logger:     funcr.New(o.log, funcr.Options{}),
	}
	if g.lease != "" {
		options.LeaderElection, options.LeaderElectionID, options.LeaderElectionNamespace = true, g.lease, controlplane.OperatorNamespace
	}
	mgr, err := ctrl.NewManager(cfg, options)
	fatal(t, err)
	ctx, cancel := context.WithCancel(t.Context())
	t.Cleanup(cancel)
	reconciler := reconcilers.New(mgr, reconcilers.Options{Renderer: renderer, Found: found, Concurrency: 2})
	if g.reconciles {
		fatal(t, reconciler.SetUp(ctx, mgr))
	}
	reporter := New(mgr)
	if g.change != nil {
		g.change(reporter)
	}
	fatal(t, g.setUp(reporter, mgr))
	done := make(chan error, 1)
	go func() { done <- mgr.Start(ctx) }()
	o.stop = sync.OnceFunc(func() {
		cancel()
		if err := <-done; err != nil {
			t.Errorf("the operator stopped with: %v", err)
		}
	})
	t.Cleanup(o.stop)
	return o
}

// setUp is SetUp in a process that OLM started.
func (g given) setUp(reporter *Reporter, mgr ctrl.Manager) error {
	environment.Lock()
	defer environment.Unlock()
	defer func(before func() (string, error)) { readNamespace = before }(readNamespace)
	if !g.outsidePod {
		readNamespace = func() (string, error) { return g.namespace, nil }
	}
	if err := os.Setenv(nameVariable, g.conditionName); err != nil {
		return err
	}
	return errors.Join(reporter.SetUp(mgr), os.Unsetenv(nameVariable))
}

// count keeps the requests that have to do with OLM.
func (o *operator) count(next http.RoundTripper) http.RoundTripper {
	return roundTripper(func(req *http.Request) (*http.Response, error) {
		if strings.Contains(req.URL.Path, "operators.coreos.com") {
			o.mu.Lock()
			o.seen = append(o.seen, req.Method+" "+req.URL.Path)
			o.mu.Unlock()
		}
		return next.RoundTrip(req)
	})
}

type roundTripper func(*http.Request) (*http.Response, error)

func (f roundTripper) RoundTrip(req *http.Request) (*http.Response, error) { return f(req) }

// log keeps the lines about OLM, and those of errors.
func (o *operator) log(_, line string) {
	if strings.Contains(line, "OperatorCondition") || strings.Contains(line, "OLM") || strings.Contains(line, "error") {
		o.mu.Lock()
		defer o.mu.Unlock()
		o.logs = append(o.logs, line)
	}
}

// requests are those of one method that had to do with OLM.
func (o *operator) requests(method string) []string {
	o.mu.Lock()
	defer o.mu.Unlock()
	var found []string
	for _, request := range o.seen {
		if strings.HasPrefix(request, method) {
			found = append(found, request)
		}
	}
	return found
}

func (o *operator) logged() []string {
	o.mu.Lock()
	defer o.mu.Unlock()
	return slices.Clone(o.logs)
}

func fatal(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func (w *world) newNamespace(t *testing.T) string {
	t.Helper()
	namespace := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{GenerateName: "test-"}}
	fatal(t, w.Client.Create(t.Context(), namespace))
	return namespace.Name
}

// eventually asks until holds says so, for a minute at most.
func eventually(t *testing.T, what string, holds func(context.Context) (bool, error)) {
	t.Helper()
	if err := wait.PollUntilContextTimeout(t.Context(), 20*time.Millisecond, time.Minute, true, holds); err != nil {
		t.Fatalf("%s: %v", what, err)
	}
}
