// SPDX-License-Identifier: Apache-2.0

//go:build e2e

package keys

import (
	"slices"
	"sync"
	"testing"
	"time"

	cachev1alpha1 "github.com/example/memcached-operator/apis/v1alpha1"
	"github.com/example/memcached-operator/test/testenv"
)

// getCount is the number of gets of each client whose cost is measured.
const getCount = 20000

// TestCost_OfAGet measures what a get takes by the stable names and by the proxies, of 1, 2 and 4 clients at once, on a machine that
// they share with the whole cluster: only the ratios count.
func TestCost_OfAGet(t *testing.T) {
	namespace := suite.NewNamespace(t)
	n := newNode(t)
	mc := suite.Ready(t, suite.NewMemcached(t, namespace, "cache", 2, func(spec *cachev1alpha1.MemcachedSpec) { spec.Proxy = &cachev1alpha1.Proxy{} }))
	var nodes, between []int
	for _, pod := range suite.Pods(t, namespace, mc.Name) {
		nodes = append(nodes, memcachedOf(t, &pod))
	}
	for _, pod := range proxies(t, mc) {
		between = append(between, memcachedOf(t, &pod))
	}
	for _, concurrency := range []int{1, 2, 4} {
		for _, of := range []func() *reader{
			func() *reader { return byName(n, func() []string { return mc.Status.Servers }) },
			func() *reader { return byProxy(n, mc.Status.Endpoint) },
		} {
			var readers []*reader
			for range concurrency {
				r := of()
				r.set(t)
				readers = append(readers, r)
			}
			nodesBefore, proxiesBefore, started := processorTime(t, nodes), processorTime(t, between), time.Now()
			times := timed(t, readers)
			took, each := time.Since(started), func(d time.Duration) time.Duration { return d / time.Duration(len(times)) }
			t.Logf("| %s | %d clients | %d gets a second | median %s, p99 %s | CPU of memcached %s, of the proxies %s a get |", readers[0].name, concurrency,
				int(float64(len(times))/took.Seconds()), times[len(times)/2], times[len(times)*99/100],
				each(processorTime(t, nodes)-nodesBefore), each(processorTime(t, between)-proxiesBefore))
		}
	}
}

// timed lets each of readers get keys, and returns the times of all gets, sorted.
func timed(t *testing.T, readers []*reader) (all []time.Duration) {
	t.Helper()
	var group sync.WaitGroup
	var mu sync.Mutex
	for _, r := range readers {
		r.tally = tally{}
		group.Go(func() {
			var times []time.Duration
			for i := range getCount {
				started := time.Now()
				r.get(t.Context(), i%keyCount)
				times = append(times, time.Since(started))
			}
			mu.Lock()
			defer mu.Unlock()
			all = append(all, times...)
		})
	}
	group.Wait()
	for _, r := range readers {
		if r.hits != getCount {
			t.Errorf("%s: %d hits, %d misses, %d errors: %v", r.name, r.hits, r.misses, r.errors, r.last)
		}
	}
	slices.Sort(all)
	return all
}

// processorTime returns what processes have used.
func processorTime(t *testing.T, pids []int) (sum time.Duration) {
	t.Helper()
	for _, pid := range pids {
		sum += testenv.ProcessorTime(t, pid)
	}
	return sum
}
