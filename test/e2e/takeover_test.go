// SPDX-License-Identifier: Apache-2.0

//go:build e2e

package e2e

import (
	"slices"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	cachev1alpha1 "github.com/example/memcached-operator/apis/v1alpha1"
	"github.com/example/memcached-operator/test/e2e/cluster"
	"github.com/example/memcached-operator/test/testenv"
)

// TestAdoption_TakesOverTheTutorialsDeployment follows "Coming from the Operator SDK's Memcached
// tutorial" of the README: our operator starts where the tutorial's has run, so it is stopped first.
func TestAdoption_TakesOverTheTutorialsDeployment(t *testing.T) {
	// The tutorial's pods ask for more than "restricted" allows.
	namespace := suite.NewNamespace(t, "pod-security.kubernetes.io/enforce", "baseline")
	t.Cleanup(func() { suite.operator.Scale(t, 1) })
	suite.operator.Scale(t, 0)
	const size = 2
	mc := suite.NewMemcached(t, namespace, "memcached-sample", size)
	made := tutorialsDeployment(mc)
	testenv.NoError(t, suite.Client.Create(t.Context(), made, client.FieldOwner("manager")))
	testenv.EventuallyObject(t, &suite.Env, made, "available", func(d *appsv1.Deployment) bool { return d.Status.AvailableReplicas == size })
	runImage(t, namespace, mc.Name, cluster.OldImage)

	fewest := suite.WatchFewest(t, namespace, mc.Name, size)
	suite.operator.Scale(t, 1)
	suite.Ready(t, mc)
	t.Logf("at least %d of %d pods answered all the time", fewest(), size)

	now := suite.Deployment(t, namespace, mc.Name)
	if now.UID != made.UID || !metav1.IsControlledBy(now, mc) {
		t.Errorf("the Deployment was %s and is %s, with the owners %v", made.UID, now.UID, now.OwnerReferences)
	}
	container := now.Spec.Template.Spec.Containers[0]
	if container.Image != cluster.Image || !slices.Equal(container.Command, []string{"memcached"}) || len(now.Spec.Template.Spec.HostAliases) > 0 {
		t.Errorf("the pods are still the tutorial's: %+v", now.Spec.Template.Spec)
	}
	runImage(t, namespace, mc.Name, cluster.Image)
}

// tutorialsDeployment is what the tutorial's operator makes for a Memcached, with an
// image that the nodes have and, to see it go, a field that our templates do not set.
func tutorialsDeployment(mc *cachev1alpha1.Memcached) *appsv1.Deployment {
	labels := map[string]string{"app": "memcached", "memcached_cr": mc.Name}
	return &appsv1.Deployment{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: mc.Namespace, Name: mc.Name,
			OwnerReferences: []metav1.OwnerReference{*metav1.NewControllerRef(mc, cachev1alpha1.MemcachedKind)},
		},
		Spec: appsv1.DeploymentSpec{
			Replicas: mc.Spec.Size,
			Selector: &metav1.LabelSelector{MatchLabels: labels},
			Template: corev1.PodTemplateSpec{
				ObjectMeta: metav1.ObjectMeta{Labels: labels},
				Spec: corev1.PodSpec{
					HostAliases: []corev1.HostAlias{{IP: "127.0.0.9", Hostnames: []string{"old"}}},
					Containers: []corev1.Container{{
						Name: "memcached", Image: cluster.OldImage,
						// The first editions say -m=64, which only their memcached 1.4 starts with.
						Command: []string{"memcached", "--memory-limit=64", "-o", "modern", "-v"},
						Ports:   []corev1.ContainerPort{{Name: "memcached", ContainerPort: cluster.Port}},
					}},
				},
			},
		},
	}
}
