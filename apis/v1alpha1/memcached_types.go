// SPDX-License-Identifier: Apache-2.0

package v1alpha1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// MemcachedSpec is what a user asks for. Every field is optional; the text of
// a field names its default.
type MemcachedSpec struct {
	// size is how many memcached pods run, 0 or more. 0 keeps the objects and
	// runs no pod. It is the replica count of the scale subresource, so
	// `kubectl scale` and a HorizontalPodAutoscaler work on the Memcached
	// itself. Defaults to 1.
	//
	// +optional
	// +default=1
	// +kubebuilder:validation:Minimum=0
	// +operator-sdk:csv:customresourcedefinitions:type=spec,displayName="Size",xDescriptors={"urn:alm:descriptor:com.tectonic.ui:podCount"}
	Size *int32 `json:"size,omitempty"`

	// image is the memcached image to run, by tag or by digest, such as
	// memcached:1.6.45-alpine or registry.example.com/memcached@sha256:<digest>;
	// at most 512 characters. Defaults to the image that the operator was
	// started with (RELATED_IMAGE_MEMCACHED), else to the one in its templates.
	//
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=512
	// +kubebuilder:validation:XValidation:rule="self.matches('^(([a-zA-Z0-9]([-a-zA-Z0-9.]*[a-zA-Z0-9])?|\\\\[[a-fA-F0-9:]+\\\\])(:[0-9]+)?/)?[a-z0-9]+(([._]|__|-+)[a-z0-9]+)*(/[a-z0-9]+(([._]|__|-+)[a-z0-9]+)*)*(:[a-zA-Z0-9_][-a-zA-Z0-9_.]{0,127})?(@[a-zA-Z][a-zA-Z0-9]*([-_+.][a-zA-Z][a-zA-Z0-9]*)*:[a-fA-F0-9]{32,})?$')",message="image must be [registry[:port]/]name[:tag][@digest] without spaces, such as memcached:1.6.45-alpine or registry.example.com/memcached@sha256:<64 hexadecimal digits>"
	// +operator-sdk:csv:customresourcedefinitions:type=spec,displayName="Image",xDescriptors={"urn:alm:descriptor:com.tectonic.ui:text"}
	Image *string `json:"image,omitempty"`

	// containerPort is the TCP port on which memcached listens, in the pods and
	// through the Service: 1024 to 65535, since memcached does not run as root.
	// Defaults to 11211.
	//
	// +optional
	// +default=11211
	// +kubebuilder:validation:Minimum=1024
	// +kubebuilder:validation:Maximum=65535
	// +operator-sdk:csv:customresourcedefinitions:type=spec,displayName="Container port",xDescriptors={"urn:alm:descriptor:com.tectonic.ui:number"}
	ContainerPort *int32 `json:"containerPort,omitempty"`

	// podMetadata holds labels and annotations to add to the memcached pods,
	// for tools that read them there (cost allocation, log routing, service
	// meshes). A change of it rolls the pods. Defaults to none.
	//
	// +optional
	// +operator-sdk:csv:customresourcedefinitions:type=spec,displayName="Pod metadata",xDescriptors={"urn:alm:descriptor:com.tectonic.ui:advanced"}
	PodMetadata *PodMetadata `json:"podMetadata,omitempty"`
}

// PodMetadata is the part of the pods' metadata that a user may add to.
type PodMetadata struct {
	// labels are added to the pods, at most 32. The operator's own labels (app,
	// memcached_cr and app.kubernetes.io/…) are reserved, since selectors rest
	// on them.
	//
	// +optional
	// +kubebuilder:validation:MaxProperties=32
	// +kubebuilder:validation:XValidation:rule="self.all(key, key != 'app' && key != 'memcached_cr' && !key.startsWith('app.kubernetes.io/') && key != 'pod-template-hash')",message="labels app, memcached_cr, pod-template-hash and app.kubernetes.io/… belong to the operator; choose another key"
	// +kubebuilder:validation:XValidation:rule="self.all(key, !format.qualifiedName().validate(key).hasValue())",message="each label key must be a qualified name, such as team or example.com/team"
	// +kubebuilder:validation:XValidation:rule="self.all(key, !format.labelValue().validate(self[key]).hasValue())",message="each label value must have at most 63 characters: letters, digits, '-', '_' and '.', beginning and ending with a letter or digit"
	// +operator-sdk:csv:customresourcedefinitions:type=spec,displayName="Pod labels",xDescriptors={"urn:alm:descriptor:com.tectonic.ui:advanced"}
	Labels map[string]LabelValue `json:"labels,omitempty"`

	// annotations are added to the pods, at most 32 of at most 4096 characters
	// each.
	//
	// +optional
	// +kubebuilder:validation:MaxProperties=32
	// +kubebuilder:validation:XValidation:rule="self.all(key, !format.qualifiedName().validate(key).hasValue())",message="each annotation key must be a qualified name, such as example.com/owner"
	// +operator-sdk:csv:customresourcedefinitions:type=spec,displayName="Pod annotations",xDescriptors={"urn:alm:descriptor:com.tectonic.ui:advanced"}
	Annotations map[string]AnnotationValue `json:"annotations,omitempty"`
}

// LabelValue is the value of a label: at most 63 characters.
// +kubebuilder:validation:MaxLength=63
type LabelValue string

// AnnotationValue is the value of an annotation: at most 4096 characters.
// +kubebuilder:validation:MaxLength=4096
type AnnotationValue string

// MemcachedStatus is what the operator last observed. It is written only when it
// changes.
type MemcachedStatus struct {
	// nodes are the names of the memcached pods, sorted; pods that are being
	// deleted are left out.
	//
	// +optional
	// +listType=atomic
	// +operator-sdk:csv:customresourcedefinitions:type=status,displayName="Nodes",xDescriptors={"urn:alm:descriptor:com.tectonic.ui:podStatuses"}
	Nodes []string `json:"nodes,omitempty"`

	// replicas is how many memcached pods the Deployment has, of any revision;
	// the scale subresource reports it.
	//
	// +optional
	// +operator-sdk:csv:customresourcedefinitions:type=status,displayName="Replicas",xDescriptors={"urn:alm:descriptor:com.tectonic.ui:podCount"}
	Replicas *int32 `json:"replicas,omitempty"`

	// readyReplicas is how many memcached pods answer their readiness probe.
	//
	// +optional
	// +operator-sdk:csv:customresourcedefinitions:type=status,displayName="Ready replicas",xDescriptors={"urn:alm:descriptor:com.tectonic.ui:podCount"}
	ReadyReplicas *int32 `json:"readyReplicas,omitempty"`

	// selector is the label selector of the memcached pods, in the form that
	// `kubectl get pods -l` takes; autoscalers read it through the scale
	// subresource.
	//
	// +optional
	// +operator-sdk:csv:customresourcedefinitions:type=status,displayName="Selector",xDescriptors={"urn:alm:descriptor:text"}
	Selector string `json:"selector,omitempty"`

	// endpoint is where clients connect, as host:port. The host is a headless
	// Service: it resolves to the address of every memcached pod.
	//
	// +optional
	// +operator-sdk:csv:customresourcedefinitions:type=status,displayName="Endpoint",xDescriptors={"urn:alm:descriptor:text"}
	Endpoint string `json:"endpoint,omitempty"`

	// image is the memcached image that the Deployment is asked to run.
	//
	// +optional
	// +operator-sdk:csv:customresourcedefinitions:type=status,displayName="Image",xDescriptors={"urn:alm:descriptor:text"}
	Image string `json:"image,omitempty"`

	// observedGeneration is the metadata.generation of the spec that this
	// status speaks of. It says that the spec was seen, not that it was
	// reached: Ready says that.
	//
	// +optional
	// +operator-sdk:csv:customresourcedefinitions:type=status,displayName="Observed generation",xDescriptors={"urn:alm:descriptor:text"}
	ObservedGeneration int64 `json:"observedGeneration,omitempty"`

	// conditions are the state in words. Ready is always present: True when
	// every object is as the templates say and all pods are up to date and
	// ready. Available is True while enough pods answer. Reconciling and
	// Stalled are present only while they are true: Reconciling while the
	// operator or the cluster is still at work, Stalled when somebody has to
	// change something first; their messages say what.
	//
	// +optional
	// +listType=map
	// +listMapKey=type
	// +operator-sdk:csv:customresourcedefinitions:type=status,displayName="Conditions",xDescriptors={"urn:alm:descriptor:io.kubernetes.conditions"}
	Conditions []metav1.Condition `json:"conditions,omitempty"`
}

// Memcached is a set of memcached pods behind one headless Service. The
// operator renders its templates for it, applies what comes out, and reports
// here.
//
// +operator-sdk:csv:customresourcedefinitions:displayName="Memcached",resources={{Deployment,apps/v1},{Event,events.k8s.io/v1},{Pod,v1},{PodDisruptionBudget,policy/v1},{Service,v1}}
// +kubebuilder:object:root=true
// +kubebuilder:resource:path=memcacheds,singular=memcached,scope=Namespaced,shortName=mc,categories=all
// +kubebuilder:subresource:status
// +kubebuilder:subresource:scale:specpath=.spec.size,statuspath=.status.replicas,selectorpath=.status.selector
// +kubebuilder:printcolumn:name="Size",type=integer,JSONPath=`.spec.size`,description="pods asked for"
// +kubebuilder:printcolumn:name="Ready",type=string,JSONPath=`.status.conditions[?(@.type=="Ready")].status`,description="whether everything is as asked"
// +kubebuilder:printcolumn:name="Status",type=string,JSONPath=`.status.conditions[?(@.type=="Ready")].message`,description="why, in words"
// +kubebuilder:printcolumn:name="Age",type=date,JSONPath=`.metadata.creationTimestamp`
// +kubebuilder:printcolumn:name="Image",type=string,JSONPath=`.status.image`,priority=1,description="image asked for"
// +kubebuilder:printcolumn:name="Endpoint",type=string,JSONPath=`.status.endpoint`,priority=1,description="where clients connect"
// +kubebuilder:validation:XValidation:rule="oldSelf.hasValue() || size(self.metadata.name) <= 52",optionalOldSelf=true,fieldPath=".metadata",message="metadata.name must have at most 52 characters: the names of the pods are made from it"
// +kubebuilder:validation:XValidation:rule="oldSelf.hasValue() || self.metadata.name.matches('^[a-z]([-a-z0-9]*[a-z0-9])?$')",optionalOldSelf=true,fieldPath=".metadata",message="metadata.name must begin with a letter and hold only lower-case letters, digits and '-': it also names a Service"
type Memcached struct {
	// The rules on the name hold when a Memcached is made only (oldSelf): a name
	// never changes, and one that is older than the rules must stay editable.

	metav1.TypeMeta `json:",inline"`

	// +optional
	metav1.ObjectMeta `json:"metadata,omitzero"`

	// spec is what is asked for. It is required, though it may be empty ({}).
	//
	// +required
	Spec MemcachedSpec `json:"spec"`

	// status is what was last observed; only the operator writes it.
	//
	// +optional
	Status MemcachedStatus `json:"status,omitzero"`
}

// MemcachedList is a list of Memcacheds.
//
// +kubebuilder:object:root=true
type MemcachedList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitzero"`
	Items           []Memcached `json:"items"`
}
