// SPDX-License-Identifier: Apache-2.0

package v1alpha1

// Patch is one kustomize patch.
type Patch struct {
	// target selects the objects to patch.
	// +required
	Target PatchTarget `json:"target"`

	// patch is the patch as YAML or JSON, at most 8192 characters: a strategic
	// merge patch (a part of the object; apiVersion, kind and metadata.name may be
	// omitted) or a JSON patch (a list of operations, RFC 6902).
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=8192
	Patch string `json:"patch"`
}

// PatchTarget selects the objects to patch: all of a kind, or one of them.
type PatchTarget struct {
	// kind is the kind of the objects, such as Deployment: at most 63 characters.
	// +required
	// +kubebuilder:validation:MaxLength=63
	// +kubebuilder:validation:XValidation:rule="self.matches('^[A-Z][a-zA-Z0-9]*$')",message="kind must be a kind, such as Deployment: letters and digits, beginning with a capital letter"
	Kind string `json:"kind"`

	// group is the API group of the kind, such as apps; empty is the core group.
	// It may be omitted for the kinds of the built-in templates: Deployment,
	// NetworkPolicy, PodDisruptionBudget, PrometheusRule, Service, ServiceMonitor.
	// At most 253 characters.
	// +optional
	// +kubebuilder:validation:MaxLength=253
	// +kubebuilder:validation:XValidation:rule="self == '' || self.matches('^[a-z0-9]+((-+|[.])[a-z0-9]+)*$')",message="group must be empty or an API group, such as apps or policy"
	Group *string `json:"group,omitempty"`

	// name is the name of one object in the cluster. Defaults to all objects of
	// the kind.
	// +optional
	Name *ObjectName `json:"name,omitempty"`
}
