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
// nothing for a while, and then come back empty. It prints what the hit ratio loses.
func TestZones_LoseOne(t *testing.T) {
	n := newNode(t)
	namespace := suite.NewNamespace(t)
	zones := []cachev1alpha1.ObjectName{"zone-1", "zone-2"}
	t.Cleanup(func() { suite.Kubectl(t, "label", "nodes", "node1", "node2", corev1.LabelTopologyZone+"-") })
	var caches []*cachev1alpha1.Memcached
	for i, zone := range zones {
		suite.Kubectl(t, "label", "--overwrite", "node", fmt.Sprint("node", i+1), corev1.LabelTopologyZone+"="+string(zone))
		caches = append(caches, suite.NewMemcached(t, namespace, string(zone), 2, func(spec *cachev1alpha1.MemcachedSpec) {
			spec.Memory = new(resource.MustParse("64Mi"))
			spec.NodeSelector = map[string]cachev1alpha1.LabelValue{corev1.LabelTopologyZone: cachev1alpha1.LabelValue(zone)}
			spec.Proxy = &cachev1alpha1.Proxy{Zones: zones}
		}))
	}
	for _, mc := range caches {
		suite.Ready(t, mc)
	}
	// signalled sends a signal to memcached in the pods of app of the Memcached called zone.
	signalled := func(s syscall.Signal, zone string, apps ...string) {
		for _, app := range apps {
			pods := &corev1.PodList{}
			testenv.NoError(t, suite.Client.List(t.Context(), pods, client.InNamespace(namespace), client.MatchingLabels{"app": app, "memcached_cr": zone}))
			for _, pod := range pods.Items {
				signal(t, &pod, s)
			}
		}
	}
	t.Log("| what is lost | hit ratio before | dip in points | seconds of more than a point | points lower after two seconds | errors | stale reads |")
	for _, loss := range []struct {
		what        string
		lose, again func()
	}{
		{"the other zone", func() { signalled(syscall.SIGSTOP, "zone-2", "memcached", "memcached-proxy") }, func() { signalled(syscall.SIGKILL, "zone-2", "memcached", "memcached-proxy") }},
		{"the nodes of the own zone", func() { signalled(syscall.SIGSTOP, "zone-1", "memcached") }, func() { signalled(syscall.SIGKILL, "zone-1", "memcached") }},
		{"the other zone, by a drain", func() {
			t.Cleanup(func() { suite.Kubectl(t, "uncordon", "node2") })
			// The budget of a zone with one node would not let its last pods go.
			suite.Kubectl(t, "drain", "node2", "--disable-eviction", "--ignore-daemonsets", "--delete-emptydir-data", "--timeout="+testenv.Timeout.String())
		}, func() { suite.Kubectl(t, "uncordon", "node2") }},
	} {
		load := startLoad(t, n, caches[0].Status.Endpoint) // which fills both zones
		pass(t, margin)
		start := len(load.Seconds()) - margin
		loss.lose()
		pass(t, margin)
		loss.again()
		for _, mc := range caches {
			settled(t, mc)
		}
		suite.NoneTerminates(t, namespace)
		pass(t, margin)
		seconds := load.Stop()[start:]
		before, all, dip := traffic.Total(seconds[:margin]), traffic.Total(seconds), traffic.DipAfter(seconds, margin)
		lower := 100 * (before.Ratio() - traffic.Total(seconds[margin+2:]).Ratio())
		t.Logf("| %s | %.1f %% | %.1f | %d | %.2f | %d | %d |", loss.what, 100*before.Ratio(), dip.Points, dip.Seconds, lower, all.Errors, all.Stale)
		if all.Errors > 0 || lower > 1 {
			t.Errorf("%s: %d errors, and a hit ratio that is %.2f points lower after two seconds", loss.what, all.Errors, lower)
		}
	}
}
