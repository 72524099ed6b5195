// SPDX-License-Identifier: Apache-2.0

// Package bench measures the operator against a real API server. Each benchmark measures a
// baseline in the same run: absolute times depend on the machine, ratios do not.
package bench

import (
	"context"
	"fmt"
	"net/http"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/go-logr/logr"
	corev1 "k8s.io/api/core/v1"
	eventsv1 "k8s.io/api/events/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
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

const (
	// writers is the number of concurrent writes, in the operator (its default of
	// --max-concurrent-reconciles) and in the bare client.
	writers = 8
	count   = 500
)

type bench struct {
	*controlplane.ControlPlane
	renderer *render.Renderer
	writes   atomic.Int64
}

func start(b *testing.B, arguments ...string) *bench {
	b.Helper()
	log.SetLogger(logr.Discard())
	cluster, err := controlplane.Start(arguments...)
	fatal(b, err)
	b.Cleanup(func() {
		if err := cluster.Stop(); err != nil {
			b.Error(err)
		}
	})
	tree, err := render.LoadTree(manifests.FS)
	fatal(b, err)
	renderer, err := render.New(tree, render.Defaults{})
	fatal(b, err)
	return &bench{ControlPlane: cluster, renderer: renderer}
}

func fatal(b *testing.B, err error) {
	b.Helper()
	if err != nil {
		b.Fatal(err)
	}
}

// config returns the administrator's configuration, which counts writes.
func (b *bench) config() *rest.Config {
	cfg := rest.CopyConfig(b.Config)
	cfg.Wrap(func(next http.RoundTripper) http.RoundTripper {
		return roundTripper(func(req *http.Request) (*http.Response, error) {
			if req.Method != http.MethodGet {
				b.writes.Add(1)
			}
			return next.RoundTrip(req)
		})
	})
	return cfg
}

type roundTripper func(*http.Request) (*http.Response, error)

func (f roundTripper) RoundTrip(req *http.Request) (*http.Response, error) { return f(req) }

// manager returns a manager of the operator for one namespace, or for all if it is empty, that
// is not started, and its reconciler. fresh returns another reconciler.
func (b *bench) manager(tb *testing.B, cfg *rest.Config, namespace string) (mgr ctrl.Manager, r *reconcilers.Reconciler, fresh func() *reconcilers.Reconciler) {
	tb.Helper()
	var namespaces []string
	if namespace != "" {
		namespaces = append(namespaces, namespace)
	}
	found, err := preflight.Check(tb.Context(), b.Config, b.Client.Scheme(), b.renderer, namespaces)
	fatal(tb, err)
	cacheOptions, err := reconcilers.CacheOptions(namespaces)
	fatal(tb, err)
	mgr, err = ctrl.NewManager(cfg, ctrl.Options{
		Scheme:     b.Client.Scheme(),
		Cache:      cacheOptions,
		Client:     client.Options{Cache: &client.CacheOptions{Unstructured: true}},
		Metrics:    metricsserver.Options{BindAddress: "0"},
		Controller: config.Controller{SkipNameValidation: new(true)},
	})
	fatal(tb, err)
	fresh = func() *reconcilers.Reconciler {
		return reconcilers.New(mgr, reconcilers.Options{Renderer: b.renderer, Preflight: found, Concurrency: writers})
	}
	r = fresh()
	fatal(tb, r.SetupWithManager(tb.Context(), mgr))
	return mgr, r, fresh
}

// create creates count Memcacheds in a namespace of their own.
func (b *bench) create(tb *testing.B, namespace string) []*cachev1alpha1.Memcached {
	tb.Helper()
	fatal(tb, b.Client.Create(tb.Context(), &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: namespace}}))
	var all []*cachev1alpha1.Memcached
	for i := range count {
		mc := &cachev1alpha1.Memcached{
			ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: fmt.Sprintf("cache-%d", i)},
			Spec:       cachev1alpha1.MemcachedSpec{Size: new(int32(0))},
		}
		fatal(tb, b.Client.Create(tb.Context(), mc))
		all = append(all, mc)
	}
	return all
}

// BenchmarkConverge creates the objects of 500 Memcacheds of size 0, each a Deployment, a
// Service, a PodDisruptionBudget, a status and an event: by a bare client that makes the same
// writes with as many writers, and by an operator that starts.
func BenchmarkConverge(tb *testing.B) {
	tb.Run("bare-client", func(tb *testing.B) {
		b := start(tb, "--without-controllers")
		bare, err := client.New(b.config(), client.Options{Scheme: b.Client.Scheme()})
		fatal(tb, err)
		for round := 0; tb.Loop(); round++ {
			tb.StopTimer()
			all := b.create(tb, fmt.Sprintf("bare-%d", round))
			rendered := make([][]*unstructured.Unstructured, len(all))
			for i, mc := range all {
				rendered[i], err = b.renderer.Render(mc)
				fatal(tb, err)
			}
			b.writes.Store(0)
			tb.StartTimer()
			b.writeAll(tb, bare, all, rendered)
		}
		tb.ReportMetric(float64(b.writes.Load())/count, "writes/CR")
	})
	tb.Run("operator", func(tb *testing.B) {
		b := start(tb, "--without-controllers")
		for round := 0; tb.Loop(); round++ {
			tb.StopTimer()
			namespace := fmt.Sprintf("operator-%d", round)
			b.create(tb, namespace)
			mgr, _, _ := b.manager(tb, b.config(), namespace)
			b.writes.Store(0)
			ctx, cancel := context.WithCancel(tb.Context())
			done := make(chan error, 1)
			tb.StartTimer()
			go func() { done <- mgr.Start(ctx) }()
			b.waitReady(tb, namespace)
			tb.StopTimer()
			cancel()
			fatal(tb, <-done)
			tb.ReportMetric(float64(b.writes.Load())/count, "writes/CR")
			tb.StartTimer()
		}
	})
}

// writeAll applies every object, an event and a status, with as many writers as the operator.
func (b *bench) writeAll(tb *testing.B, bare client.Client, all []*cachev1alpha1.Memcached, rendered [][]*unstructured.Unstructured) {
	tb.Helper()
	work := make(chan int)
	var group sync.WaitGroup
	for range writers {
		group.Go(func() {
			for i := range work {
				for _, object := range rendered[i] {
					if err := bare.Apply(tb.Context(), client.ApplyConfigurationFromUnstructured(object), client.FieldOwner("bare"), client.ForceOwnership); err != nil {
						tb.Error(err)
					}
				}
				event := &eventsv1.Event{
					ObjectMeta: metav1.ObjectMeta{Namespace: all[i].Namespace, Name: all[i].Name + ".applied"},
					EventTime:  metav1.NowMicro(), ReportingController: "bare", ReportingInstance: "bare",
					Type: "Normal", Reason: "Created", Action: "Create", Note: "created three objects",
					Regarding: corev1.ObjectReference{APIVersion: cachev1alpha1.SchemeGroupVersion.String(), Kind: "Memcached", Namespace: all[i].Namespace, Name: all[i].Name, UID: all[i].UID},
				}
				if err := bare.Create(tb.Context(), event); err != nil {
					tb.Error(err)
				}
				status := &unstructured.Unstructured{Object: map[string]any{
					"apiVersion": cachev1alpha1.SchemeGroupVersion.String(), "kind": "Memcached",
					"metadata": map[string]any{"name": all[i].Name, "namespace": all[i].Namespace},
					"status": map[string]any{"replicas": int64(0), "conditions": []any{map[string]any{
						"type": "Ready", "status": "True", "reason": "Ready", "message": "as desired", "lastTransitionTime": "2026-01-01T00:00:00Z",
					}}},
				}}
				if err := bare.Status().Apply(tb.Context(), client.ApplyConfigurationFromUnstructured(status), client.FieldOwner("bare"), client.ForceOwnership); err != nil {
					tb.Error(err)
				}
			}
		})
	}
	for i := range all {
		work <- i
	}
	close(work)
	group.Wait()
}

// waitReady waits, by a watch, until every Memcached is ready.
func (b *bench) waitReady(tb *testing.B, namespace string) {
	tb.Helper()
	ctx, cancel := context.WithTimeout(tb.Context(), 5*time.Minute)
	defer cancel()
	watcher, err := client.NewWithWatch(b.Config, client.Options{Scheme: b.Client.Scheme()})
	fatal(tb, err)
	events, err := watcher.Watch(ctx, &cachev1alpha1.MemcachedList{}, client.InNamespace(namespace))
	fatal(tb, err)
	defer events.Stop()
	list := &cachev1alpha1.MemcachedList{}
	fatal(tb, b.Client.List(ctx, list, client.InNamespace(namespace)))
	pending := map[string]bool{}
	for _, mc := range list.Items {
		pending[mc.Name] = !ready(&mc)
	}
	for name, waits := range pending {
		if !waits {
			delete(pending, name)
		}
	}
	for len(pending) > 0 {
		select {
		case event, open := <-events.ResultChan():
			if !open {
				tb.Fatal("the watch was closed")
			}
			if mc, ok := event.Object.(*cachev1alpha1.Memcached); ok && ready(mc) {
				delete(pending, mc.Name)
			}
		case <-ctx.Done():
			tb.Fatalf("%d Memcacheds are not ready", len(pending))
		}
	}
}

func ready(mc *cachev1alpha1.Memcached) bool {
	for _, c := range mc.Status.Conditions {
		if c.Type == cachev1alpha1.ConditionReady {
			return c.Status == metav1.ConditionTrue
		}
	}
	return false
}
