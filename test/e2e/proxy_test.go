// SPDX-License-Identifier: Apache-2.0

//go:build e2e

package e2e

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	cachev1alpha1 "github.com/example/memcached-operator/apis/v1alpha1"
	"github.com/example/memcached-operator/test/e2e/cluster"
	"github.com/example/memcached-operator/test/testenv"
)

// TestProxy_IsOneAddress reads and writes through a proxy while a memcached pod is lost, and while another one is added.
func TestProxy_IsOneAddress(t *testing.T) {
	parallel(t)
	namespace := suite.NewNamespace(t)
	mc := suite.Ready(t, suite.NewMemcached(t, namespace, "proxied", 2, func(spec *cachev1alpha1.MemcachedSpec) {
		spec.Proxy = &cachev1alpha1.Proxy{Size: new(int32(1))}
	}))
	if want := "proxied-proxy." + namespace + ".svc:11211"; mc.Status.Endpoint != want {
		t.Errorf("the endpoint is %s, want %s", mc.Status.Endpoint, want)
	}
	inside := suite.Inside(t, namespace)
	const keys = 40
	var set, get []string
	for i := range keys {
		set = append(set, fmt.Sprintf("set key-%d 0 0 1", i), "v")
		get = append(get, fmt.Sprintf("get key-%d", i))
	}
	count := func(part string, commands []string) int {
		answer := strings.Join(inside.Ask(t, "proxied-proxy", cluster.Port, commands...), "\n")
		if strings.Contains(answer, "ERROR") {
			t.Errorf("the proxy answers\n%s", answer)
		}
		return strings.Count(answer, part)
	}
	allKept := func(context.Context) (bool, error) {
		return count("STORED", set) == keys && count("VALUE", get) == keys, nil
	}
	// Not at once: on a busy machine a node may count as down for a second, and a stand-in have stored some.
	testenv.Eventually(t, "all keys should be stored and found", allKept)
	lost := suite.Pods(t, namespace, "proxied")[0]
	testenv.NoError(t, suite.Client.Delete(t.Context(), &lost, client.GracePeriodSeconds(0)))
	// Its container still serves for the time of the preStop, and the proxy stays with it as long.
	testenv.Eventually(t, "the keys of the pod should be misses", func(context.Context) (bool, error) {
		return count("VALUE", get) < keys, nil
	})
	suite.Ready(t, mc)
	testenv.Eventually(t, "all keys should be stored and found again", allKept)

	suite.Patch(t, mc, `{"spec":{"size":3}}`)
	since := time.Now()
	testenv.Eventually(t, "the third pod should have keys", func(context.Context) (bool, error) {
		return count("VALUE", get) < keys, nil
	})
	t.Logf("the proxy knows the third pod %s after the change of size", time.Since(since).Round(time.Second))
	suite.Patch(t, mc, `{"spec":{"proxy":null}}`)
	suite.EventuallyGone(t, &appsv1.Deployment{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "proxied-proxy"}})
	suite.EventuallyGone(t, &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "proxied-proxy-nodes"}})
	suite.Ready(t, mc)
}
