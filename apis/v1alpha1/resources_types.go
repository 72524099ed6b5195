// SPDX-License-Identifier: Apache-2.0

package v1alpha1

import "k8s.io/apimachinery/pkg/api/resource"

// Resources are what a container requests and is limited to, such as cpu: 500m
// and memory: 256Mi.
//
// +kubebuilder:validation:XValidation:rule="!has(self.requests) || !has(self.requests.memory) || !has(self.limits) || !has(self.limits.memory) || [self.requests.memory, self.limits.memory].exists(m, !string(m).matches('^[0-9]+([.][0-9]+)?(m|[kMGTP]|[KMGTP]i)?$')) || quantity(string(self.requests.memory)).compareTo(quantity(string(self.limits.memory))) <= 0",message="the request of memory must not be above its limit"
type Resources struct {
	// requests are what the scheduler sets aside.
	//
	// +optional
	// +operator-sdk:csv:customresourcedefinitions:type=spec,displayName="Requests",xDescriptors={"urn:alm:descriptor:com.tectonic.ui:advanced"}
	Requests *ResourceAmounts `json:"requests,omitempty"`

	// limits are what the container may use at most.
	//
	// +optional
	// +operator-sdk:csv:customresourcedefinitions:type=spec,displayName="Limits",xDescriptors={"urn:alm:descriptor:com.tectonic.ui:advanced"}
	Limits *ResourceAmounts `json:"limits,omitempty"`
}

// ResourceAmounts are amounts of the resources that a Memcached can ask for.
//
// +kubebuilder:validation:XValidation:rule="!('cpu' in dyn(self)) || dyn(self)['cpu'] != true && dyn(self)['cpu'] != false",message="cpu must be a number, such as 0.5, or one of thousandths, such as 500m"
type ResourceAmounts struct {
	// hack/crd adds the schema of cpu, which has no type: the rule above reads it by dyn.

	// cpu is a number of CPUs, 0 to 1000000, such as 0.5 or 500m; at most 24
	// characters.
	//
	// +optional
	// +kubebuilder:validation:Schemaless
	// +kubebuilder:pruning:PreserveUnknownFields
	CPU *resource.Quantity `json:"cpu,omitempty"`

	// memory is a number of bytes, or one with a unit, such as 256Mi; at most 24
	// characters.
	//
	// +optional
	// +kubebuilder:validation:Schemaless
	// +kubebuilder:validation:XIntOrString
	// +kubebuilder:validation:MaxLength=24
	// +kubebuilder:validation:XValidation:rule="string(self).matches('^[0-9]+([.][0-9]+)?(m|[kMGTP]|[KMGTP]i)?$')",message="memory must be a number, 0 or more, or one with a unit, such as 500M or 256Mi, and without an exponent"
	Memory *resource.Quantity `json:"memory,omitempty"`

	// ephemeral-storage is a number of bytes on the node's disk, or one with a
	// unit, such as 1Gi; at most 24 characters.
	//
	// +optional
	// +kubebuilder:validation:Schemaless
	// +kubebuilder:validation:XIntOrString
	// +kubebuilder:validation:MaxLength=24
	// +kubebuilder:validation:XValidation:rule="string(self).matches('^[0-9]+([.][0-9]+)?(m|[kMGTP]|[KMGTP]i)?$')",message="ephemeral-storage must be a number, 0 or more, or one with a unit, such as 500M or 256Mi, and without an exponent"
	EphemeralStorage *resource.Quantity `json:"ephemeral-storage,omitempty"`
}
