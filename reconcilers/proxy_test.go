// SPDX-License-Identifier: Apache-2.0

package reconcilers_test

import (
	"slices"
	"strings"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	cachev1alpha1 "github.com/example/memcached-operator/apis/v1alpha1"
	"github.com/example/memcached-operator/test/testenv"
)

func TestProxy_ComesAndGoesWithoutMemcachedPods(t *testing.T) {
	t.Parallel()
	namespace := suite.NewNamespace(t)
	o := startOperator(t, namespace)
	mc := suite.NewMemcached(t, namespace, "cache", 2)
	suite.EventuallyReady(t, mc)
	before := podNames(t, namespace)

	suite.Patch(t, mc, `{"spec":{"proxy":{}}}`)
	suite.EventuallyReady(t, mc)
	if want := "cache-proxy." + namespace + ".svc:11211"; mc.Status.Endpoint != want {
		t.Errorf("the endpoint is %s, want %s", mc.Status.Endpoint, want)
	}
	proxies := &appsv1.Deployment{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "cache-proxy"}}
	suite.Get(t, proxies)
	list := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "cache-proxy-nodes"}}
	suite.Get(t, list)
	if want := "- cache-0.cache-nodes." + namespace + ".svc 11211\n- cache-1.cache-nodes." + namespace + ".svc 11211\n"; list.Data["nodes"] != want {
		t.Errorf("the nodes are %q, want %q", list.Data["nodes"], want)
	}
	if !slices.Equal(mc.Status.Nodes, before) {
		t.Errorf("the memcached pods were %v and are %v", before, mc.Status.Nodes)
	}

	// The list has the third node once there is one, and the proxies do not change but are touched.
	quota := thirdPodWaits(t, mc, list)
	suite.Delete(t, quota)
	eventually(t, list, "a third node", func(list *corev1.ConfigMap) bool { return strings.Count(list.Data["nodes"], "\n") == 3 })
	suite.EventuallyReady(t, mc)
	testenv.Eventually(t, "the proxies should be touched", func() bool {
		suite.Get(t, list)
		return !slices.ContainsFunc(podsIn(t, namespace), func(pod corev1.Pod) bool {
			return pod.Labels["app"] == "memcached-proxy" && pod.Annotations["cache.example.com/nodes-version"] != list.ResourceVersion
		})
	})
	generation := proxies.Generation
	suite.Get(t, proxies)
	if proxies.Generation != generation {
		t.Error("the proxies changed")
	}

	suite.Patch(t, mc, `{"spec":{"proxy":null}}`)
	suite.EventuallyGone(t, proxies)
	suite.EventuallyGone(t, list)
	eventually(t, mc, "the endpoint of the pods", func(mc *cachev1alpha1.Memcached) bool { return mc.Status.Endpoint == "cache."+namespace+".svc:11211" })
	for _, pod := range before {
		if !slices.Contains(podNames(t, namespace), pod) {
			t.Errorf("pod %s is gone", pod)
		}
	}
	if statuses := o.statuses("/configmaps/"); slices.ContainsFunc(statuses, func(status int) bool { return status >= 400 && status != 404 }) {
		t.Errorf("the answers about ConfigMaps are %v", statuses)
	}
}

// thirdPodWaits has mc ask for a third pod, which the quota that it returns does not let in: the list is as before.
func thirdPodWaits(t *testing.T, mc *cachev1alpha1.Memcached, list *corev1.ConfigMap) *corev1.ResourceQuota {
	t.Helper()
	quota := &corev1.ResourceQuota{
		ObjectMeta: metav1.ObjectMeta{Namespace: mc.Namespace, Name: "pods"},
		Spec:       corev1.ResourceQuotaSpec{Hard: corev1.ResourceList{corev1.ResourcePods: resource.MustParse("4")}},
	}
	suite.Create(t, quota)
	suite.Patch(t, mc, `{"spec":{"size":3}}`)
	eventually(t, mc, "no third pod", func(mc *cachev1alpha1.Memcached) bool {
		return testenv.HasCondition(mc, cachev1alpha1.ConditionReady, metav1.ConditionFalse, "FailedCreate")
	})
	suite.Get(t, list)
	if count := strings.Count(list.Data["nodes"], "\n"); count != 2 {
		t.Errorf("%d nodes are listed before there is a third pod", count)
	}
	return quota
}
