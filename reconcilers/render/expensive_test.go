// SPDX-License-Identifier: Apache-2.0

package render

import (
	"fmt"
	"runtime"
	"strings"
	"syscall"
	"testing"
	"time"

	cachev1alpha1 "github.com/example/memcached-operator/apis/v1alpha1"
	"github.com/example/memcached-operator/reconcilers/render/patch"
)

// patchedKinds lists the kinds that every Memcached has.
var patchedKinds = []string{"Deployment", "Service", "PodDisruptionBudget"}

// expensivePatches returns lists of count patches of at most length characters each,
// by what makes them expensive.
func expensivePatches(count, length int) map[string][]cachev1alpha1.Patch {
	result := map[string][]cachev1alpha1.Patch{}
	for _, writers := range []map[string]func(i int) cachev1alpha1.Patch{
		expensiveJSONPatches(length), expensiveMerges(length), otherExpensivePatches(count, length),
	} {
		for name, write := range writers {
			for i := range count {
				result[name] = append(result[name], write(i))
			}
		}
	}
	return result
}

// expensiveJSONPatches returns functions that return the i-th patch of a list.
func expensiveJSONPatches(length int) map[string]func(i int) cachev1alpha1.Patch {
	return map[string]func(i int) cachev1alpha1.Patch{
		"operations": func(i int) cachev1alpha1.Patch {
			return patchOf("Deployment", "["+repeat(length-2, 7, func(j int) string { return fmt.Sprintf("{op: add, path: /metadata/labels/a%dx%d, value: b},", i, j) })+"]")
		},
		"tests of the whole": func(int) cachev1alpha1.Patch {
			return patchOf("Deployment", "["+repeat(length-2, 7, func(int) string { return "{op: test, path: /spec, value: {}}," })+"]")
		},
		"moves": func(int) cachev1alpha1.Patch {
			return patchOf("Deployment", "["+repeat(length-2, 7, func(j int) string {
				paths := []string{"/spec/template", "/metadata/annotations"}
				return fmt.Sprintf("{op: move, from: %s, path: %s},", paths[j%2], paths[(j+1)%2])
			})+"]")
		},
		"inserts at the front": func(int) cachev1alpha1.Patch {
			return patchOf("Deployment", "["+repeat(length-2, 7, func(int) string { return "{op: add, path: /spec/template/spec/containers/0/command/0, value: a}," })+"]")
		},
	}
}

// expensiveMerges is like expensiveJSONPatches, for strategic merge patches.
func expensiveMerges(length int) map[string]func(i int) cachev1alpha1.Patch {
	return map[string]func(i int) cachev1alpha1.Patch{
		"a list merged by key": func(i int) cachev1alpha1.Patch {
			return inContainers(repeat(length-60, 3, func(j int) string { return fmt.Sprintf("{name: c%d},", i*1000+j) }))
		},
		"the same list again": func(int) cachev1alpha1.Patch {
			return inContainers(repeat(length-60, 3, func(j int) string { return fmt.Sprintf("{name: c%d},", j) }))
		},
		"lists in a list merged by key": func(i int) cachev1alpha1.Patch {
			return inContainers(repeat(length-60, 13, func(j int) string {
				return fmt.Sprintf("{name: c%d,env: [{name: A}],ports: [{containerPort: %d}]},", j%50, j+i)
			}))
		},
		"environment variables": func(i int) cachev1alpha1.Patch {
			return inContainers("{name: memcached,env: [" + repeat(length-90, 3, func(j int) string { return fmt.Sprintf("{name: A%d},", i*1000+j) }) + "]}")
		},
		"deep maps": func(int) cachev1alpha1.Patch {
			return patchOf("Deployment", "metadata: {annotations: "+strings.Repeat("{a: ", 29)+"b"+strings.Repeat("}", 29)+"}")
		},
	}
}

// otherExpensivePatches is like expensiveJSONPatches, for patches of any form.
func otherExpensivePatches(count, length int) map[string]func(i int) cachev1alpha1.Patch {
	return map[string]func(i int) cachev1alpha1.Patch{
		"broken YAML": func(int) cachev1alpha1.Patch { return patchOf("Deployment", strings.Repeat("[", length)) },
		"comments": func(int) cachev1alpha1.Patch {
			return patchOf("Deployment", strings.Repeat("#\n", length/2-20)+"spec: {}")
		},
		"escapes": func(i int) cachev1alpha1.Patch {
			return patchOf("Deployment", fmt.Sprintf("metadata: {annotations: {a%d: \"%s\"}}", i, strings.Repeat(`\0`, length/2-30)))
		},
		"every kind": func(i int) cachev1alpha1.Patch {
			return patchOf(patchedKinds[i%len(patchedKinds)], "metadata: {annotations: {"+repeat(length-40, 2, func(j int) string { return fmt.Sprintf("a%dx%d: b,", i, j) })+"}}")
		},
		"both forms in turn": func(i int) cachev1alpha1.Patch {
			if i%2 == 0 {
				return inContainers(repeat(length-60, 3, func(j int) string { return fmt.Sprintf("{name: c%d},", i*1000+j) }))
			}
			return patchOf("Deployment", "["+repeat(length-2, 7, func(j int) string {
				return fmt.Sprintf("{op: add, path: /spec/template/spec/containers/%d/tty, value: true},", j)
			})+"]")
		},
		"an error at the end": func(i int) cachev1alpha1.Patch {
			more := ""
			if i == count-1 {
				more = ",minReadySeconds: soon"
			}
			return patchOf("Deployment", "spec: {template: {spec: {containers: ["+repeat(length-90, 3, func(j int) string { return fmt.Sprintf("{name: c%d},", i*1000+j) })+"]}}"+more+"}")
		},
	}
}

func inContainers(elements string) cachev1alpha1.Patch {
	return patchOf("Deployment", "spec: {template: {spec: {containers: ["+elements+"]}}}")
}

// repeat returns as many parts, of values keys and values each, as a patch of length
// characters may contain.
func repeat(length, values int, part func(i int) string) string {
	var b strings.Builder
	for i := 0; ; i++ {
		next := part(i)
		if b.Len()+len(next) > length || (i+1)*values > patch.MaxValues-20 {
			return b.String()
		}
		b.WriteString(next)
	}
}

// withPatches returns a Memcached with as many of patches as the limit of a spec allows.
func withPatches(tb testing.TB, patches []cachev1alpha1.Patch) *cachev1alpha1.Memcached {
	tb.Helper()
	for count := len(patches); count > 0; count-- {
		mc := plain()
		mc.Spec.Patches = patches[:count]
		in, err := newInput(mc, Values{})
		noError(tb, err)
		if checkSpec(in.Memcached["spec"].(map[string]any)) == nil {
			return mc
		}
	}
	tb.Fatal("no patch is within the limit")
	return nil
}

// cpuTime returns the CPU time of this process.
func cpuTime(tb testing.TB) time.Duration {
	tb.Helper()
	var usage syscall.Rusage
	noError(tb, syscall.Getrusage(syscall.RUSAGE_SELF, &usage))
	return time.Duration(usage.Utime.Nano() + usage.Stime.Nano())
}

// allocated returns the number of bytes that function allocates. Nothing else may run meanwhile.
func allocated(function func()) uint64 {
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	function()
	runtime.ReadMemStats(&after)
	return after.TotalAlloc - before.TotalAlloc
}

// TestPatches_AllocateLittle renders the most expensive patches that admission and the limit of
// a spec allow: 32 KiB of patches. BenchmarkExpensivePatches measures their time; the goal is
// 10 ms of CPU per rendering.
func TestPatches_AllocateLittle(t *testing.T) {
	r := mustNew(t, shipped(t), Defaults{AllowPrivilegedFields: true})
	mustRender(t, r, plain())
	patchLists := expensivePatches(8, 4<<10)
	for name, patches := range expensivePatches(4, 8<<10) {
		patchLists[name+", long"] = patches
	}
	for name, patches := range patchLists {
		mc := withPatches(t, patches)
		var err error
		used := allocated(func() { _, err = r.Render(mc) })
		t.Logf("%-36s %d patches %6d KiB, %v", name, len(mc.Spec.Patches), used>>10, err)
		if used > 16<<20 {
			t.Errorf("%s: rendering allocates %d bytes", name, used)
		}
	}
}

func BenchmarkExpensivePatches(b *testing.B) {
	r := mustNew(b, shipped(b), Defaults{AllowPrivilegedFields: true})
	for name, patches := range expensivePatches(8, 4<<10) {
		b.Run(name, func(b *testing.B) {
			mc := withPatches(b, patches)
			b.ReportAllocs()
			for b.Loop() {
				_, _ = r.Render(mc)
			}
		})
	}
}
