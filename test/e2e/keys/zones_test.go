// SPDX-License-Identifier: Apache-2.0

//go:build e2e

package keys

import (
	"fmt"
	"syscall"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	"sigs.k8s.io/controller-runtime/pkg/client"

	cachev1alpha1 "github.com/example/memcached-operator/apis/v1alpha1"
	"github.com/example/memcached-operator/test/testenv"
	"github.com/example/memcached-operator/test/traffic"
)

// TestZones_LoseOne has a copy of a cache on each of two nodes, which are zones, and an application in the first one. Pods that are lost say
// nothing for a while, and then come back empty. It prints what the hit ratio loses, and beside a drain of the other zone what it costs a
// cache with proxies alone and a plain Deployment, which have pods in both.
func TestZones_LoseOne(t *testing.T) {
	n := newNode(t)
	namespace := suite.NewNamespace(t)
	caches := cachesInZones(t, namespace)
	alone := suite.NewMemcached(t, namespace, "alone", 3, func(spec *cachev1alpha1.MemcachedSpec) {
		spec.Image, spec.Memory, spec.Proxy = new(cachev1alpha1.Image(sameImage)), new(resource.MustParse("16Mi")), &cachev1alpha1.Proxy{}
	})
	caches = append(caches, alone)
	for _, mc := range caches {
		suite.Ready(t, mc)
	}
	used := []*cachev1alpha1.Memcached{caches[0], alone} // the first fills both zones
	each := rate(t, n, used)
	signalled := func(s syscall.Signal, zone string, apps ...string) { signalZone(t, namespace, s, zone, apps...) }
	t.Log("| what is lost | cache | hit ratio before | dip in points | seconds of more than a point | lost reads after two seconds | in points | errors | stale reads |")
	kinds := []string{"copies in zones", "proxies alone", "plain Deployment"}
	for _, loss := range []struct {
		what        string
		lose, again func()
		// of is how many of the caches of startLoads are concerned.
		of int
	}{
		{"nothing, for comparison", func() {}, func() {}, 1},
		{"the other zone", func() { signalled(syscall.SIGSTOP, "zone-2", "memcached", "memcached-proxy") }, func() { signalled(syscall.SIGKILL, "zone-2", "memcached", "memcached-proxy") }, 1},
		{"the nodes of the own zone", func() { signalled(syscall.SIGSTOP, "zone-1", "memcached") }, func() { signalled(syscall.SIGKILL, "zone-1", "memcached") }, 1},
		// The budget of a zone with one node would not let its last pods go.
		{"the other zone, drained", func() { drain(t, "--disable-eviction") }, func() { suite.Kubectl(t, "uncordon", "node2") }, 3},
	} {
		loads := startLoads(t, n, used, each)
		pass(t, margin)
		var starts []int
		for _, load := range loads {
			starts = append(starts, len(load.Seconds())-margin)
		}
		loss.lose()
		pass(t, margin)
		loss.again()
		for _, mc := range caches {
			settled(t, mc)
		}
		suite.NoneTerminates(t, namespace)
		pass(t, margin)
		c := course{what: loss.what, at: margin}
		for i, load := range loads {
			seconds := load.Stop()[starts[i]:]
			c.seconds = append(c.seconds, seconds)
			if i >= loss.of {
				continue
			}
			before, after, total := traffic.Total(seconds[:margin]), traffic.Total(seconds[margin+2:]), traffic.Total(seconds)
			dip, lower := traffic.DipBelow(seconds[:margin], seconds[margin:]), 100*after.LostRatio()
			t.Logf("| %s | %s | %.1f %% | %.1f | %d | %d | %.2f | %d | %d |", loss.what, kinds[i],
				100*before.Ratio(), dip.Points, dip.Seconds, after.Lost, lower, total.Errors, total.Stale)
			if i == 0 && (total.Errors > 0 || after.Lost > 0) {
				t.Errorf("%s: %d errors, and %d lost reads after two seconds", loss.what, total.Errors, after.Lost)
			}
		}
		if loss.of == len(loads) {
			picture(t, "zones.svg", kinds, []course{c})
		}
	}
}

// cachesInZones makes each of the two nodes a zone, with a Memcached that is called like it.
func cachesInZones(t *testing.T, namespace string) (caches []*cachev1alpha1.Memcached) {
	t.Helper()
	zones := []cachev1alpha1.ObjectName{"zone-1", "zone-2"}
	t.Cleanup(func() { suite.Kubectl(t, "label", "nodes", "node1", "node2", corev1.LabelTopologyZone+"-") })
	for i, zone := range zones {
		suite.Kubectl(t, "label", "--overwrite", "node", fmt.Sprint("node", i+1), corev1.LabelTopologyZone+"="+string(zone))
		caches = append(caches, suite.NewMemcached(t, namespace, string(zone), 2, func(spec *cachev1alpha1.MemcachedSpec) {
			spec.Memory = new(resource.MustParse("64Mi"))
			spec.NodeSelector = map[string]cachev1alpha1.LabelValue{corev1.LabelTopologyZone: cachev1alpha1.LabelValue(zone)}
			spec.Proxy = &cachev1alpha1.Proxy{Zones: zones}
		}))
	}
	return caches
}

// signalZone sends a signal to memcached in the pods of apps of the Memcached called zone.
func signalZone(t *testing.T, namespace string, s syscall.Signal, zone string, apps ...string) {
	t.Helper()
	for _, app := range apps {
		pods := &corev1.PodList{}
		testenv.NoError(t, suite.Client.List(t.Context(), pods, client.InNamespace(namespace), client.MatchingLabels{"app": app, "memcached_cr": zone}))
		for _, pod := range pods.Items {
			signal(t, &pod, s)
		}
	}
}
