// SPDX-License-Identifier: Apache-2.0

package reconcilers

import (
	"context"

	"github.com/prometheus/client_golang/prometheus"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/metrics"

	cachev1alpha1 "github.com/example/memcached-operator/apis/v1alpha1"
)

var (
	objects = prometheus.NewCounterVec(prometheus.CounterOpts{
		Name: "memcached_operator_objects_total",
		Help: "Rendered objects by kind and what was done about them: skipped, created, configured, refused, waiting, failed or pruned.",
	}, []string{"kind", "action"})

	renderSeconds = prometheus.NewHistogram(prometheus.HistogramOpts{
		Name:    "memcached_operator_render_duration_seconds",
		Help:    "How long rendering the templates for one Memcached took.",
		Buckets: prometheus.ExponentialBuckets(0.00025, 2, 12),
	})

	memcachedsDesc = prometheus.NewDesc("memcached_operator_memcacheds",
		"Memcacheds by condition type and status.", []string{"condition", "status"}, nil)
)

func init() {
	metrics.Registry.MustRegister(objects, renderSeconds)
}

// memcacheds counts Memcacheds by condition when it is scraped, from the cache.
type memcacheds struct {
	reader client.Reader
}

// Describe implements prometheus.Collector.
func (m memcacheds) Describe(descriptions chan<- *prometheus.Desc) {
	descriptions <- memcachedsDesc
}

// Collect implements prometheus.Collector.
func (m memcacheds) Collect(out chan<- prometheus.Metric) {
	list := &cachev1alpha1.MemcachedList{}
	// Only read, never changed: no copy is needed. A cache that has not started yet
	// has nothing to count.
	if err := m.reader.List(context.Background(), list, client.UnsafeDisableDeepCopy); err != nil {
		return
	}
	counts := map[[2]string]int{}
	for _, mc := range list.Items {
		for _, c := range mc.Status.Conditions {
			counts[[2]string{c.Type, string(c.Status)}]++
		}
	}
	for key, count := range counts {
		out <- prometheus.MustNewConstMetric(memcachedsDesc, prometheus.GaugeValue, float64(count), key[0], key[1])
	}
}
