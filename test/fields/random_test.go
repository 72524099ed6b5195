// SPDX-License-Identifier: Apache-2.0

package fields

import (
	"encoding/json"
	"flag"
	"maps"
	"math/rand/v2"
	"reflect"
	"slices"
	"testing"

	utiljson "k8s.io/apimachinery/pkg/util/json"
)

// The walk is the same in each run with the same flags. Most specs have a set of features of their own, which takes
// a build of the templates: 500 steps take about four minutes.
var (
	stepsFlag = flag.Int("steps", 30, "the length of the random walk")
	seedFlag  = flag.Uint64("seed", 1, "the seed of the random walk")
)

// maxSpec is the length of a spec's JSON, in bytes, from which on the walk removes more than it adds.
const maxSpec = 6000

// TestFields_RandomWalkEqualsFresh changes a Memcached at random. After each step its objects are those of a
// new Memcached with the same spec. A step is up to three changes at once, so that the operator may see the
// second one while the cache does not show the first; objects may be impossible in between.
func TestFields_RandomWalkEqualsFresh(t *testing.T) {
	t.Parallel()
	g := &specGenerator{t: t, walker: &walker{namespace: suite.NewNamespace(t), renderer: suite.operator.Renderer}, nodes: specSchema(t).all(),
		random: rand.New(rand.NewPCG(*seedFlag, 0))}
	spec := object{}
	mc := newMemcached(t, spec)
	changes := 0
	for range *stepsFlag {
		for range g.random.IntN(3) {
			spec = g.next(spec, g.isAccepted)
			setSpec(t, mc, spec)
			changes++
		}
		spec = g.next(spec, g.isApplicable)
		setSpec(t, mc, spec)
		changes++
		mustEqualFresh(t, mc, spec)
	}
	t.Logf("%d changes in %d steps; %d specs were not accepted", changes, *stepsFlag, g.refused)
}

// specGenerator changes specs at random.
type specGenerator struct {
	*walker
	t      *testing.T
	nodes  []*node
	random *rand.Rand
	// refused counts the specs that the API server or the renderer did not accept.
	refused int
}

// isAccepted returns an error if the API server does not accept a Memcached with spec.
func (g *specGenerator) isAccepted(spec object) error {
	_, err := g.submit(g.t.Context(), spec)
	return err
}

// isApplicable returns an error if the objects for spec cannot be rendered, or the API server does not take them.
func (g *specGenerator) isApplicable(spec object) error {
	objects, err := g.render(g.t.Context(), spec)
	if err != nil {
		return err
	}
	return g.mustTake(g.t.Context(), objects)
}

// next is a spec that differs from spec in one place and for which check returns no error.
func (g *specGenerator) next(spec object, check func(object) error) object {
	g.t.Helper()
	var last error
	for range 1000 {
		changed := withoutPods(g.change(spec))
		if reflect.DeepEqual(changed, withoutPods(spec)) {
			continue
		}
		err := check(changed)
		if err == nil {
			return changed
		}
		g.refused++
		last = err
	}
	g.t.Fatalf("there is no valid spec near %s: %v", short(spec), last)
	return nil
}

// change adds to a copy of spec a value of some property, or removes something from it.
func (g *specGenerator) change(spec object) object {
	content, err := json.Marshal(spec)
	if err != nil {
		g.t.Fatal(err)
	}
	removes := 1 // of 2
	if len(content) > maxSpec {
		removes = 2
	}
	if all := places(spec); len(all) > 0 && g.random.IntN(2) < removes {
		return remove(spec, all[g.random.IntN(len(all))]).(object)
	}
	n := g.nodes[g.random.IntN(len(g.nodes))]
	v, _ := valuesOf(n)
	candidates := slices.Concat(list{v.valid}, v.boundary, v.empty, v.distinct, v.accepted)
	return g.merge(copyOf(spec), copyOf(specWith(n, candidates[g.random.IntN(len(candidates))]))).(object)
}

// merge sets in to what value has. Items of lists are appended or merged into an item of to, or take the
// place of all.
func (g *specGenerator) merge(to, value any) any {
	switch value := value.(type) {
	case object:
		fields, ok := to.(object)
		if !ok {
			return value
		}
		for _, name := range slices.Sorted(maps.Keys(value)) {
			fields[name] = g.merge(fields[name], value[name])
		}
		return fields
	case list:
		items, ok := to.(list)
		if !ok || len(items) == 0 || len(value) == 0 {
			return value
		}
		switch g.random.IntN(3) {
		case 0:
			return append(items, value...)
		case 1:
			i := g.random.IntN(len(items))
			items[i] = g.merge(items[i], value[0])
			return items
		}
		return value
	default:
		return value
	}
}

// place is where a value is in a spec: names of properties and entries, and indexes of items.
type place []any

// places are all places in value, in order.
func places(value any) []place {
	var result []place
	add := func(key, below any) {
		result = append(result, place{key})
		for _, p := range places(below) {
			result = append(result, append(place{key}, p...))
		}
	}
	switch value := value.(type) {
	case object:
		for _, name := range slices.Sorted(maps.Keys(value)) {
			add(name, value[name])
		}
	case list:
		for i, item := range value {
			add(i, item)
		}
	}
	return result
}

// remove is a copy of value without what is at p.
func remove(value any, p place) any {
	switch value := value.(type) {
	case object:
		name := p[0].(string)
		if len(p) == 1 {
			return without(value, name)
		}
		return with(value, name, remove(value[name], p[1:]))
	case list:
		i := p[0].(int)
		if len(p) == 1 {
			return slices.Delete(slices.Clone(value), i, i+1)
		}
		items := slices.Clone(value)
		items[i] = remove(items[i], p[1:])
		return items
	default:
		return value
	}
}

// copyOf is a deep copy of value as it is read from JSON.
func copyOf(value any) any {
	content, err := json.Marshal(value)
	if err != nil {
		panic(err) // Values come from JSON, or are literals.
	}
	var copied any
	if err := utiljson.Unmarshal(content, &copied); err != nil {
		panic(err)
	}
	return copied
}
