// SPDX-License-Identifier: Apache-2.0

package v1alpha1

import metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

// MemcachedStatus is what the operator last observed. It is written only when
// it changes.
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
