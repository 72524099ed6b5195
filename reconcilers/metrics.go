// SPDX-License-Identifier: Apache-2.0

package reconcilers

import (
	"sync"

	"github.com/prometheus/client_golang/prometheus"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	toolscache "k8s.io/client-go/tools/cache"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/metrics"

	cachev1alpha1 "github.com/example/memcached-operator/apis/v1alpha1"
)

var (
	objects = prometheus.NewCounterVec(prometheus.CounterOpts{
		Name: "memcached_operator_objects_total",
		Help: "Objects by kind and action: unchanged, created, configured, conflict, waiting, failed, deferred or pruned.",
	}, []string{"kind", "action"})

	renderSeconds = prometheus.NewHistogram(prometheus.HistogramOpts{
		Name:    "memcached_operator_render_duration_seconds",
		Help:    "How long rendering the templates for one Memcached took.",
		Buckets: prometheus.ExponentialBuckets(0.00025, 2, 12),
	})

	memcachedsDesc = prometheus.NewDesc("memcached_operator_memcacheds",
		"Memcacheds by condition type and status.", []string{"condition", "status"}, nil)

	pacingDesc = prometheus.NewDesc("memcached_operator_rollout_memcacheds",
		"Memcacheds of a rollout of changed templates that are not done, by state: waiting, replacing pods, or stalled, which halts the rollout.",
		[]string{"state"}, nil)
)

func init() {
	metrics.Registry.MustRegister(objects, renderSeconds)
}

// memcacheds is a collector that counts the Memcacheds in the cache by condition. It handles the
// informer's events, since a list of the cache for each scrape takes memory in proportion to the
// number of Memcacheds.
type memcacheds struct {
	mu     sync.Mutex
	counts map[conditionStatus]int
}

// conditionStatus is the type of a condition, and its status.
type conditionStatus struct {
	condition string
	status    metav1.ConditionStatus
}

// newMemcacheds returns a collector that has counted nothing yet.
func newMemcacheds() *memcacheds {
	return &memcacheds{counts: map[conditionStatus]int{}}
}

// watch adds m to the event handlers of informer, which is that of Memcacheds.
func (m *memcacheds) watch(informer cache.Informer) error {
	_, err := informer.AddEventHandler(toolscache.ResourceEventHandlerFuncs{
		AddFunc:    func(object any) { m.add(object, 1) },
		UpdateFunc: func(before, after any) { m.add(before, -1); m.add(after, 1) },
		DeleteFunc: func(object any) { m.add(object, -1) },
	})
	return err
}

// add adds n to the counts of the conditions of object.
func (m *memcacheds) add(object any, n int) {
	if missed, ok := object.(toolscache.DeletedFinalStateUnknown); ok {
		object = missed.Obj
	}
	mc, ok := object.(*cachev1alpha1.Memcached)
	if !ok {
		return
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, c := range mc.Status.Conditions {
		m.counts[conditionStatus{c.Type, c.Status}] += n
	}
}

// Describe implements prometheus.Collector.
func (m *memcacheds) Describe(descriptions chan<- *prometheus.Desc) {
	descriptions <- memcachedsDesc
}

// Collect implements prometheus.Collector.
func (m *memcacheds) Collect(out chan<- prometheus.Metric) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for key, count := range m.counts {
		if count == 0 {
			// Otherwise condition types of other controllers would accumulate.
			delete(m.counts, key)
			continue
		}
		out <- prometheus.MustNewConstMetric(memcachedsDesc, prometheus.GaugeValue, float64(count), key.condition, string(key.status))
	}
}

// pacingCollector collects the counts of the roll-out of the templates in use.
type pacingCollector struct{ reconciler *Reconciler }

// Describe implements prometheus.Collector.
func (c pacingCollector) Describe(descriptions chan<- *prometheus.Desc) { descriptions <- pacingDesc }

// Collect implements prometheus.Collector.
func (c pacingCollector) Collect(collected chan<- prometheus.Metric) {
	counts := c.reconciler.templates.Load().pacing.Counts()
	for state, n := range map[string]int{"waiting": counts.Waiting, "replacing": counts.Replacing, "stalled": counts.Stalled} {
		collected <- prometheus.MustNewConstMetric(pacingDesc, prometheus.GaugeValue, float64(n), state)
	}
}
