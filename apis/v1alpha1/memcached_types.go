// SPDX-License-Identifier: Apache-2.0

package v1alpha1

import metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

// Memcached is a set of memcached pods behind one headless Service. The
// operator renders its templates for each Memcached, applies the resulting
// objects and reports in the status.
// +operator-sdk:csv:customresourcedefinitions:displayName="Memcached",resources={{Deployment,apps/v1},{EndpointSlice,discovery.k8s.io/v1},{Event,events.k8s.io/v1},{NetworkPolicy,networking.k8s.io/v1},{Pod,v1},{PodDisruptionBudget,policy/v1},{PrometheusRule,monitoring.coreos.com/v1},{Service,v1},{ServiceMonitor,monitoring.coreos.com/v1}}
// +kubebuilder:object:root=true
// +kubebuilder:resource:path=memcacheds,singular=memcached,scope=Namespaced,shortName=memc,categories=all
// +kubebuilder:subresource:status
// +kubebuilder:subresource:scale:specpath=.spec.size,statuspath=.status.replicas,selectorpath=.status.selector
// +kubebuilder:printcolumn:name="Pods",type=string,JSONPath=`.status.podsReady`,description="Ready and desired pods"
// +kubebuilder:printcolumn:name="Ready",type=string,JSONPath=`.status.conditions[?(@.type=="Ready")].status`,description="Status of the Ready condition"
// +kubebuilder:printcolumn:name="Reason",type=string,JSONPath=`.status.conditions[?(@.type=="Ready")].reason`,description="Reason of the Ready condition"
// +kubebuilder:printcolumn:name="Age",type=date,JSONPath=`.metadata.creationTimestamp`
// +kubebuilder:printcolumn:name="Image",type=string,JSONPath=`.status.image`,priority=1,description="memcached image of the Deployment"
// +kubebuilder:printcolumn:name="Endpoint",type=string,JSONPath=`.status.endpoint`,priority=1,description="Host and port for clients"
// +kubebuilder:printcolumn:name="Message",type=string,JSONPath=`.status.conditions[?(@.type=="Ready")].message`,priority=1,description="Message of the Ready condition"
// +kubebuilder:validation:XValidation:rule="oldSelf.hasValue() || size(self.metadata.name) <= 52",optionalOldSelf=true,fieldPath=".metadata",message="metadata.name must have at most 52 characters: the names of the pods are made from it"
// +kubebuilder:validation:XValidation:rule="oldSelf.hasValue() || self.metadata.name.matches('^[a-z]([-a-z0-9]*[a-z0-9])?$')",optionalOldSelf=true,fieldPath=".metadata",message="metadata.name must begin with a letter and hold only lower-case letters, digits and '-': it also names a Service"
// +kubebuilder:validation:XValidation:rule="!has(self.spec.proxy) || !has(self.spec.proxy.zones) || self.metadata.name in self.spec.proxy.zones",fieldPath=".spec.proxy.zones",message="proxy.zones must name this Memcached too"
type Memcached struct {
	// The rules on the name apply on creation only (oldSelf): a name never
	// changes, and a Memcached that is older than the rules must remain editable.

	metav1.TypeMeta `json:",inline"`

	// +optional
	metav1.ObjectMeta `json:"metadata,omitzero"`

	// spec is the desired state. It is required, though it may be empty ({}).
	// +required
	Spec MemcachedSpec `json:"spec"`

	// status is the observed state; only the operator writes it.
	// +optional
	Status MemcachedStatus `json:"status,omitzero"`
}

// MemcachedList is a list of Memcacheds.
// +kubebuilder:object:root=true
type MemcachedList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitzero"`
	Items           []Memcached `json:"items"`
}
