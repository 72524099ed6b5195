// SPDX-License-Identifier: Apache-2.0

//go:build e2e

package e2e

import (
	"context"
	"fmt"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	cachev1alpha1 "github.com/example/memcached-operator/apis/v1alpha1"
	"github.com/example/memcached-operator/test/e2e/cluster"
	"github.com/example/memcached-operator/test/testenv"
)

// TestZones_OneIsLostOnNodes has a copy of a cache on each of two nodes, and ends all pods of one at once. A client of the address of all
// zones finds each key from then on, and sees no error.
func TestZones_OneIsLostOnNodes(t *testing.T) {
	parallel(t)
	nodes := &corev1.NodeList{}
	testenv.NoError(t, suite.Client.List(t.Context(), nodes))
	namespace := suite.NewNamespace(t)
	zones := []cachev1alpha1.ObjectName{"zone-1", "zone-2"}
	var caches []*cachev1alpha1.Memcached
	for i, zone := range zones {
		caches = append(caches, suite.NewMemcached(t, namespace, string(zone), 1, func(spec *cachev1alpha1.MemcachedSpec) {
			spec.NodeSelector = map[string]cachev1alpha1.LabelValue{corev1.LabelHostname: cachev1alpha1.LabelValue(nodes.Items[i].Name)}
			spec.Proxy = &cachev1alpha1.Proxy{Size: new(int32(1)), Zones: zones}
			spec.NetworkPolicy = &cachev1alpha1.NetworkPolicy{From: []cachev1alpha1.NetworkPolicyPeer{{PodSelector: &cachev1alpha1.LabelSelector{}}}}
		}))
	}
	for _, mc := range caches {
		suite.Ready(t, mc)
		if want := mc.Name + "-zones." + namespace + ".svc:11211"; mc.Status.Endpoint != want {
			t.Errorf("the endpoint is %s, want %s", mc.Status.Endpoint, want)
		}
	}
	inside := suite.Inside(t, namespace)
	const keys = 40
	var set, get []string
	for i := range keys {
		set = append(set, fmt.Sprintf("set key-%d 0 0 1", i), "v")
		get = append(get, fmt.Sprintf("get key-%d", i))
	}
	count := func(host, part string, commands []string) int {
		answer := strings.Join(inside.Ask(t, host, cluster.Port, commands...), "\n")
		if strings.Contains(answer, "ERROR") {
			t.Errorf("%s answers\n%s", host, answer)
		}
		return strings.Count(answer, part)
	}
	testenv.Eventually(t, "both zones should hold what is stored in one", func(context.Context) (bool, error) {
		return count("zone-1-proxy", "STORED", set) == keys && count("zone-1", "VALUE", get) == keys && count("zone-2", "VALUE", get) == keys, nil
	})

	suite.Patch(t, caches[0], `{"spec":{"paused":true}}`) // or else the operator would bring the pods back
	testenv.EventuallyObject(t, &suite.Env, caches[0], "the pause should be seen", func(mc *cachev1alpha1.Memcached) bool {
		return mc.Status.ObservedGeneration == mc.Generation
	})
	suite.Kubectl(t, "--namespace="+namespace, "scale", "deployment", "zone-1", "zone-1-proxy", "--replicas=0")
	testenv.NoError(t, suite.Client.DeleteAllOf(t.Context(), &corev1.Pod{}, client.InNamespace(namespace),
		client.MatchingLabels{"memcached_cr": "zone-1"}, client.GracePeriodSeconds(0)))
	suite.NoneTerminates(t, namespace)
	for i := range 5 {
		for _, host := range []string{"zone-1-zones", "zone-2-zones"} {
			if found := count(host, "VALUE", get); found < keys {
				t.Errorf("round %d: %d of %d keys are found by %s", i, found, keys, host)
			}
		}
	}
	if stored := count("zone-1-zones", "STORED", set); stored < keys {
		t.Errorf("%d of %d keys are stored", stored, keys)
	}
}
