// SPDX-License-Identifier: Apache-2.0

//go:build e2e

package e2e

import (
	"context"
	"testing"

	corev1 "k8s.io/api/core/v1"
	applyappsv1 "k8s.io/client-go/applyconfigurations/apps/v1"
	applycorev1 "k8s.io/client-go/applyconfigurations/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/example/memcached-operator/test/e2e/cluster"
)

// TestReconcile_KeepsFieldsOfOthers adds a sidecar and an annotation as another manager, and the operator
// write the same Deployment afterwards.
func TestReconcile_KeepsFieldsOfOthers(t *testing.T) {
	t.Parallel()
	namespace := suite.NewNamespace(t)
	mc := suite.Ready(t, suite.NewMemcached(t, namespace, "shared", 1))
	addSidecar(t, namespace, "shared", sidecar())
	cluster.Eventually(t, "the pod is one with a sidecar", func(context.Context) (bool, string, error) {
		pods := suite.Pods(t, namespace, "shared")
		return len(pods) == 1 && len(pods[0].Spec.Containers) == 2, cluster.Lives(pods), nil
	})
	suite.MergePatch(t, mc, `{"spec":{"size":2}}`)
	suite.Ready(t, mc)

	d := suite.Deployment(t, namespace, "shared")
	if got := d.Annotations["example.com/note"]; got != "mine" {
		t.Errorf("the annotation is %q", got)
	}
	pods := suite.Pods(t, namespace, "shared")
	for _, pod := range pods {
		if len(pod.Spec.Containers) != 2 {
			t.Errorf("pod %s has %d containers, want memcached and the sidecar", pod.Name, len(pod.Spec.Containers))
		}
	}
	suite.MergePatch(t, d, `{"metadata":{"annotations":{"example.com/note":"another"}}}`)
	suite.MergePatch(t, &corev1.Service{ObjectMeta: mc.ObjectMeta}, `{"metadata":{"labels":{"example.com/team":"web"}}}`)
	suite.MergePatch(t, mc, `{"spec":{"size":3}}`)
	suite.Ready(t, mc)
	for _, was := range pods {
		now := &corev1.Pod{}
		cluster.Must(t, suite.Get(t.Context(), client.ObjectKeyFromObject(&was), now))
		if cluster.Lives([]corev1.Pod{was}) != cluster.Lives([]corev1.Pod{*now}) {
			t.Errorf("pod %s was restarted", was.Name)
		}
	}
}

// sidecar is a container that asks for nothing special.
func sidecar() *applycorev1.ContainerApplyConfiguration {
	return applycorev1.Container().WithName("sidecar").WithImage(cluster.BusyboxImage).
		WithCommand("sh", "-c", "trap exit TERM; while :; do sleep 1; done").
		WithSecurityContext(applycorev1.SecurityContext().
			WithAllowPrivilegeEscalation(false).
			WithCapabilities(applycorev1.Capabilities().WithDrop("ALL")))
}

// addSidecar adds containers, and an annotation, to a Deployment as a field manager of
// their own; none takes them away again.
func addSidecar(t *testing.T, namespace, name string, containers ...*applycorev1.ContainerApplyConfiguration) {
	t.Helper()
	d := applyappsv1.Deployment(name, namespace).WithAnnotations(map[string]string{"example.com/note": "mine"})
	if len(containers) > 0 {
		d.WithSpec(applyappsv1.DeploymentSpec().WithTemplate(applycorev1.PodTemplateSpec().
			WithSpec(applycorev1.PodSpec().WithContainers(containers...))))
	}
	cluster.Must(t, suite.Apply(t.Context(), d, client.FieldOwner("injector")))
}
