// SPDX-License-Identifier: Apache-2.0

//go:build e2e

package keys

import (
	"fmt"
	"net"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/api/resource"

	cachev1alpha1 "github.com/example/memcached-operator/apis/v1alpha1"
	"github.com/example/memcached-operator/internal/memcached"
	"github.com/example/memcached-operator/test/testenv"
)

// TestFlash_HoldsSixTimesItsMemory stores 400,000 values of 1 KB in a cache of 64Mi, and finds all of them.
func TestFlash_HoldsSixTimesItsMemory(t *testing.T) {
	n := newNode(t)
	mc := suite.Ready(t, suite.NewMemcached(t, suite.NewNamespace(t), "flash", 1, func(spec *cachev1alpha1.MemcachedSpec) {
		spec.Memory, spec.Flash = new(resource.MustParse("64Mi")), &cachev1alpha1.Flash{Size: resource.MustParse("1Gi")}
		// The default limit; the local nodes have no ephemeral storage that could be requested.
		spec.Resources = &cachev1alpha1.Resources{Limits: &cachev1alpha1.ResourceAmounts{Memory: new(resource.MustParse("181Mi"))}}
	}))
	pod := suite.Pods(t, mc.Namespace, mc.Name)[0]
	connection, err := n.dial(t.Context(), "tcp", net.JoinHostPort(pod.Status.PodIP, "11211"))
	testenv.NoError(t, err)
	defer connection.Close()
	cache := memcached.NewClient(connection)
	const keys = 400_000
	value := strings.Repeat("v", 1000)
	for i := range keys {
		testenv.NoError(t, cache.Set(fmt.Sprint("key-", i), value))
	}
	hits := 0
	for i := range keys {
		got, err := cache.Get(fmt.Sprint("key-", i))
		testenv.NoError(t, err)
		if got == value {
			hits++
		}
	}
	stats, err := cache.Stats()
	testenv.NoError(t, err)
	t.Logf("%d of %d values found, %s of them on the disk; %s evictions", hits, keys, stats["get_extstore"], stats["evictions"])
	if hits != keys {
		t.Errorf("%d values are not found", keys-hits)
	}
	if restarts := suite.Pods(t, mc.Namespace, mc.Name)[0].Status.ContainerStatuses[0].RestartCount; restarts > 0 {
		t.Errorf("%d restarts", restarts)
	}
}
