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
	// (a list of operations, RFC 6902). At most 8192 characters.
	//
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=8192
	Patch string `json:"patch"`
}

// PatchTarget says which objects are patched: those of a kind, or one of them.
type PatchTarget struct {
	// kind is the kind of the objects, such as Deployment: at most 63 characters.
	//
	// +required
	// +kubebuilder:validation:MaxLength=63
	// +kubebuilder:validation:XValidation:rule="self.matches('^[A-Z][a-zA-Z0-9]*$')",message="kind must be a kind, such as Deployment: letters and digits, beginning with a capital letter"
	Kind string `json:"kind"`

	// group is the API group of the kind, such as apps; empty is the core group.
	// It may be left out for the kinds of the operator's own templates:
	// Deployment, NetworkPolicy, PodDisruptionBudget, PrometheusRule, Service,
	// ServiceMonitor. At most 253 characters.
	//
	// +optional
	// +kubebuilder:validation:MaxLength=253
	// +kubebuilder:validation:XValidation:rule="self == '' || !format.dns1123Subdomain().validate(self).hasValue()",message="group must be empty or an API group, such as apps or policy"
	Group *string `json:"group,omitempty"`

	// name is the name of one object, as it is in the cluster. Defaults to all of
	// the kind.
	//
	// +optional
	Name *ObjectName `json:"name,omitempty"`
}
