// SPDX-License-Identifier: Apache-2.0

//go:build e2e

package e2e

import (
	"slices"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/example/memcached-operator/test/e2e/cluster"
)

// TestReconcile_CreatesAndPrunesObjects turns everything on that makes a further object, and off again.
func TestReconcile_CreatesAndPrunesObjects(t *testing.T) {
	parallel(t)
	namespace := suite.NewNamespace(t)
	mc := suite.Ready(t, suite.NewMemcached(t, namespace, "changing", 1, cluster.WithEveryObject))
	for _, object := range cluster.MoreChildren(namespace, mc.Name) {
		suite.Get(t, object)
		if !metav1.IsControlledBy(object, mc) {
			t.Errorf("%T %s has the owners %v", object, object.GetName(), object.GetOwnerReferences())
		}
	}
	t.Run("the Service with an address leads to the pod", func(t *testing.T) {
		service := &corev1.Service{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "changing-clusterip"}}
		suite.Get(t, service)
		inside := suite.Inside(t, namespace)
		pod := suite.Pods(t, namespace, mc.Name)[0]
		for _, host := range []string{"changing-clusterip", service.Spec.ClusterIP} {
			got := inside.Ask(t, host, cluster.Port, "set via 0 0 3", "yes", "get via")
			if want := []string{"STORED", "VALUE via 0 3", "yes", "END"}; !slices.Equal(got, want) {
				t.Errorf("%s answers %q, want %q", host, got, want)
			}
		}
		if service.Spec.ClusterIP == pod.Status.PodIP {
			t.Errorf("the Service has the pod's address, %s", pod.Status.PodIP)
		}
	})
	suite.TakeAway(t, mc)
	suite.Ready(t, mc)
	for _, object := range cluster.Children(namespace, mc.Name)[:2] {
		suite.Get(t, object)
	}
	if pod := suite.Pods(t, namespace, mc.Name)[0]; len(pod.Spec.Containers) != 1 {
		t.Errorf("the pod still has %d containers", len(pod.Spec.Containers))
	}
}
