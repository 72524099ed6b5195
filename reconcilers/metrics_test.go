// SPDX-License-Identifier: Apache-2.0

package reconcilers

import (
	"maps"
	"testing"

	"github.com/prometheus/client_golang/prometheus"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	toolscache "k8s.io/client-go/tools/cache"

	cachev1alpha1 "github.com/example/memcached-operator/apis/v1alpha1"
)

// TestMemcacheds_CountsByCondition feeds the collector events and compares what it reports with
// a count of the Memcacheds that then exist.
func TestMemcacheds_CountsByCondition(t *testing.T) {
	t.Parallel()
	with := func(conditions ...metav1.Condition) *cachev1alpha1.Memcached {
		return &cachev1alpha1.Memcached{Status: cachev1alpha1.MemcachedStatus{Conditions: conditions}}
	}
	ready := metav1.Condition{Type: "Ready", Status: metav1.ConditionTrue}
	notReady := metav1.Condition{Type: "Ready", Status: metav1.ConditionFalse}
	stalled := metav1.Condition{Type: "Stalled", Status: metav1.ConditionTrue}
	for name, test := range map[string]struct {
		events func(m *memcacheds)
		want   map[string]float64
	}{
		"nothing exists": {func(*memcacheds) {}, map[string]float64{}},
		"two were added": {
			func(m *memcacheds) { m.add(with(ready), 1); m.add(with(notReady, stalled), 1) },
			map[string]float64{"Ready=True": 1, "Ready=False": 1, "Stalled=True": 1},
		},
		"one became ready": {
			func(m *memcacheds) {
				m.add(with(notReady, stalled), 1)
				m.add(with(notReady, stalled), -1)
				m.add(with(ready), 1)
			},
			map[string]float64{"Ready=True": 1},
		},
		"follows a deletion that the watch missed": {
			func(m *memcacheds) {
				m.add(with(ready), 1)
				m.add(with(ready), 1)
				m.add(toolscache.DeletedFinalStateUnknown{Obj: with(ready)}, -1)
			},
			map[string]float64{"Ready=True": 1},
		},
		"ignores an event without a Memcached": {func(m *memcacheds) { m.add(nil, 1) }, map[string]float64{}},
	} {
		t.Run(name, func(t *testing.T) {
			m := newMemcacheds()
			test.events(m)
			if got := collected(t, m); !maps.Equal(got, test.want) {
				t.Errorf("%v, want %v", got, test.want)
			}
		})
	}
}

// collected returns what c reports, by condition and status.
func collected(t *testing.T, c prometheus.Collector) map[string]float64 {
	t.Helper()
	registry := prometheus.NewPedanticRegistry()
	if err := registry.Register(c); err != nil {
		t.Fatal(err)
	}
	families, err := registry.Gather()
	if err != nil {
		t.Fatal(err)
	}
	found := map[string]float64{}
	for _, family := range families {
		for _, metric := range family.Metric {
			labels := map[string]string{}
			for _, label := range metric.Label {
				labels[label.GetName()] = label.GetValue()
			}
			found[labels["condition"]+"="+labels["status"]] = metric.GetGauge().GetValue()
		}
	}
	return found
}
