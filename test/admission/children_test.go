// SPDX-License-Identifier: Apache-2.0

package admission

import (
	"maps"
	"slices"
	"strings"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	policyv1 "k8s.io/api/policy/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	cachev1alpha1 "github.com/example/memcached-operator/apis/v1alpha1"
	reconcilersapply "github.com/example/memcached-operator/reconcilers/apply"
	"github.com/example/memcached-operator/test/testenv"
)

// observedKinds are those of the templates, and others that an author may aim at.
var observedKinds = []schema.GroupVersionKind{
	appsv1.SchemeGroupVersion.WithKind("Deployment"),
	appsv1.SchemeGroupVersion.WithKind("DaemonSet"),
	appsv1.SchemeGroupVersion.WithKind("StatefulSet"),
	batchv1.SchemeGroupVersion.WithKind("Job"),
	corev1.SchemeGroupVersion.WithKind("Service"),
	corev1.SchemeGroupVersion.WithKind("Pod"),
	corev1.SchemeGroupVersion.WithKind("Secret"),
	corev1.SchemeGroupVersion.WithKind("ConfigMap"),
	corev1.SchemeGroupVersion.WithKind("ServiceAccount"),
	networkingv1.SchemeGroupVersion.WithKind("NetworkPolicy"),
	policyv1.SchemeGroupVersion.WithKind("PodDisruptionBudget"),
	rbacv1.SchemeGroupVersion.WithKind("Role"),
	rbacv1.SchemeGroupVersion.WithKind("RoleBinding"),
	testenv.MonitoringKind("ServiceMonitor"),
	testenv.MonitoringKind("PrometheusRule"),
}

// objects are what a namespace holds: by the name of the Memcached that owns them,
// empty for none, and by kind and name.
type objects map[string]map[string]*unstructured.Unstructured

// list lists the objects of a namespace.
func list(t *testing.T, namespace string) objects {
	t.Helper()
	found := objects{}
	for _, kind := range observedKinds {
		l := &unstructured.UnstructuredList{}
		l.SetGroupVersionKind(kind)
		testenv.NoError(t, suite.Client.List(t.Context(), l, client.InNamespace(namespace)))
		for i := range l.Items {
			object, owner := &l.Items[i], ""
			for _, reference := range object.GetOwnerReferences() {
				if reference.Kind == "Memcached" {
					owner = reference.Name
				}
			}
			if found[owner] == nil {
				found[owner] = map[string]*unstructured.Unstructured{}
			}
			found[owner][kind.Kind+" "+object.GetName()] = object
		}
	}
	return found
}

// of returns the objects of a Memcached as text, with NAME in place of its name: what
// users decide of them.
func (o objects) of(t *testing.T, name string) map[string]string {
	t.Helper()
	texts := map[string]string{}
	for key, object := range o[name] {
		content := withoutAllocations(object).Object
		annotations := object.GetAnnotations()
		delete(annotations, reconcilersapply.HashAnnotation) // It follows the rest, and the Memcached's UID.
		content["metadata"] = map[string]any{"labels": object.GetLabels(), "annotations": annotations, "finalizers": object.GetFinalizers()}
		text, err := yaml.Marshal(content)
		testenv.NoError(t, err)
		texts[strings.ReplaceAll(key, name, "NAME")] = strings.ReplaceAll(string(text), name, "NAME")
	}
	return texts
}

// withoutAllocations returns a copy of object without its status, and of a Service without the addresses and ports that the API server
// chose.
func withoutAllocations(object *unstructured.Unstructured) *unstructured.Unstructured {
	like := object.DeepCopy()
	delete(like.Object, "status")
	spec, ok := like.Object["spec"].(map[string]any)
	if !ok || like.GetKind() != "Service" {
		return like
	}
	if spec["clusterIP"] != "None" {
		delete(spec, "clusterIP")
		delete(spec, "clusterIPs")
	}
	for _, port := range spec["ports"].([]any) {
		delete(port.(map[string]any), "nodePort")
	}
	return like
}

// creatable returns whether the user of c may create an object like this one.
func creatable(t *testing.T, c client.Client, object *unstructured.Unstructured) error {
	t.Helper()
	like := withoutAllocations(object)
	like.Object["metadata"] = map[string]any{}
	like.SetNamespace(object.GetNamespace())
	like.SetName(object.GetName() + "-like")
	like.SetLabels(object.GetLabels())
	like.SetAnnotations(object.GetAnnotations())
	like.SetFinalizers(object.GetFinalizers())
	return c.Create(t.Context(), like, client.DryRunAll)
}

// snapshot returns all objects of a namespace with their status, Memcacheds among them.
func snapshot(t *testing.T, namespace string) string {
	t.Helper()
	all := &unstructured.UnstructuredList{}
	all.SetGroupVersionKind(cachev1alpha1.SchemeGroupVersion.WithKind("MemcachedList"))
	testenv.NoError(t, suite.Client.List(t.Context(), all, client.InNamespace(namespace)))
	found := list(t, namespace)
	for _, owner := range slices.Sorted(maps.Keys(found)) {
		for _, key := range slices.Sorted(maps.Keys(found[owner])) {
			all.Items = append(all.Items, *found[owner][key])
		}
	}
	text, err := yaml.Marshal(all.Items)
	testenv.NoError(t, err)
	return string(text)
}
