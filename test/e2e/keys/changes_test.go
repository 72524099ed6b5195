// SPDX-License-Identifier: Apache-2.0

//go:build e2e

package keys

import (
	"fmt"
	"slices"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	cachev1alpha1 "github.com/example/memcached-operator/apis/v1alpha1"
	"github.com/example/memcached-operator/test/e2e/cluster"
	"github.com/example/memcached-operator/test/testenv"
)

const size = 4

// change is something that happens to a cache, with how many of its pods.
type change struct {
	what string
	make func(t *testing.T, mc *cachev1alpha1.Memcached)
	// moves is how many of the keys other pods have afterwards, which a client of the proxies may lose besides those of the pods that end.
	moves int
	// evicts is set when a proxy may be evicted too, which ends its connections.
	evicts bool
}

var changes = []change{
	{what: "a pod is deleted", make: func(t *testing.T, mc *cachev1alpha1.Memcached) {
		testenv.NoError(t, suite.Client.Delete(t.Context(), &suite.Pods(t, mc.Namespace, mc.Name)[0]))
	}},
	{what: "a pod is deleted by force", make: func(t *testing.T, mc *cachev1alpha1.Memcached) {
		testenv.NoError(t, suite.Client.Delete(t.Context(), &suite.Pods(t, mc.Namespace, mc.Name)[0], client.GracePeriodSeconds(0)))
	}},
	{what: "a memcached is killed, as by the OOM killer", make: func(t *testing.T, mc *cachev1alpha1.Memcached) {
		pod := suite.Pods(t, mc.Namespace, mc.Name)[0]
		signal(t, &pod, syscall.SIGKILL)
		testenv.EventuallyObject(t, &suite.Env, &pod, "it should be restarted", func(pod *corev1.Pod) bool {
			return pod.Status.ContainerStatuses[0].RestartCount > 0 && cluster.IsReady(pod)
		})
	}},
	{what: "a node is drained", evicts: true, make: func(t *testing.T, _ *cachev1alpha1.Memcached) {
		drain(t)
		suite.Kubectl(t, "uncordon", "node2")
	}},
	{what: "all pods are replaced", make: func(t *testing.T, mc *cachev1alpha1.Memcached) {
		before := lives(t, mc)
		suite.Patch(t, mc, `{"spec":{"podMetadata":{"annotations":{"example.com/changed":"1"}}}}`)
		testenv.Eventually(t, "all pods should be others", func() bool { return len(ended(before, lives(t, mc))) == size })
	}},
	{what: "the memcached pods of a node are drained", make: func(t *testing.T, _ *cachev1alpha1.Memcached) {
		drain(t, "--pod-selector=app=memcached")
		suite.Kubectl(t, "uncordon", "node2")
	}},
	// A fifth, and what 10,000 hashed keys deviate from it.
	{what: "size 4 becomes 5", moves: keyCount * 21 / 100, make: func(t *testing.T, mc *cachev1alpha1.Memcached) { suite.Patch(t, mc, `{"spec":{"size":5}}`) }},
	{what: "size 5 becomes 4", make: func(t *testing.T, mc *cachev1alpha1.Memcached) { suite.Patch(t, mc, `{"spec":{"size":4}}`) }},
}

// TestChanges_LoseOneShareAtMost stores keys by three kinds of clients of one cache, makes a change while they read them, and counts
// what they find afterwards.
func TestChanges_LoseOneShareAtMost(t *testing.T) {
	namespace := suite.NewNamespace(t)
	n := newNode(t)
	mc := suite.Ready(t, suite.NewMemcached(t, namespace, "cache", size, func(spec *cachev1alpha1.MemcachedSpec) {
		spec.Proxy = &cachev1alpha1.Proxy{Size: new(int32(3))}
	}))
	var servers atomic.Pointer[[]string]
	know := func() {
		now := slices.Clone(mc.Status.Servers)
		servers.Store(&now)
	}
	know()
	proxied := byProxy(n, mc.Status.Endpoint)
	clients := []*reader{byAddress(n, mc.Name+"."+namespace+".svc"), byName(n, func() []string { return *servers.Load() }), proxied}
	t.Log("| change | pods | client | keys not found | errors | connections | slowest request |")
	for _, change := range changes {
		for _, c := range clients {
			c.set(t)
		}
		before, held := lives(t, mc), map[string]int{}
		for _, address := range before {
			held[address] = proxied.held(t, address)
		}
		started := time.Now()
		seen := during(t, clients, func() {
			change.make(t, mc)
			settled(t, mc)
			know()
		})
		took := time.Since(started)
		gone, allowed := ended(before, lives(t, mc)), change.moves
		for _, address := range gone {
			allowed += held[address]
		}
		t.Logf("%s: the pods that ended had %d of the %d keys of %s", change.what, allowed-change.moves, keyCount, proxied.name)
		for i, c := range clients {
			lost := keyCount - c.found(t)
			t.Logf("| %s (%.0f s) | %d of %d | %s | %.2f %% | %d of %d | %d | %.2f s | %v", change.what, took.Seconds(), len(gone), len(before), c.name,
				100*float64(lost)/keyCount, seen[i].errors, seen[i].errors+seen[i].hits+seen[i].misses, seen[i].dials, seen[i].slowest.Seconds(), seen[i].last)
			if c == proxied {
				change.judge(t, lost, allowed, seen[i])
			}
		}
	}
}

// judge fails unless a client of the proxies lost as many keys as are allowed at most, without an error.
func (c change) judge(t *testing.T, lost, allowed int, seen tally) {
	t.Helper()
	if lost > allowed {
		t.Errorf("%s: %d of %d keys are lost, more than %d", c.what, lost, keyCount, allowed)
	}
	if !c.evicts && (seen.errors > 0 || seen.dials > 0) || seen.errors > seen.dials {
		t.Errorf("%s: %d errors, %d new connections, at last: %v", c.what, seen.errors, seen.dials, seen.last)
	}
}

// drain drains the second node, with kubectl's options, until the end of the test at most.
func drain(t *testing.T, options ...string) {
	t.Helper()
	t.Cleanup(func() { suite.Kubectl(t, "uncordon", "node2") })
	suite.Kubectl(t, append([]string{"drain", "node2", "--ignore-daemonsets", "--delete-emptydir-data", "--timeout=" + testenv.Timeout.String()}, options...)...)
}

// settled waits until mc has all its pods, and is ready.
func settled(t *testing.T, mc *cachev1alpha1.Memcached) {
	t.Helper()
	suite.Get(t, mc)
	testenv.Eventually(t, "all pods should be ready", func() bool {
		pods := suite.Pods(t, mc.Namespace, mc.Name)
		return len(pods) == int(*mc.Spec.Size) && !slices.ContainsFunc(pods, func(pod corev1.Pod) bool { return !cluster.IsReady(&pod) })
	})
	suite.Get(t, mc)
	suite.Ready(t, mc)
}

// ended returns the addresses of the pods whose lives are in before and not in after.
func ended(before, after map[string]string) (addresses []string) {
	for life, address := range before {
		if _, ok := after[life]; !ok {
			addresses = append(addresses, address)
		}
	}
	return addresses
}

// lives returns the pods of mc with the number of restarts of memcached, and their addresses: one of these is one life of a cache.
func lives(t *testing.T, mc *cachev1alpha1.Memcached) map[string]string {
	t.Helper()
	found := map[string]string{}
	for _, pod := range suite.Pods(t, mc.Namespace, mc.Name) {
		restarts := int32(0)
		for _, container := range pod.Status.ContainerStatuses { // none while it is being scheduled
			restarts += container.RestartCount
		}
		found[fmt.Sprintf("%s %d", pod.UID, restarts)] = pod.Status.PodIP
	}
	return found
}
