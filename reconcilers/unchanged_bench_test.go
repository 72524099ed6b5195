// SPDX-License-Identifier: Apache-2.0

package reconcilers_test

import (
	"context"
	"net/http"
	"sync/atomic"
	"testing"

	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/example/memcached-operator/test/testenv"
)

// BenchmarkUnchanged reconciles an unchanged Memcached: it observes, renders, compares three objects and computes the
// status. The baseline is an operator that applies the three objects on every event.
func BenchmarkUnchanged(b *testing.B) {
	namespace := suite.NewNamespace(b)
	ctx, cancel := context.WithCancel(b.Context())
	var writes atomic.Int64
	manager, err := suite.StartManager(ctx, testenv.ManagerOptions{Namespaces: []string{namespace}, Wrap: func(next http.RoundTripper) http.RoundTripper {
		return testenv.RoundTripper(func(req *http.Request) (*http.Response, error) {
			if req.Method != http.MethodGet {
				writes.Add(1)
			}
			return next.RoundTrip(req)
		})
	}})
	testenv.NoError(b, err)
	defer func() {
		cancel()
		testenv.NoError(b, manager.Wait())
	}()
	mc := suite.NewMemcached(b, namespace, "settled", 3)
	suite.EventuallyReady(b, mc)
	rendered, err := manager.Renderer.Render(mc)
	testenv.NoError(b, err)

	b.Run("apply-every-time", func(b *testing.B) {
		for b.Loop() {
			for _, object := range rendered {
				testenv.NoError(b, suite.Client.Apply(b.Context(), client.ApplyConfigurationFromUnstructured(object.DeepCopy()), client.FieldOwner("baseline"), client.ForceOwnership))
			}
		}
	})
	b.Run("reconcile", func(b *testing.B) {
		request := ctrl.Request{NamespacedName: client.ObjectKeyFromObject(mc)}
		writes.Store(0)
		b.ReportAllocs()
		for b.Loop() {
			_, err := manager.Reconciler.Reconcile(b.Context(), request)
			testenv.NoError(b, err)
		}
		b.ReportMetric(float64(writes.Load()), "writes")
	})
}
