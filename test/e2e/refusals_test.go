// SPDX-License-Identifier: Apache-2.0

//go:build e2e

package e2e

import (
	"context"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	applycorev1 "k8s.io/client-go/applyconfigurations/core/v1"

	"github.com/example/memcached-operator/test/e2e/cluster"
)

func TestRollout_KeepsOldPodsWhenTheImageCannotBePulled(t *testing.T) {
	t.Parallel()
	namespace := suite.NewNamespace(t)
	const size = 2
	mc := suite.Ready(t, suite.NewMemcached(t, namespace, "broken", size))
	caches := map[types.UID]*cluster.Cache{}
	for _, pod := range suite.Pods(t, namespace, "broken") {
		caches[pod.UID] = suite.Cache(t, namespace, pod.Name, cluster.Port)
		caches[pod.UID].Set("kept", pod.Name)
	}
	fewest := watchFewest(t, namespace, "broken", size)
	suite.MergePatch(t, mc, `{"spec":{"image":"memcached:0.0.0-there-is-none"}}`)
	suite.NotReady(t, mc, []string{"ErrImagePull", "ImagePullBackOff"}, "memcached:0.0.0-there-is-none")

	serving := 0
	for _, pod := range suite.Pods(t, namespace, "broken") {
		if cache := caches[pod.UID]; cache != nil {
			serving++
			if got := cache.Get("kept"); got != pod.Name {
				t.Errorf("pod %s has %q for its key", pod.Name, got)
			}
		}
	}
	if serving < size-1 {
		t.Errorf("%d of the %d old pods serve", serving, size)
	}
	suite.MergePatch(t, mc, `{"spec":{"image":null}}`)
	suite.Ready(t, mc)
	if got := fewest(); got < size-1 {
		t.Errorf("at the worst moment %d of %d pods answered", got, size)
	}
}

func TestStatus_ReportsQuota(t *testing.T) {
	t.Parallel()
	namespace := suite.NewNamespace(t)
	quota := &corev1.ResourceQuota{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "one-pod"},
		Spec:       corev1.ResourceQuotaSpec{Hard: corev1.ResourceList{corev1.ResourcePods: resource.MustParse("1")}},
	}
	cluster.Must(t, suite.Create(t.Context(), quota))
	cluster.Until(t, suite.Cluster, quota, "counted", func(quota *corev1.ResourceQuota) bool { return len(quota.Status.Hard) > 0 })

	mc := suite.NewMemcached(t, namespace, "limited", 2)
	suite.NotReady(t, mc, []string{"FailedCreate"}, "exceeded quota: one-pod", "limited: pods=1")
	cluster.Eventually(t, "the pod that fits is ready", func(context.Context) (bool, string, error) {
		pods := suite.Pods(t, namespace, "limited")
		return len(pods) == 1 && cluster.IsReady(&pods[0]), cluster.Lives(pods), nil
	})
	suite.NotReady(t, mc, []string{"FailedCreate"}, "exceeded quota: one-pod")
	suite.MergePatch(t, quota, `{"spec":{"hard":{"pods":"2"}}}`)
	suite.Ready(t, mc)
}

func TestStatus_ReportsPodSecurity(t *testing.T) {
	t.Parallel()
	namespace := suite.NewNamespace(t)
	mc := suite.Ready(t, suite.NewMemcached(t, namespace, "privileged", 1))
	addSidecar(t, namespace, "privileged", sidecar().WithSecurityContext(applycorev1.SecurityContext().WithPrivileged(true)))
	suite.NotReady(t, mc, []string{"FailedCreate"}, `violates PodSecurity "restricted`, "sidecar")
	addSidecar(t, namespace, "privileged")
	suite.Ready(t, mc)
}
