// SPDX-License-Identifier: Apache-2.0

package render

import (
	"fmt"
	"runtime"
	"testing"

	"k8s.io/apimachinery/pkg/api/resource"

	cachev1alpha1 "github.com/example/memcached-operator/apis/v1alpha1"
)

// ofSet returns a Memcached with the i-th of 1,024 sets of components.
func ofSet(i int) *cachev1alpha1.Memcached {
	mc := named(fmt.Sprintf("cache-%d", i))
	s := &mc.Spec
	for bit, set := range []func(){
		func() { s.Threads = new(int32(8)) },
		func() { s.MaxConnections = new(int32(2048)) },
		func() { s.Verbosity = new(int32(1)) },
		func() { s.Memory = resource.NewQuantity(128<<20, resource.BinarySI) },
		func() { s.IdleTimeoutSeconds = new(int32(60)) },
		func() { s.MinReadySeconds = new(int32(10)) },
		func() { s.PreStop = &cachev1alpha1.PreStop{SleepSeconds: 3} },
		func() { s.TerminationGracePeriodSeconds = new(int64(60)) },
		func() { s.NodeSelector = map[string]cachev1alpha1.LabelValue{"disk": "ssd"} },
		func() { s.MaxItemSize = resource.NewQuantity(2<<20, resource.BinarySI) },
	} {
		if i&(1<<bit) != 0 {
			set()
		}
	}
	return mc
}

// BenchmarkFirstRender measures rendering the first Memcached of a set of components, and a
// full kustomize build of that set. The goals are 60 ms plain, 250 ms with every field, and
// 100 ms of CPU for the most expensive Memcached.
func BenchmarkFirstRender(b *testing.B) {
	tree := shipped(b)
	r := mustNew(b, tree, Defaults{AllowPrivilegedFields: true})
	every := everyField(b, tree)
	every.Spec.Patches = nil
	for name, mc := range map[string]*cachev1alpha1.Memcached{
		"plain": plain(), "every": every, "most-expensive": readMemcached(b, mostExpensiveFile),
	} {
		b.Run(name+"/krusty", func(b *testing.B) { benchmarkFullBuild(b, r, mc) })
		b.Run(name+"/first", func(b *testing.B) {
			b.ReportAllocs()
			runtime.GC()
			start := cpuTime(b)
			for b.Loop() {
				r.sets.cache.Clear()
				mustRender(b, r, mc)
			}
			b.ReportMetric(float64((cpuTime(b)-start).Nanoseconds())/float64(b.N), "cpu-ns/op")
		})
	}
}

// BenchmarkRenderSets renders 1,000 Memcacheds a second time, with one set of components and
// with 1,000 sets: apart from the values that are copied, both take the same time. It also
// reports the memory of a set.
func BenchmarkRenderSets(b *testing.B) {
	r := mustNew(b, shipped(b), Defaults{AllowPrivilegedFields: true})
	const n = 1000
	for name, set := range map[string]func(i int) int{"1000 sets": func(i int) int { return i }, "1 set": func(int) int { return n - 1 }} {
		b.Run(name, func(b *testing.B) {
			r.sets.cache.Clear()
			before := heap()
			for i := range n {
				mustRender(b, r, ofSet(set(i)))
			}
			perSet := float64(heap()-before) / n
			b.ResetTimer()
			for b.Loop() {
				for i := range n {
					mustRender(b, r, ofSet(set(i)))
				}
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/n, "ns/render")
			b.ReportMetric(perSet, "B/Memcached")
		})
	}
}

// heap returns the size of the heap in bytes.
func heap() int64 {
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int64(m.HeapAlloc)
}
