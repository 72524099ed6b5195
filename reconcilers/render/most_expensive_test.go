// SPDX-License-Identifier: Apache-2.0

package render

import (
	"flag"
	"maps"
	"math/rand/v2"
	"os"
	"reflect"
	"slices"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/yaml"

	cachev1alpha1 "github.com/example/memcached-operator/apis/v1alpha1"
	"github.com/example/memcached-operator/test/largest"
)

var search = flag.Int("search", 0, "search the most expensive Memcached in so many steps, and write it into testdata")

const mostExpensiveFile = "testdata/most-expensive.yaml"

// TestRender_MostExpensive renders the most expensive Memcached that admission and the limit
// of a spec allow. It was found by a search:
//
//	go test ./reconcilers/render -run MostExpensive -search 500
//
// BenchmarkRender/most-expensive measures the time it takes; the goal is 10 ms of CPU.
func TestRender_MostExpensive(t *testing.T) {
	if testing.Short() {
		t.Skip("make test-race is short, and under the race detector all allocate more")
	}
	r := mustNew(t, shipped(t), Defaults{AllowPrivilegedFields: true})
	if *search > 0 {
		mc := searchMostExpensive(t, r, *search)
		text, err := yaml.Marshal(mc)
		noError(t, err)
		noError(t, os.WriteFile(mostExpensiveFile, text, 0o600))
	}
	mc := readMemcached(t, mostExpensiveFile)
	spent, err := cost(t, r, mc)
	if err != nil {
		t.Fatalf("the most expensive Memcached is not accepted any more; search again: %v", err)
	}
	used := allocated(func() { mustRender(t, r, mc) })
	t.Logf("%v of CPU, %d KiB", spent, used>>10)
	if used > 12<<20 {
		t.Errorf("rendering allocates %d bytes", used)
	}
}

// cost returns the minimum CPU time of some renderings of mc, after its set of components was
// built.
func cost(tb testing.TB, r *Renderer, mc *cachev1alpha1.Memcached) (time.Duration, error) {
	tb.Helper()
	least := time.Hour
	if _, err := r.Render(mc); err != nil {
		return 0, err
	}
	for range 5 {
		start := cpuTime(tb)
		mustRender(tb, r, mc)
		least = min(least, cpuTime(tb)-start)
	}
	return least, nil
}

// searchMostExpensive removes and adds fields and patches of the largest spec and the most
// expensive patches, and keeps the more expensive Memcached.
func searchMostExpensive(t *testing.T, r *Renderer, steps int) *cachev1alpha1.Memcached {
	t.Helper()
	random := rand.New(rand.NewPCG(1, 2))
	patchLists := expensivePatches(8, 4<<10)
	for name, patches := range expensivePatches(4, 8<<10) {
		patchLists[name+", long"] = patches
	}
	patchLists["none"], patchLists["largest"] = nil, largest.Patches()
	names := slices.Sorted(maps.Keys(patchLists))

	build := func(fields map[int]bool, patches string, count int) *cachev1alpha1.Memcached {
		mc := &cachev1alpha1.Memcached{ObjectMeta: metav1.ObjectMeta{Name: "sample", Namespace: "default", UID: "u"}}
		from, to := reflect.ValueOf(new(largest.Spec())).Elem(), reflect.ValueOf(&mc.Spec).Elem()
		for i := range from.NumField() {
			if fields[i] || from.Type().Field(i).Name == "ContainerPort" || from.Type().Field(i).Name == "Size" {
				to.Field(i).Set(from.Field(i))
			}
		}
		mc.Spec.Patches = patchLists[patches][:min(count, len(patchLists[patches]))]
		return mc
	}
	fields, patches, count := map[int]bool{}, "none", 8
	best, most := build(fields, patches, count), time.Duration(0)
	for range steps {
		next, nextPatches, nextCount := maps.Clone(fields), patches, count
		for range 1 + random.IntN(4) {
			i := random.IntN(reflect.TypeFor[cachev1alpha1.MemcachedSpec]().NumField())
			next[i] = !next[i]
		}
		switch random.IntN(3) {
		case 0:
			nextPatches = names[random.IntN(len(names))]
		case 1:
			nextCount = 1 + random.IntN(8)
		}
		mc := build(next, nextPatches, nextCount)
		spent, err := cost(t, r, mc)
		if err == nil && spent > most {
			t.Logf("%v: %d fields, %d patches of %q", spent, len(next), nextCount, nextPatches)
			fields, patches, count, best, most = next, nextPatches, nextCount, mc, spent
		}
	}
	return best
}
