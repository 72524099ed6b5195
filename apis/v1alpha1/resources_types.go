// SPDX-License-Identifier: Apache-2.0

package v1alpha1

import "k8s.io/apimachinery/pkg/api/resource"

// Resources are the resource requests and limits of a container, such as cpu:
// 500m and memory: 256Mi.
// +kubebuilder:validation:XValidation:rule="!has(self.requests) || !has(self.requests.memory) || !has(self.limits) || !has(self.limits.memory) || [self.requests.memory, self.limits.memory].exists(m, !string(m).matches('^[0-9]+([.][0-9]+)?(m|[kMGTP]|[KMGTP]i)?$')) || quantity(string(self.requests.memory)).compareTo(quantity(string(self.limits.memory))) <= 0",message="the request of memory must not be above its limit"
type Resources struct {
	// requests are the resources that the scheduler reserves.
	// +optional
	// +operator-sdk:csv:customresourcedefinitions:type=spec,displayName="Requests",xDescriptors={"urn:alm:descriptor:com.tectonic.ui:advanced"}
	Requests *ResourceAmounts `json:"requests,omitempty"`

	// limits are the maximum resources of the container.
	// +optional
	// +operator-sdk:csv:customresourcedefinitions:type=spec,displayName="Limits",xDescriptors={"urn:alm:descriptor:com.tectonic.ui:advanced"}
	Limits *ResourceAmounts `json:"limits,omitempty"`
}

// ResourceAmounts are quantities of the supported resources.
type ResourceAmounts struct {
	// hack/crd adds the schema of cpu, which has no type.

	// cpu is the number of CPUs, 0 to 1000000, such as 0.5 or 500m; at most 24
	// characters.
	// +optional
	// +kubebuilder:validation:Schemaless
	// +kubebuilder:pruning:PreserveUnknownFields
	CPU *resource.Quantity `json:"cpu,omitempty"`

	// memory is the number of bytes, optionally with a unit, such as 256Mi; at
	// most 24 characters.
	// +optional
	// +kubebuilder:validation:Schemaless
	// +kubebuilder:validation:XIntOrString
	// +kubebuilder:validation:MaxLength=24
	// +kubebuilder:validation:XValidation:rule="string(self).matches('^[0-9]+([.][0-9]+)?(m|[kMGTP]|[KMGTP]i)?$')",message="memory must be a number, 0 or more, or one with a unit, such as 500M or 256Mi, and without an exponent"
	Memory *resource.Quantity `json:"memory,omitempty"`

	// ephemeral-storage is the number of bytes on the disk of the node, optionally
	// with a unit, such as 1Gi; at most 24 characters.
	// +optional
	// +kubebuilder:validation:Schemaless
	// +kubebuilder:validation:XIntOrString
	// +kubebuilder:validation:MaxLength=24
	// +kubebuilder:validation:XValidation:rule="string(self).matches('^[0-9]+([.][0-9]+)?(m|[kMGTP]|[KMGTP]i)?$')",message="ephemeral-storage must be a number, 0 or more, or one with a unit, such as 500M or 256Mi, and without an exponent"
	EphemeralStorage *resource.Quantity `json:"ephemeral-storage,omitempty"`
}
