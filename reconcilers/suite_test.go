// SPDX-License-Identifier: Apache-2.0

package reconcilers_test

import (
	"cmp"
	"context"
	"fmt"
	"io/fs"
	"net/http"
	"os"
	"sync"
	"testing"
	"testing/fstest"
	"time"

	"github.com/go-logr/logr"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/rest"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/config"
	"sigs.k8s.io/controller-runtime/pkg/log"
	metricsserver "sigs.k8s.io/controller-runtime/pkg/metrics/server"

	cachev1alpha1 "github.com/example/memcached-operator/apis/v1alpha1"
	"github.com/example/memcached-operator/manifests"
	"github.com/example/memcached-operator/reconcilers"
	"github.com/example/memcached-operator/reconcilers/preflight"
	"github.com/example/memcached-operator/reconcilers/render"
	"github.com/example/memcached-operator/test/controlplane"
)

// suite is shared by the tests of this package: a control plane with controllers and a simulated
// node, and the client configuration of the operator.
var suite struct {
	*controlplane.ControlPlane
	operator *rest.Config
}

func TestMain(m *testing.M) {
	log.SetLogger(logr.Discard())
	os.Exit(runSuite(m))
}

func runSuite(m *testing.M) int {
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	var err error
	if suite.ControlPlane, err = controlplane.Start(); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	defer func() {
		if err := suite.Stop(); err != nil {
			fmt.Fprintln(os.Stderr, err)
		}
	}()
	if suite.operator, err = suite.OperatorConfig(ctx); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	return m.Run()
}

// operator is an operator that runs in the test's process and sees one namespace.
type operator struct {
	*requests
	stop func()
}

// edit is a layer of template files over the shipped ones.
type edit map[string]string

// startOperator starts an operator for namespace. It stops with the test, or before,
// by stop.
func startOperator(t *testing.T, cfg *rest.Config, namespace string, edits edit) *operator {
	t.Helper()
	return setUp{edits: edits}.start(t, cfg, namespace)
}

// setUp configures an operator of a test.
type setUp struct {
	edits edit
	// guards makes the operator reject privileged fields.
	guards bool
	// discoveryInterval is the interval of discovery; by default that of the operator.
	discoveryInterval time.Duration
	// recheck is the ConflictRecheckInterval; by default 200 ms.
	recheck time.Duration
	// logger is the operator's logger; by default it discards.
	logger logr.Logger
}

func (s setUp) start(t *testing.T, cfg *rest.Config, namespace string) *operator {
	t.Helper()
	layers := []fs.FS{manifests.FS}
	if len(s.edits) > 0 {
		layer := fstest.MapFS{}
		for name, content := range s.edits {
			layer[name] = &fstest.MapFile{Data: []byte(content)}
		}
		layers = append(layers, layer)
	}
	tree, err := render.LoadTree(layers...)
	fatal(t, err)
	renderer, err := render.New(tree, render.Defaults{AllowPrivilegedFields: !s.guards})
	fatal(t, err)

	o := &operator{requests: &requests{}}
	cfg = rest.CopyConfig(cfg)
	scheme := suite.Client.Scheme()
	namespaces := []string{namespace}
	found, err := preflight.Check(t.Context(), cfg, scheme, renderer, namespaces)
	fatal(t, err)
	cfg.Wrap(func(next http.RoundTripper) http.RoundTripper { return o.count(next) })
	cacheOptions, err := reconcilers.CacheOptions(namespaces)
	fatal(t, err)
	mgr, err := ctrl.NewManager(cfg, ctrl.Options{
		Logger:     s.logger,
		Scheme:     scheme,
		Cache:      cacheOptions,
		Client:     client.Options{Cache: &client.CacheOptions{Unstructured: true}},
		Metrics:    metricsserver.Options{BindAddress: "0"},
		Controller: config.Controller{SkipNameValidation: new(true)},
	})
	fatal(t, err)
	ctx, cancel := context.WithCancel(t.Context())
	reconciler := reconcilers.New(mgr, reconcilers.Options{
		Renderer: renderer, Preflight: found, Concurrency: 8, ConflictRecheckInterval: cmp.Or(s.recheck, 200*time.Millisecond), DiscoveryInterval: s.discoveryInterval,
	})
	fatal(t, reconciler.SetupWithManager(ctx, mgr))
	done := make(chan error, 1)
	go func() { done <- mgr.Start(ctx) }()
	o.stop = sync.OnceFunc(func() {
		cancel()
		if err := <-done; err != nil {
			t.Errorf("the operator stopped with: %v", err)
		}
	})
	t.Cleanup(o.stop)
	if !mgr.GetCache().WaitForCacheSync(ctx) {
		t.Fatal("the caches did not fill")
	}
	return o
}

func fatal(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// newNamespace creates a namespace for one test. It stays as long as the control plane:
// deleting it would keep the garbage collector from the other tests' objects.
func newNamespace(t *testing.T, labels ...string) string {
	t.Helper()
	namespace := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{GenerateName: "test-", Labels: map[string]string{}}}
	for i := 0; i+1 < len(labels); i += 2 {
		namespace.Labels[labels[i]] = labels[i+1]
	}
	fatal(t, suite.Client.Create(t.Context(), namespace))
	return namespace.Name
}

// newMemcached creates a Memcached of size pods.
func newMemcached(t *testing.T, namespace, name string, size int32) *cachev1alpha1.Memcached {
	t.Helper()
	mc := &cachev1alpha1.Memcached{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name},
		Spec:       cachev1alpha1.MemcachedSpec{Size: new(size)},
	}
	fatal(t, suite.Client.Create(t.Context(), mc))
	return mc
}

// poll calls holds until it returns true, for a minute at most.
func poll(t *testing.T, what string, holds func(context.Context) (bool, error)) {
	t.Helper()
	if err := wait.PollUntilContextTimeout(t.Context(), 20*time.Millisecond, time.Minute, true, holds); err != nil {
		t.Fatalf("%s: %v", what, err)
	}
}

// eventually reads object until holds returns true.
func eventually[T client.Object](t *testing.T, object T, what string, holds func(T) bool) T {
	t.Helper()
	t.Cleanup(func() {
		if t.Failed() {
			t.Logf("%s is %+v", object.GetName(), object)
		}
	})
	poll(t, what, func(ctx context.Context) (bool, error) {
		err := suite.Client.Get(ctx, client.ObjectKeyFromObject(object), object)
		return err == nil && holds(object), client.IgnoreNotFound(err)
	})
	return object
}

// gone waits until object is not found.
func gone(t *testing.T, object client.Object) {
	t.Helper()
	poll(t, fmt.Sprintf("%T %s should go", object, object.GetName()), func(ctx context.Context) (bool, error) {
		err := suite.Client.Get(ctx, client.ObjectKeyFromObject(object), object)
		return apierrors.IsNotFound(err), client.IgnoreNotFound(err)
	})
}

// is reports whether a condition has a status and, unless reason is empty, a reason.
func is(mc *cachev1alpha1.Memcached, kind string, status metav1.ConditionStatus, reason string) bool {
	c := meta.FindStatusCondition(mc.Status.Conditions, kind)
	return c != nil && c.Status == status && (reason == "" || c.Reason == reason) && c.ObservedGeneration == mc.Generation
}

func isReady(mc *cachev1alpha1.Memcached) bool {
	return is(mc, cachev1alpha1.ConditionReady, metav1.ConditionTrue, "")
}

func ready(t *testing.T, mc *cachev1alpha1.Memcached) {
	t.Helper()
	eventually(t, mc, "the Memcached should be ready", isReady)
}

func deployment(namespace, name string) *appsv1.Deployment {
	return &appsv1.Deployment{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name}}
}

func service(namespace, name string) *corev1.Service {
	return &corev1.Service{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name}}
}

// deploymentNow reads a Deployment.
func deploymentNow(t *testing.T, namespace, name string) *appsv1.Deployment {
	t.Helper()
	d := deployment(namespace, name)
	fatal(t, suite.Client.Get(t.Context(), client.ObjectKeyFromObject(d), d))
	return d
}
