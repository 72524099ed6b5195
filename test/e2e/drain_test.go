// SPDX-License-Identifier: Apache-2.0

//go:build e2e

package e2e

import (
	"testing"

	corev1 "k8s.io/api/core/v1"

	"github.com/example/memcached-operator/test/testenv"
)

// TestDrain_EvictsOnePodAtATime drains a node, so it is not parallel.
func TestDrain_EvictsOnePodAtATime(t *testing.T) {
	nodes := &corev1.NodeList{}
	testenv.NoError(t, suite.Client.List(t.Context(), nodes))
	schedulable := 0
	for _, node := range nodes.Items {
		if !node.Spec.Unschedulable && len(node.Spec.Taints) == 0 {
			schedulable++
		}
	}
	if schedulable < 2 {
		t.Skipf("%d node takes pods: none is there to take those of a drained one", schedulable)
	}
	// Pods without a controller, as other tests have, would stop the drain.
	suite.NoTestNamespaces(t)
	namespace := suite.NewNamespace(t)
	const size = 3
	mc := suite.Ready(t, suite.NewMemcached(t, namespace, "drained", size))
	on := map[string]int{}
	for _, pod := range suite.Pods(t, namespace, mc.Name) {
		on[pod.Spec.NodeName]++
	}
	if len(on) < 2 {
		t.Errorf("the pods were spread over nodes as %v", on)
	}
	var node string
	for name, pods := range on {
		if pods > on[node] {
			node = name
		}
	}
	fewest := suite.WatchFewest(t, namespace, mc.Name, size)
	t.Cleanup(func() { suite.Kubectl(t, "uncordon", node) })
	suite.Kubectl(t, "drain", node, "--ignore-daemonsets", "--delete-emptydir-data", "--timeout="+testenv.Timeout.String())
	suite.Ready(t, mc)
	t.Logf("at least %d of %d pods answered all the time", fewest(), size)
	for _, pod := range suite.Pods(t, namespace, mc.Name) {
		if pod.Spec.NodeName == node {
			t.Errorf("pod %s is on the drained node", pod.Name)
		}
	}
	suite.operator.Settled(t)
}
