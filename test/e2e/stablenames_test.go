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
	"github.com/example/memcached-operator/internal/memcached"
	"github.com/example/memcached-operator/test/e2e/cluster"
	"github.com/example/memcached-operator/test/testenv"
)

// TestStableNames_LeadToTheNextPod asks the DNS of the cluster and memcached by the names.
func TestStableNames_LeadToTheNextPod(t *testing.T) {
	parallel(t)
	namespace := suite.NewNamespace(t)
	mc := suite.Ready(t, suite.NewMemcached(t, namespace, "named", 2, func(spec *cachev1alpha1.MemcachedSpec) {
		spec.StableNames = &cachev1alpha1.StableNames{}
	}))
	inside := suite.Inside(t, namespace)
	address := func(ordinal int) string {
		return inside.Addresses(t, fmt.Sprintf("named-%d.named-nodes", ordinal), 1)[0]
	}
	first, second := address(0), address(1)
	if all := inside.Addresses(t, "named-nodes", 2); first == second || all[0] == all[1] {
		t.Errorf("0 is %s, 1 is %s, and all are %v", first, second, all)
	}
	// Loki and Mimir find them by this record.
	records := suite.Exec(t, namespace, "client", "client", "nslookup", "-type=srv", "_memcached._tcp.named-nodes."+namespace+".svc.cluster.local.")
	for ordinal := range 2 {
		if host := fmt.Sprintf(" %d named-%d.named-nodes.%s.svc.cluster.local", cluster.Port, ordinal, namespace); !strings.Contains(records, host) {
			t.Errorf("no SRV record ends in%s: %s", host, records)
		}
	}
	if got := inside.Ask(t, "named-1.named-nodes", cluster.Port, "set key 0 0 4", "kept"); got[0] != "STORED" {
		t.Errorf("1 answers %q", got)
	}
	podAt := func(address string) (found corev1.Pod) {
		for _, pod := range suite.Pods(t, namespace, "named") {
			if pod.Status.PodIP == address {
				found = pod
			}
		}
		return found
	}
	replaced := podAt(first)
	// At once, so that the name has no pod before it has the next one.
	testenv.NoError(t, suite.Client.Delete(t.Context(), &replaced, client.GracePeriodSeconds(0)))
	testenv.Eventually(t, "0 should be another pod than "+replaced.Name, func(context.Context) (bool, string, error) {
		now := address(0)
		pod := podAt(now)
		return now != first && pod.Name != "" && pod.Name != replaced.Name, now + " " + pod.Name, nil
	})
	if now := address(1); now != second {
		t.Errorf("1 was %s and is %s", second, now)
	}
	if got := suite.Cache(t, namespace, podAt(second).Name, memcached.Access{}).Get("key"); got != "kept" {
		t.Errorf("1 has lost its key: %q", got)
	}
	suite.Ready(t, mc)
}
