// SPDX-License-Identifier: Apache-2.0

package render

import (
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/kustomize/kyaml/resid"

	cachev1alpha1 "github.com/example/memcached-operator/apis/v1alpha1"
	"github.com/example/memcached-operator/reconcilers/render/template"
)

const (
	// ManagedByLabel is set on every rendered object to ManagedBy. The operator's caches
	// select by it.
	ManagedByLabel = "app.kubernetes.io/managed-by"
	// ManagedBy is the value of ManagedByLabel, and the operator's name.
	ManagedBy = "memcached-operator"
)

// setMetadata sets the metadata that the operator owns beside names: namespace, owner reference
// and managed-by label.
func setMetadata(objects []map[string]any, mc *cachev1alpha1.Memcached) []*unstructured.Unstructured {
	result := make([]*unstructured.Unstructured, 0, len(objects))
	for _, object := range objects {
		metadata := object["metadata"].(map[string]any)
		metadata["namespace"] = mc.Namespace
		metadata["ownerReferences"] = []any{ownerReference(mc)}
		labels, ok := metadata["labels"].(map[string]any)
		if !ok {
			labels = map[string]any{}
			metadata["labels"] = labels
		}
		labels[ManagedByLabel] = ManagedBy
		mirrorServiceAccount(object)
		result = append(result, &unstructured.Unstructured{Object: object})
	}
	return result
}

// ownerReference returns a map, since converting an apply configuration takes as long as
// rendering a plain Memcached.
func ownerReference(mc *cachev1alpha1.Memcached) map[string]any {
	return map[string]any{
		"apiVersion":         cachev1alpha1.SchemeGroupVersion.String(),
		"kind":               "Memcached",
		"name":               mc.Name,
		"uid":                string(mc.UID),
		"controller":         true,
		"blockOwnerDeletion": true,
	}
}

// mirrorServiceAccount copies serviceAccountName of a pod template to serviceAccount, its
// deprecated alias, or the alias to an empty serviceAccountName. The API server fills in
// each from the other: unless the operator owns both fields, the service account is kept
// when it is no longer rendered.
func mirrorServiceAccount(object map[string]any) {
	pod, ok := template.Lookup(object, []any{"spec", "template", "spec"}).(map[string]any)
	if !ok {
		return
	}
	for _, field := range []string{"serviceAccountName", "serviceAccount"} {
		if name := pod[field]; name != nil && name != "" {
			pod["serviceAccountName"], pod["serviceAccount"] = name, name
			return
		}
	}
}

// inApplyOrder compares objects by the order in which kustomize and Helm apply their
// kinds: configuration and services before workloads.
func inApplyOrder(a, b *unstructured.Unstructured) int {
	x, y := gvk(a), gvk(b)
	switch {
	case x.IsLessThan(y):
		return -1
	case y.IsLessThan(x):
		return 1
	default:
		return 0
	}
}

func gvk(u *unstructured.Unstructured) resid.Gvk {
	k := u.GroupVersionKind()
	return resid.Gvk{Group: k.Group, Version: k.Version, Kind: k.Kind}
}
