// SPDX-License-Identifier: Apache-2.0

//go:build e2e

package keys

import (
	"context"
	"fmt"
	"math/rand/v2"
	"sync"
	"syscall"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	cachev1alpha1 "github.com/example/memcached-operator/apis/v1alpha1"
	"github.com/example/memcached-operator/test/testenv"
)

// watch looks stable names up, and remembers which of them each address had.
type watch struct {
	ordinalOf     map[string]int
	lookups, none int
}

// follow looks the names of the Memcached cache up until ctx ends: none may have two addresses, and no address may ever have two names.
func (w *watch) follow(ctx context.Context, t *testing.T, n *node, namespace string) {
	ticker := time.NewTicker(50 * time.Millisecond)
	defer ticker.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
		}
		for ordinal := range size {
			addresses, err := n.lookUp(ctx, fmt.Sprintf("cache-%d.cache-nodes.%s.svc", ordinal, namespace))
			if ctx.Err() != nil {
				return
			}
			if err != nil || len(addresses) > 1 {
				t.Errorf("%d has the addresses %v: %v", ordinal, addresses, err)
			}
			w.lookups++
			if len(addresses) == 0 {
				w.none++
			}
			for _, address := range addresses {
				if was, ok := w.ordinalOf[address]; ok && was != ordinal {
					t.Errorf("%s was %d and is %d", address, was, ordinal)
				}
				w.ordinalOf[address] = ordinal
			}
		}
	}
}

// TestNames_NeverLeadToAnotherPod deletes 50 pods, some by force and some before the last one is replaced, and looks the stable names
// up all the while.
func TestNames_NeverLeadToAnotherPod(t *testing.T) {
	namespace := suite.NewNamespace(t)
	n := newNode(t)
	mc := suite.Ready(t, suite.NewMemcached(t, namespace, "cache", size, func(spec *cachev1alpha1.MemcachedSpec) {
		spec.StableNames = &cachev1alpha1.StableNames{}
	}))
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	w := &watch{ordinalOf: map[string]int{}}
	var group sync.WaitGroup
	group.Go(func() { w.follow(ctx, t, n, namespace) })
	for i := range 50 {
		pods := suite.Pods(t, namespace, mc.Name)
		var options []client.DeleteOption
		if rand.IntN(2) == 0 {
			options = append(options, client.GracePeriodSeconds(0))
		}
		testenv.NoError(t, client.IgnoreNotFound(suite.Client.Delete(t.Context(), &pods[rand.IntN(len(pods))], options...)))
		if rand.IntN(4) > 0 || i == 49 {
			settled(t, mc)
		}
	}
	cancel()
	group.Wait()
	t.Logf("%d addresses had the %d names; %d lookups, %d without an address", len(w.ordinalOf), size, w.lookups, w.none)
	if len(w.ordinalOf) < 30 {
		t.Errorf("%d addresses only: the lookups did not see the replacements", len(w.ordinalOf))
	}
}

// TestProxies_ReadTheirListWithoutAClientNoticing changes the size 20 times while clients read by each of three proxies.
func TestProxies_ReadTheirListWithoutAClientNoticing(t *testing.T) {
	namespace := suite.NewNamespace(t)
	n := newNode(t)
	mc := suite.Ready(t, suite.NewMemcached(t, namespace, "cache", 2, func(spec *cachev1alpha1.MemcachedSpec) {
		spec.Proxy = &cachev1alpha1.Proxy{Size: new(int32(3))}
	}))
	readers := readersOf(t, n, mc)
	seen := during(t, readers, func() {
		for i := range 20 {
			suite.Patch(t, mc, fmt.Sprintf(`{"spec":{"size":%d}}`, 3-i%2))
			settled(t, mc)
		}
	})
	for i, r := range readers {
		t.Logf("%s: %d requests, %d errors, %d new connections, slowest %s, %v", r.name, seen[i].hits+seen[i].misses, seen[i].errors, seen[i].dials, seen[i].slowest, seen[i].last)
		if seen[i].errors > 0 || seen[i].dials > 0 {
			t.Errorf("%s: %d errors, %d new connections: %v", r.name, seen[i].errors, seen[i].dials, seen[i].last)
		}
	}
}

// TestProxies_ReadTheirListOneAfterTheOther measures for how long proxies have different lists, also when one of three is stopped.
func TestProxies_ReadTheirListOneAfterTheOther(t *testing.T) {
	namespace := suite.NewNamespace(t)
	n := newNode(t)
	mc := suite.Ready(t, suite.NewMemcached(t, namespace, "cache", 2, func(spec *cachev1alpha1.MemcachedSpec) {
		spec.Proxy = &cachev1alpha1.Proxy{Size: new(int32(3))}
	}))
	readers, stopped := readersOf(t, n, mc), proxies(t, mc)[2]
	signal(t, &stopped, syscall.SIGSTOP)
	suite.Patch(t, mc, `{"spec":{"size":3}}`)
	changed := time.Now()
	learns := func(r *reader) time.Duration {
		testenv.Eventually(t, r.name+" should miss keys, which have moved", func() bool {
			before := r.misses
			for i := range 100 {
				r.get(t.Context(), i)
			}
			return r.misses > before
		})
		return time.Since(changed).Round(100 * time.Millisecond)
	}
	first, second := learns(readers[0]), learns(readers[1])
	signal(t, &stopped, syscall.SIGCONT)
	continued := time.Since(changed).Round(100 * time.Millisecond)
	t.Logf("after a change of size the first proxy has the list at %s, the second at %s, the third, which continues at %s, at %s",
		first, second, continued, learns(readers[2]))
}

// readersOf returns a reader by each of mc's proxies, with its keys stored.
func readersOf(t *testing.T, n *node, mc *cachev1alpha1.Memcached) (readers []*reader) {
	t.Helper()
	for i, pod := range proxies(t, mc) {
		r := byProxy(n, pod.Status.PodIP+":11211")
		r.name = fmt.Sprintf("proxy%d", i)
		// A proxy that has just started may not find all names yet.
		testenv.Eventually(t, "all keys should be found", func() bool {
			r.set(t)
			return r.found(t) == keyCount
		})
		readers = append(readers, r)
	}
	return readers
}

// proxies returns the pods of mc's proxies.
func proxies(t *testing.T, mc *cachev1alpha1.Memcached) []corev1.Pod {
	t.Helper()
	list := &corev1.PodList{}
	testenv.NoError(t, suite.Client.List(t.Context(), list, client.InNamespace(mc.Namespace), client.MatchingLabels{"app": "memcached-proxy", "memcached_cr": mc.Name}))
	return list.Items
}
