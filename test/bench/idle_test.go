// SPDX-License-Identifier: Apache-2.0

package bench

import (
	"context"
	"syscall"
	"testing"
	"time"

	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/example/memcached-operator/test/testenv"
)

// BenchmarkUnchanged reconciles an unchanged Memcached: it observes, renders, compares three
// objects and computes the status. The baseline is an operator that applies the three objects
// on every event.
func BenchmarkUnchanged(tb *testing.B) {
	b := start(tb)
	mgr, r, fresh := b.manager(tb, b.config(), "")
	ctx, cancel := context.WithCancel(tb.Context())
	done := make(chan error, 1)
	go func() { done <- mgr.Start(ctx) }()
	defer func() {
		cancel()
		testenv.NoError(tb, <-done)
	}()
	mc := b.NewMemcached(tb, "default", "settled", 3)
	b.EventuallyReady(tb, mc)
	request := ctrl.Request{NamespacedName: client.ObjectKeyFromObject(mc)}
	rendered, err := b.renderer.Render(mc)
	testenv.NoError(tb, err)

	tb.Run("apply-every-time", func(tb *testing.B) {
		for tb.Loop() {
			for _, object := range rendered {
				testenv.NoError(tb, b.Client.Apply(tb.Context(), client.ApplyConfigurationFromUnstructured(object.DeepCopy()), client.FieldOwner("memcached-operator"), client.ForceOwnership))
			}
		}
	})
	measure := func(tb *testing.B, reconcile func() (ctrl.Result, error)) {
		tb.Helper()
		_, err := reconcile()
		testenv.NoError(tb, err)
		b.writes.Store(0)
		tb.ReportAllocs()
		before := cpuTime()
		for tb.Loop() {
			_, err := reconcile()
			testenv.NoError(tb, err)
		}
		tb.ReportMetric(float64(cpuTime()-before)/float64(tb.N), "cpu-ns/op")
		tb.ReportMetric(float64(b.writes.Load()), "writes")
	}
	tb.Run("first-reconcile-after-a-restart", func(tb *testing.B) {
		measure(tb, func() (ctrl.Result, error) { return fresh().Reconcile(tb.Context(), request) })
	})
	tb.Run("reconcile", func(tb *testing.B) {
		measure(tb, func() (ctrl.Result, error) { return r.Reconcile(tb.Context(), request) })
	})
}

// cpuTime returns the CPU time of this process, including the garbage collector.
func cpuTime() time.Duration {
	var usage syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &usage); err != nil {
		return 0
	}
	return time.Duration(usage.Utime.Nano() + usage.Stime.Nano())
}
