// SPDX-License-Identifier: Apache-2.0

package v1alpha1

// Patch is one kustomize patch.
type Patch struct {
	// target says which objects are patched.
	//
	// +required
	Target PatchTarget `json:"target"`

	// patch is the patch as YAML or JSON: a strategic merge patch (a part of the
	// object; apiVersion, kind and metadata.name may be left out) or a JSON patch
	// (a list of operations, RFC 6902). At most 16384 characters.
	//
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=16384
	Patch string `json:"patch"`
}

// PatchTarget says which objects are patched: those of a kind, or one of them.
type PatchTarget struct {
	// kind is the kind of the objects, such as Deployment.
	//
	// +required
	// +kubebuilder:validation:MaxLength=63
	// +kubebuilder:validation:Pattern=`^[A-Z][a-zA-Z0-9]*$`
	Kind string `json:"kind"`

	// group is the API group of the kind, such as apps; empty is the core group.
	// It may be left out for the kinds of the operator's own templates:
	// Deployment, NetworkPolicy, PodDisruptionBudget, PrometheusRule, Service,
	// ServiceMonitor.
	//
	// +optional
	// +kubebuilder:validation:MaxLength=253
	// +kubebuilder:validation:Pattern=`^([a-z0-9]([-a-z0-9.]*[a-z0-9])?)?$`
	Group *string `json:"group,omitempty"`

	// name is the name of one object, as it is in the cluster. Defaults to all of
	// the kind.
	//
	// +optional
	// +kubebuilder:validation:MaxLength=253
	// +kubebuilder:validation:Pattern=`^[a-z0-9]([-a-z0-9.]*[a-z0-9])?$`
	Name *string `json:"name,omitempty"`
}
