// SPDX-License-Identifier: Apache-2.0

package fields

import (
	"maps"
	"slices"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/api/meta"

	"github.com/example/memcached-operator/test/testenv"
)

// removal is a change that removes a property, an item or an entry from a spec.
type removal struct {
	path          string
	before, after object
	// isImplied reports that the objects are the same without what is removed.
	isImplied bool
}

// removals are the removals of n from a spec that holds little else.
func removals(n *node) []removal {
	v, _ := valuesOf(n)
	switch {
	case slices.Contains([]string{"spec.size", "spec.proxy.size", "spec.paused"}, n.path): // no pods run here
		return nil
	case n.name != "":
		if _, ok := find(indispensable, n.path); ok || n.isRequired() {
			return nil
		}
		_, isImplied := find(implied, n.path)
		return []removal{{n.path, specWith(n, v.valid), specWithout(n), isImplied}}
	case n.parent.Type == "array":
		if n.parent.MaxItems != nil && *n.parent.MaxItems == 1 {
			return nil
		}
		items := repeated(n, 2)
		if len(n.parent.ListMapKeys) == 0 && len(v.boundary) > 0 {
			items[1] = v.boundary[0]
		}
		return []removal{
			{n.path + " first", specWith(n.parent, items), specWith(n.parent, items[1:]), false},
			{n.path + " last", specWith(n.parent, items), specWith(n.parent, items[:1]), false},
		}
	default:
		return []removal{{n.path, specWith(n.parent, entries(n, 2)), specWith(n.parent, entries(n, 1)), false}}
	}
}

// minRemovals is how many removals inside lists and maps there are at least.
const minRemovals = 100

// written returns the objects in namespace that the operator has written since the last call, sorted, each as its kind and
// name.
func written(namespace string) []string {
	objects := map[string]bool{}
	for _, request := range suite.recorder.Take(func(r testenv.Request) bool { return strings.Contains(r.Path, "/namespaces/"+namespace+"/") }) {
		path := strings.Split(request.Path, "/")
		resource, name := path[len(path)-2], path[len(path)-1]
		for _, kind := range suite.operator.Renderer.Kinds() {
			if plural, _ := meta.UnsafeGuessKindToResource(kind); plural.Resource == resource {
				objects[kind.Kind+" "+name] = true
			}
		}
	}
	return slices.Sorted(maps.Keys(objects))
}

func TestFields_RemovalsArrive(t *testing.T) {
	t.Parallel()
	var all []removal
	inside := 0
	for _, n := range specSchema(t).all() {
		of := removals(n)
		all = append(all, of...)
		if n.name == "" || strings.Contains(n.path, "[") {
			inside += len(of)
		}
	}
	t.Logf("%d removals, %d of them inside lists and maps", len(all), inside)
	if inside < minRemovals {
		t.Errorf("%d removals inside lists and maps, want at least %d", inside, minRemovals)
	}
	for _, r := range all {
		t.Run(r.path, func(t *testing.T) {
			t.Parallel()
			mc := newMemcached(t, r.before)
			settled(t, mc)
			before := children(t, mc)
			written(mc.Namespace)
			setSpec(t, mc, r.after)
			mustEqualFresh(t, mc, r.after)
			changed := children(t, mc).Changed(before)
			if !r.isImplied && len(changed) == 0 {
				t.Errorf("removing it changes nothing: %s", short(r.before))
			}
			if got := written(mc.Namespace); !slices.Equal(got, changed) {
				t.Errorf("the operator writes %q, and %q are changed", got, changed)
			}
			suite.Delete(t, mc)
		})
	}
}
