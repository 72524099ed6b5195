// SPDX-License-Identifier: Apache-2.0

//go:build e2e

package cluster

import (
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"

	cachev1alpha1 "github.com/example/memcached-operator/apis/v1alpha1"
	"github.com/example/memcached-operator/test/testenv"
)

// Children are the objects, empty but for their names, that every Memcached of that name has.
func Children(namespace, name string) []client.Object {
	metadata := metav1.ObjectMeta{Namespace: namespace, Name: name}
	return []client.Object{
		&appsv1.Deployment{ObjectMeta: metadata},
		&corev1.Service{ObjectMeta: metadata},
		&policyv1.PodDisruptionBudget{ObjectMeta: metadata},
	}
}

// WithEveryObject asks for every object that a Memcached can have.
func WithEveryObject(spec *cachev1alpha1.MemcachedSpec) {
	inNamespace := []cachev1alpha1.NetworkPolicyPeer{{PodSelector: &cachev1alpha1.LabelSelector{}}}
	spec.Service = &cachev1alpha1.Service{ClusterIP: &cachev1alpha1.ClusterIPService{}}
	spec.Proxy = &cachev1alpha1.Proxy{Size: new(int32(1))} // and so stable names
	spec.NetworkPolicy = &cachev1alpha1.NetworkPolicy{From: inNamespace, MetricsFrom: inNamespace}
	spec.Metrics = &cachev1alpha1.Metrics{ServiceMonitor: &cachev1alpha1.ServiceMonitor{}, Rules: &cachev1alpha1.Rules{}}
}

// MoreChildren are the objects, empty but for their names, that a Memcached of that name has beside
// [Children] when it is made [WithEveryObject].
func MoreChildren(namespace, name string) []client.Object {
	return []client.Object{
		&corev1.Service{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name + "-clusterip"}},
		&corev1.Service{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name + "-nodes"}},
		&networkingv1.NetworkPolicy{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name + "-clients"}},
		&appsv1.Deployment{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name + "-proxy"}},
		&corev1.Service{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name + "-proxy"}},
		&policyv1.PodDisruptionBudget{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name + "-proxy"}},
		&corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name + "-proxy-nodes"}},
		&networkingv1.NetworkPolicy{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name + "-proxy"}},
		&networkingv1.NetworkPolicy{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name + "-proxied"}},
		monitoringObject("ServiceMonitor", namespace, name),
		monitoringObject("PrometheusRule", namespace, name),
		monitoringObject("ServiceMonitor", namespace, name+"-proxy"),
		monitoringObject("PrometheusRule", namespace, name+"-proxy"),
	}
}

// TakeAway has a Memcached that was made [WithEveryObject] go without all objects that it need not have, and
// waits until they are gone.
func (c *Cluster) TakeAway(t testing.TB, mc *cachev1alpha1.Memcached) {
	t.Helper()
	c.Patch(t, mc, `{"spec":{"service":null,"proxy":null,"networkPolicy":null,"metrics":null,"podDisruptionBudget":{"none":{}}}}`)
	for _, object := range append(MoreChildren(mc.Namespace, mc.Name), &policyv1.PodDisruptionBudget{ObjectMeta: metav1.ObjectMeta{Namespace: mc.Namespace, Name: mc.Name}}) {
		c.EventuallyGone(t, object)
	}
}

// Foreign are objects of another owner at the names that a Memcached needs which was made
// [WithEveryObject], by kind.
func Foreign(namespace, name string) map[string]client.Object {
	metadata := metav1.ObjectMeta{Namespace: namespace, Name: name}
	labels := map[string]string{"app": "theirs"}
	selector := &metav1.LabelSelector{MatchLabels: labels}
	return map[string]client.Object{
		"Service": &corev1.Service{ObjectMeta: metadata, Spec: corev1.ServiceSpec{Ports: []corev1.ServicePort{{Port: 80}}}},
		"Deployment": &appsv1.Deployment{ObjectMeta: metadata, Spec: appsv1.DeploymentSpec{
			Replicas: new(int32(0)),
			Selector: selector,
			Template: corev1.PodTemplateSpec{
				ObjectMeta: metav1.ObjectMeta{Labels: labels},
				Spec:       corev1.PodSpec{Containers: []corev1.Container{{Name: "theirs", Image: BusyboxImage}}},
			},
		}},
		"PodDisruptionBudget": &policyv1.PodDisruptionBudget{ObjectMeta: metadata, Spec: policyv1.PodDisruptionBudgetSpec{Selector: selector}},
		"NetworkPolicy":       &networkingv1.NetworkPolicy{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name + "-clients"}, Spec: networkingv1.NetworkPolicySpec{PodSelector: *selector}},
		"ServiceMonitor": withSpec(monitoringObject("ServiceMonitor", namespace, name), map[string]any{
			"selector":  map[string]any{"matchLabels": map[string]any{"app": "theirs"}},
			"endpoints": []any{},
		}),
		"PrometheusRule": withSpec(monitoringObject("PrometheusRule", namespace, name), map[string]any{"groups": []any{}}),
	}
}

func withSpec(object *unstructured.Unstructured, spec map[string]any) *unstructured.Unstructured {
	object.Object["spec"] = spec
	return object
}

// monitoringObject is an object of one of the Prometheus operator's kinds, with nothing but its name.
func monitoringObject(kind, namespace, name string) *unstructured.Unstructured {
	object := &unstructured.Unstructured{}
	object.SetGroupVersionKind(testenv.MonitoringKind(kind))
	object.SetNamespace(namespace)
	object.SetName(name)
	return object
}
