// SPDX-License-Identifier: Apache-2.0

//go:build scale

package scale

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"sync"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/watch"
	"sigs.k8s.io/controller-runtime/pkg/client"

	cachev1alpha1 "github.com/example/memcached-operator/apis/v1alpha1"
	"github.com/example/memcached-operator/test/testenv"
)

const (
	// edits is how many Memcacheds are edited.
	edits = 200
	// leastConnections is more than the default of spec.maxConnections.
	leastConnections = 2000
	// editTimeout is how long an edit may take to arrive.
	editTimeout = time.Minute
)

// editFigures are how long edits took to arrive.
type editFigures struct{ p50, p99, most time.Duration }

// measureEdits edits one Memcached after another, chosen at random, and measures how long each
// edit takes from its answer to the watch event of the Deployment that it changes.
func (e *env) measureEdits(t *testing.T, all []*cachev1alpha1.Memcached) editFigures {
	t.Helper()
	seen := e.watchGenerations(t)
	testenv.Within(t, time.Minute, "the watch should show all Deployments", func() bool { return seen.count() >= len(all) })
	random := rand.New(rand.NewPCG(11, 2026))
	var took []time.Duration
	for i := range edits {
		mc := all[random.IntN(len(all))]
		key := client.ObjectKeyFromObject(mc)
		before, _ := seen.of(key)
		patch := fmt.Appendf(nil, `{"spec":{"maxConnections":%d}}`, leastConnections+i)
		testenv.NoError(t, e.Client.Patch(t.Context(), testenv.Memcached(mc.Namespace, mc.Name, 0), client.RawPatch(types.MergePatchType, patch)))
		answered := time.Now()
		testenv.Within(t, editTimeout, fmt.Sprintf("edit %d should change the Deployment %s", i, key), func() bool {
			generation, at := seen.of(key)
			if generation > before {
				took = append(took, max(0, at.Sub(answered)))
			}
			return generation > before
		})
	}
	slices.Sort(took)
	return editFigures{p50: percentile(took, 50), p99: percentile(took, 99), most: took[len(took)-1]}
}

// percentile returns the smallest of the sorted durations that percent of them do not exceed.
func percentile(sorted []time.Duration, percent int) time.Duration {
	return sorted[(len(sorted)*percent+99)/100-1]
}

// generations holds the newest generations that a watch has shown.
type generations struct {
	mu   sync.Mutex
	seen map[types.NamespacedName]generation
}

type generation struct {
	number int64
	// at is when the watch showed it first.
	at time.Time
}

// watchGenerations watches all Deployments until the test ends.
func (e *env) watchGenerations(t *testing.T) *generations {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	t.Cleanup(cancel)
	watcher, err := e.watcher(t).Watch(ctx, metadataList(appsv1.SchemeGroupVersion.WithKind("Deployment")))
	testenv.NoError(t, err)
	g := &generations{seen: map[types.NamespacedName]generation{}}
	go func() {
		for event := range watcher.ResultChan() {
			g.note(event)
		}
	}()
	return g
}

func (g *generations) note(event watch.Event) {
	object, ok := event.Object.(*metav1.PartialObjectMetadata)
	if !ok {
		return
	}
	now := time.Now()
	g.mu.Lock()
	defer g.mu.Unlock()
	if key := client.ObjectKeyFromObject(object); object.Generation > g.seen[key].number {
		g.seen[key] = generation{object.Generation, now}
	}
}

// of returns the newest generation of key and when the watch showed it first.
func (g *generations) of(key types.NamespacedName) (number int64, at time.Time) {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.seen[key].number, g.seen[key].at
}

// count returns how many objects the watch has shown.
func (g *generations) count() int {
	g.mu.Lock()
	defer g.mu.Unlock()
	return len(g.seen)
}
