// SPDX-License-Identifier: Apache-2.0

package reconcilers

import (
	"context"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/intstr"
	ctrl "sigs.k8s.io/controller-runtime"

	"github.com/example/memcached-operator/reconcilers/pacing"
)

// A Memcached whose reconcile panics does not keep the others from the changed templates.
func TestReconcile_ReportsPanicToRollout(t *testing.T) {
	t.Parallel()
	broken, other := types.NamespacedName{Name: "broken"}, types.NamespacedName{Name: "other"}
	now := time.Now()
	var woken []types.NamespacedName
	limiter := pacing.New(intstr.FromInt32(1), func(context.Context) ([]types.NamespacedName, error) {
		return []types.NamespacedName{broken, other}, nil
	}, func(key types.NamespacedName) { woken = append(woken, key) }, func() time.Time { return now })
	if limiter.MayReplacePods(t.Context(), pacing.Candidate{NamespacedName: other}) {
		t.Fatal("it begins before each Memcached was reconciled")
	}
	limiter.Report(t.Context(), other, pacing.Outcome{Deferred: true})
	r := &Reconciler{} // It panics, without a client.
	r.templates.Store(&templateSet{pacing: limiter})
	for range 2 {
		if len(woken) > 0 {
			t.Fatal("it begins at once")
		}
		func() {
			defer func() {
				if recover() == nil {
					t.Error("there was no panic")
				}
			}()
			_, _ = r.Reconcile(t.Context(), ctrl.Request{NamespacedName: broken})
		}()
		now = now.Add(2 * time.Minute)
	}
	if len(woken) != 1 || woken[0] != other {
		t.Errorf("%v begin, want %v", woken, other)
	}
}
