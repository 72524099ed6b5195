// SPDX-License-Identifier: Apache-2.0

package render

import (
	"fmt"
	"runtime"
	"testing"

	"k8s.io/apimachinery/pkg/api/resource"

	cachev1alpha1 "github.com/example/memcached-operator/apis/v1alpha1"
)

// ofSet returns a Memcached of the i-th of 1,024 sets of components.
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

// BenchmarkFirstRender renders the first Memcached of a set of components: at most 60 ms
// plain and 250 ms with every field, and the most expensive Memcached with at most 100 ms of
// CPU. Beside it stands one krusty build of that set.
func BenchmarkFirstRender(b *testing.B) {
	tree := shipped(b)
	r := mustNew(b, tree, Defaults{AllowPrivilegedFields: true})
	every := everyField(b, tree)
	every.Spec.Patches = nil
	for name, mc := range map[string]*cachev1alpha1.Memcached{
		"plain": plain(), "every": every, "most-expensive": readMemcached(b, mostExpensiveFile),
	} {
		b.Run(name+"/krusty", func(b *testing.B) {
			in, err := r.input(mc)
			if err != nil {
				b.Fatal(err)
			}
			p, err := r.prebuiltFor(in, nil)
			if err != nil {
				b.Fatal(err)
			}
			b.ReportAllocs()
			for b.Loop() {
				if _, err := p.fullBuild(in); err != nil {
					b.Fatal(err)
				}
			}
		})
		b.Run(name+"/first", func(b *testing.B) {
			b.ReportAllocs()
			runtime.GC()
			start := cpuTime(b)
			for b.Loop() {
				r.sets.Clear()
				mustRender(b, r, mc)
			}
			b.ReportMetric(float64((cpuTime(b)-start).Nanoseconds())/float64(b.N), "cpu-ns/op")
		})
	}
}

// BenchmarkRenderSets renders 1,000 Memcacheds a second time, of one set of components
// and of 1,000 sets: the latter as fast as the former, but for the values it copies. It
// also tells how much memory a set takes.
func BenchmarkRenderSets(b *testing.B) {
	r := mustNew(b, shipped(b), Defaults{AllowPrivilegedFields: true})
	const n = 1000
	for name, set := range map[string]func(i int) int{"1000 sets": func(i int) int { return i }, "1 set": func(int) int { return n - 1 }} {
		b.Run(name, func(b *testing.B) {
			r.sets.Clear()
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

// heap is how many bytes are in use.
func heap() int64 {
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int64(m.HeapAlloc)
}
