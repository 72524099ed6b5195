// SPDX-License-Identifier: Apache-2.0

package v1alpha1

import metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

// MemcachedStatus is the observed state of a Memcached.
type MemcachedStatus struct {
	// nodes are the sorted names of the memcached pods that are not being deleted.
	// +optional
	// +listType=atomic
	// +operator-sdk:csv:customresourcedefinitions:type=status,displayName="Nodes",xDescriptors={"urn:alm:descriptor:text"}
	Nodes []string `json:"nodes,omitempty"`

	// replicas is the number of memcached pods of all revisions; the scale
	// subresource reports it.
	// +optional
	// +operator-sdk:csv:customresourcedefinitions:type=status,displayName="Replicas",xDescriptors={"urn:alm:descriptor:com.tectonic.ui:podCount"}
	Replicas *int32 `json:"replicas,omitempty"`

	// readyReplicas is the number of ready memcached pods.
	// +optional
	// +operator-sdk:csv:customresourcedefinitions:type=status,displayName="Ready replicas",xDescriptors={"urn:alm:descriptor:com.tectonic.ui:podCount"}
	ReadyReplicas *int32 `json:"readyReplicas,omitempty"`

	// podsReady is the number of ready pods and of desired pods, as "3/3", for
	// `kubectl get`. During a rollout readyReplicas can exceed the desired
	// number; podsReady does not.
	// +optional
	// +operator-sdk:csv:customresourcedefinitions:type=status,displayName="Pods ready",xDescriptors={"urn:alm:descriptor:text"}
	PodsReady string `json:"podsReady,omitempty"`

	// selector is the label selector of the memcached pods, in the format of
	// `kubectl get pods -l`; autoscalers read it through the scale subresource.
	// +optional
	// +operator-sdk:csv:customresourcedefinitions:type=status,displayName="Selector",xDescriptors={"urn:alm:descriptor:text"}
	Selector string `json:"selector,omitempty"`

	// endpoint is the host:port for clients. The host is a headless Service, which
	// resolves to the address of every memcached pod; with spec.proxy it is the
	// Service of the proxies.
	// +optional
	// +operator-sdk:csv:customresourcedefinitions:type=status,displayName="Endpoint",xDescriptors={"urn:alm:descriptor:text"}
	Endpoint string `json:"endpoint,omitempty"`

	// servers are the stable names of the pods as host:port, in the order of their
	// numbers, with spec.stableNames or spec.proxy. They change with the size, the
	// port and the name of the Memcached alone.
	// +optional
	// +listType=atomic
	// +operator-sdk:csv:customresourcedefinitions:type=status,displayName="Servers",xDescriptors={"urn:alm:descriptor:text"}
	Servers []string `json:"servers,omitempty"`

	// image is the memcached image in the Deployment.
	// +optional
	// +operator-sdk:csv:customresourcedefinitions:type=status,displayName="Image",xDescriptors={"urn:alm:descriptor:text"}
	Image string `json:"image,omitempty"`

	// observedGeneration is the metadata.generation that this status refers to. It
	// says that the operator has seen this generation; the condition Ready says
	// whether it is reached.
	// +optional
	// +operator-sdk:csv:customresourcedefinitions:type=status,displayName="Observed generation",xDescriptors={"urn:alm:descriptor:text"}
	ObservedGeneration int64 `json:"observedGeneration,omitempty"`

	// lastReadySpec identifies the spec, apart from size, with which the condition
	// Ready was last True. The operator paces the roll-out of changed templates to
	// a Memcached that was ready with its present spec.
	// +optional
	// +operator-sdk:csv:customresourcedefinitions:type=status,displayName="Last ready spec",xDescriptors={"urn:alm:descriptor:text"}
	LastReadySpec string `json:"lastReadySpec,omitempty"`

	// conditions are the conditions of the Memcached. Ready is always present:
	// True when all objects match the templates and all pods are up to date and
	// ready. Available is True while at least half of the pods are ready.
	// Reconciling and Stalled are present only while they are True: Reconciling
	// while the operator or the cluster is still making progress, Stalled when the
	// operator cannot proceed without a change by a user; their messages give the
	// cause.
	// +optional
	// +listType=map
	// +listMapKey=type
	// +operator-sdk:csv:customresourcedefinitions:type=status,displayName="Conditions",xDescriptors={"urn:alm:descriptor:io.kubernetes.conditions"}
	Conditions []metav1.Condition `json:"conditions,omitempty"`
}
