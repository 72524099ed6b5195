// SPDX-License-Identifier: Apache-2.0

package reconcilers_test

import (
	"cmp"
	"context"
	"fmt"
	"io/fs"
	"net/http"
	"os"
	"strings"
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

// suite is what the tests of this package share: a control plane with controllers
// and a simulated node, and the operator's own identity in it.
var suite struct {
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

// setUp is how an operator is started that is not like the others.
type setUp struct {
	edits edit
	// guards lets the operator refuse guarded fields.
	guards    bool
	lookEvery time.Duration
	// recheck is how soon what no watch shows is looked at again; by default 200 ms.
	recheck time.Duration
	// logger gets what the operator logs; by default nobody does.
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
		Renderer: renderer, Found: found, Concurrency: 8, Recheck: cmp.Or(s.recheck, 200*time.Millisecond), LookEvery: s.lookEvery,
	})
	fatal(t, reconciler.SetUp(ctx, mgr))
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

// requests counts what goes over a client's transport, watches and reviews left out.
type requests struct {
	mu   sync.Mutex
	seen []string
	// answers are the statuses of the answers to requests.
	answers []answered
	// before is called before a request is sent.
	before func(request string)
}

type answered struct {
	request string
	status  int
}

// onFirst calls f before the first request is sent that has method and ends with path.
func (r *requests) onFirst(method, path string, f func()) {
	r.mu.Lock()
	defer r.mu.Unlock()
	var once sync.Once
	r.before = func(request string) {
		if strings.HasPrefix(request, method) && strings.HasSuffix(request, path) {
			once.Do(f)
		}
	}
}

// statuses returns the statuses of the answers to requests that end with path.
func (r *requests) statuses(path string) []int {
	r.mu.Lock()
	defer r.mu.Unlock()
	var statuses []int
	for _, answer := range r.answers {
		if strings.HasSuffix(answer.request, path) {
			statuses = append(statuses, answer.status)
		}
	}
	return statuses
}

func (r *requests) count(next http.RoundTripper) http.RoundTripper {
	return roundTripper(func(req *http.Request) (*http.Response, error) {
		path := req.URL.Path
		if req.URL.Query().Get("watch") != "" || strings.Contains(path, "/events") || isList(req) {
			return next.RoundTrip(req)
		}
		request := req.Method + " " + path
		r.mu.Lock()
		r.seen = append(r.seen, request)
		before := r.before
		r.mu.Unlock()
		if before != nil {
			before(request)
		}
		response, err := next.RoundTrip(req)
		if err == nil {
			r.mu.Lock()
			defer r.mu.Unlock()
			r.answers = append(r.answers, answered{request, response.StatusCode})
		}
		return response, err
	})
}

// isList tells the lists by which informers start, which a restart cannot do without.
func isList(req *http.Request) bool {
	return req.Method == http.MethodGet && req.URL.Query().Has("limit") || req.URL.Query().Has("resourceVersion") ||
		req.Method == http.MethodGet && (strings.HasSuffix(req.URL.Path, "/api") || strings.HasSuffix(req.URL.Path, "/apis") || strings.Count(req.URL.Path, "/") <= 3)
}

type roundTripper func(*http.Request) (*http.Response, error)

func (f roundTripper) RoundTrip(req *http.Request) (*http.Response, error) { return f(req) }

// matching are the requests seen so far that contain every one of parts.
func (r *requests) matching(parts ...string) []string {
	r.mu.Lock()
	defer r.mu.Unlock()
	var result []string
	for _, request := range r.seen {
		all := true
		for _, part := range parts {
			all = all && strings.Contains(request, part)
		}
		if all {
			result = append(result, request)
		}
	}
	return result
}

func fatal(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// newNamespace makes a namespace for one test. It stays as long as the control plane:
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

// newMemcached makes a Memcached of size pods.
func newMemcached(t *testing.T, namespace, name string, size int32) *cachev1alpha1.Memcached {
	t.Helper()
	mc := &cachev1alpha1.Memcached{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name},
		Spec:       cachev1alpha1.MemcachedSpec{Size: new(size)},
	}
	fatal(t, suite.Client.Create(t.Context(), mc))
	return mc
}

// poll asks until holds says so, for a minute at most.
func poll(t *testing.T, what string, holds func(context.Context) (bool, error)) {
	t.Helper()
	if err := wait.PollUntilContextTimeout(t.Context(), 20*time.Millisecond, time.Minute, true, holds); err != nil {
		t.Fatalf("%s: %v", what, err)
	}
}

// eventually reads object until holds says so.
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

// is tells whether a condition has a status and, unless it is empty, a reason.
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
