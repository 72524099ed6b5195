// SPDX-License-Identifier: Apache-2.0

package testenv

import (
	"cmp"
	"context"
	"fmt"
	"io/fs"
	"net/http"
	"sync"
	"testing/fstest"
	"time"

	"github.com/go-logr/logr"
	"k8s.io/client-go/rest"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/config"
	metricsserver "sigs.k8s.io/controller-runtime/pkg/metrics/server"

	"github.com/example/memcached-operator/manifests"
	"github.com/example/memcached-operator/reconcilers"
	"github.com/example/memcached-operator/reconcilers/preflight"
	"github.com/example/memcached-operator/reconcilers/render"
)

// Renderer returns a renderer of the shipped templates, with files by path laid over them and
// privileged fields allowed.
func Renderer(files map[string]string) (*render.Renderer, error) {
	return renderer(files, true)
}

// shipped are the renderers of the shipped templates, by whether privileged fields are allowed. Checking the templates takes most of
// the time of a small test, and a Renderer is immutable.
var shipped = map[bool]func() (*render.Renderer, error){
	false: sync.OnceValues(func() (*render.Renderer, error) { return newRenderer(false) }),
	true:  sync.OnceValues(func() (*render.Renderer, error) { return newRenderer(true) }),
}

func renderer(files map[string]string, allowPrivilegedFields bool) (*render.Renderer, error) {
	if len(files) == 0 {
		return shipped[allowPrivilegedFields]()
	}
	layer := fstest.MapFS{}
	for name, content := range files {
		layer[name] = &fstest.MapFile{Data: []byte(content)}
	}
	return newRenderer(allowPrivilegedFields, layer)
}

func newRenderer(allowPrivilegedFields bool, layers ...fs.FS) (*render.Renderer, error) {
	tree, err := render.LoadTree(append([]fs.FS{manifests.FS}, layers...)...)
	if err != nil {
		return nil, err
	}
	return render.New(tree, render.Defaults{AllowPrivilegedFields: allowPrivilegedFields})
}

// ManagerOptions says how an operator runs in the test's process.
type ManagerOptions struct {
	// Config is the operator's identity; by default Env.Operator.
	Config *rest.Config
	// Namespaces are those that it watches; none means all.
	Namespaces []string
	// Templates are files, by path, laid over the shipped ones.
	Templates map[string]string
	// RefusePrivilegedFields runs it without --allow-privileged-fields.
	RefusePrivilegedFields bool
	// Wrap wraps the transport of its clients, except that of the checks at start and of discovery.
	Wrap func(http.RoundTripper) http.RoundTripper
	// Logger is where it logs; by default nowhere.
	Logger logr.Logger
	// DiscoveryInterval is the operator's own unless set.
	DiscoveryInterval time.Duration
}

// Manager is an operator in the test's process.
type Manager struct {
	ctrl.Manager

	Renderer   *render.Renderer
	Reconciler *reconcilers.Reconciler
	done       chan error
}

// StartManager starts an operator and waits until its caches are synced. It stops when ctx ends.
func (e *Env) StartManager(ctx context.Context, options ManagerOptions) (*Manager, error) {
	renderer, err := renderer(options.Templates, !options.RefusePrivilegedFields)
	if err != nil {
		return nil, err
	}
	cfg := rest.CopyConfig(cmp.Or(options.Config, e.Operator))
	scheme := e.Client.Scheme()
	found, err := preflight.Check(ctx, cfg, scheme, renderer, options.Namespaces)
	if err != nil {
		return nil, err
	}
	if options.Wrap != nil {
		cfg.Wrap(options.Wrap)
	}
	cacheOptions, err := reconcilers.CacheOptions(options.Namespaces)
	if err != nil {
		return nil, err
	}
	mgr, err := ctrl.NewManager(cfg, ctrl.Options{
		Logger:     options.Logger,
		Scheme:     scheme,
		Cache:      cacheOptions,
		Metrics:    metricsserver.Options{BindAddress: "0"},
		Controller: config.Controller{SkipNameValidation: new(true)},
	})
	if err != nil {
		return nil, err
	}
	m := &Manager{Manager: mgr, Renderer: renderer, done: make(chan error, 1), Reconciler: reconcilers.New(mgr, reconcilers.Options{
		Renderer: renderer, Preflight: found, Concurrency: 8,
		DiscoveryInterval: options.DiscoveryInterval,
	})}
	if err := m.Reconciler.SetupWithManager(ctx, mgr); err != nil {
		return nil, err
	}
	if err := m.Reconciler.DiscoverKinds(ctx); err != nil {
		return nil, err
	}
	go func() { m.done <- mgr.Start(ctx) }()
	if !mgr.GetCache().WaitForCacheSync(ctx) {
		return nil, fmt.Errorf("the caches are not synced")
	}
	return m, nil
}

// Wait waits until the operator has stopped and returns its error. Its context has to end.
func (m *Manager) Wait() error { return <-m.done }
