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

	corev1 "k8s.io/api/core/v1"
	eventsv1 "k8s.io/api/events/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/rest"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/config"
	metricsserver "sigs.k8s.io/controller-runtime/pkg/metrics/server"

	cachev1alpha1 "github.com/example/memcached-operator/apis/v1alpha1"
	"github.com/example/memcached-operator/reconcilers"
	"github.com/example/memcached-operator/reconcilers/preflight"
	"github.com/example/memcached-operator/reconcilers/render"
	"github.com/example/memcached-operator/test/testenv"
)

const (
	// writers is the number of concurrent writes, in the operator (its default of
	// --max-concurrent-reconciles) and in the bare client.
	writers = 8
	count   = 500
)

type bench struct {
	*testenv.Env
	renderer *render.Renderer
	writes   atomic.Int64
}

func start(b *testing.B, arguments ...string) *bench {
	b.Helper()
	renderer, err := testenv.Renderer(nil)
	testenv.NoError(b, err)
	return &bench{Env: testenv.New(b, testenv.Setup{Arguments: arguments}), renderer: renderer}
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
	testenv.NoError(tb, err)
	cacheOptions, err := reconcilers.CacheOptions(namespaces)
	testenv.NoError(tb, err)
	mgr, err = ctrl.NewManager(cfg, ctrl.Options{
		Scheme:     b.Client.Scheme(),
		Cache:      cacheOptions,
		Client:     client.Options{Cache: &client.CacheOptions{Unstructured: true}},
		Metrics:    metricsserver.Options{BindAddress: "0"},
		Controller: config.Controller{SkipNameValidation: new(true)},
	})
	testenv.NoError(tb, err)
	fresh = func() *reconcilers.Reconciler {
		return reconcilers.New(mgr, reconcilers.Options{Renderer: b.renderer, Preflight: found, Concurrency: writers})
	}
	r = fresh()
	testenv.NoError(tb, r.SetupWithManager(tb.Context(), mgr))
	return mgr, r, fresh
}

// createAll creates count Memcacheds in a namespace of their own.
func (b *bench) createAll(tb *testing.B, namespace string) []*cachev1alpha1.Memcached {
	tb.Helper()
	b.Create(tb, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: namespace}})
	var all []*cachev1alpha1.Memcached
	for i := range count {
		all = append(all, b.NewMemcached(tb, namespace, fmt.Sprintf("cache-%d", i), 0))
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
		testenv.NoError(tb, err)
		for round := 0; tb.Loop(); round++ {
			tb.StopTimer()
			all := b.createAll(tb, fmt.Sprintf("bare-%d", round))
			rendered := make([][]*unstructured.Unstructured, len(all))
			for i, mc := range all {
				rendered[i], err = b.renderer.Render(mc)
				testenv.NoError(tb, err)
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
			b.createAll(tb, namespace)
			mgr, _, _ := b.manager(tb, b.config(), namespace)
			b.writes.Store(0)
			ctx, cancel := context.WithCancel(tb.Context())
			done := make(chan error, 1)
			tb.StartTimer()
			go func() { done <- mgr.Start(ctx) }()
			b.waitReady(tb, namespace)
			tb.StopTimer()
			cancel()
			testenv.NoError(tb, <-done)
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
	testenv.NoError(tb, err)
	events, err := watcher.Watch(ctx, &cachev1alpha1.MemcachedList{}, client.InNamespace(namespace))
	testenv.NoError(tb, err)
	defer events.Stop()
	list := &cachev1alpha1.MemcachedList{}
	testenv.NoError(tb, b.Client.List(ctx, list, client.InNamespace(namespace)))
	pending := map[string]bool{}
	for _, mc := range list.Items {
		if !ready(&mc) {
			pending[mc.Name] = true
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
	return testenv.HasCondition(mc, cachev1alpha1.ConditionReady, metav1.ConditionTrue, "")
}
