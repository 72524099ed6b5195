// SPDX-License-Identifier: Apache-2.0

package v1alpha1

// Proxy adds proxies, pods of memcached that distribute the keys over the
// memcached pods.
type Proxy struct {
	// size is the number of proxies, 1 to 100. Defaults to 2.
	// +optional
	// +default=2
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=100
	// +operator-sdk:csv:customresourcedefinitions:type=spec,displayName="Proxies",xDescriptors={"urn:alm:descriptor:com.tectonic.ui:podCount"}
	Size *int32 `json:"size,omitempty"`

	// resources are the resource requests and limits of a proxy. They replace the
	// default completely. Defaults to requests of 100m CPU and 64Mi memory and a
	// memory limit of 192Mi.
	// +optional
	// +operator-sdk:csv:customresourcedefinitions:type=spec,displayName="Proxy resources",xDescriptors={"urn:alm:descriptor:com.tectonic.ui:resourceRequirements"}
	Resources *Resources `json:"resources,omitempty"`

	// handoverSeconds is how long the proxies move items: those of a memcached pod
	// that is being replaced or removed to the pods that have its keys next, and
	// those of all pods to new ones. 10 to 600 seconds. A pod that is deleted
	// serves for 20 seconds longer than that, which takes the place of preStop
	// unless that is longer, and has 30 more to stop. Defaults to none: the items
	// are lost.
	// +optional
	// +kubebuilder:validation:Minimum=10
	// +kubebuilder:validation:Maximum=600
	// +operator-sdk:csv:customresourcedefinitions:type=spec,displayName="Hand-over time",xDescriptors={"urn:alm:descriptor:com.tectonic.ui:number"}
	HandoverSeconds *int32 `json:"handoverSeconds,omitempty"`

	// zones are Memcacheds of the namespace that hold a whole copy of the cache
	// each, at most 5 with this one; all have the same list. The address of all is
	// <name>-zones. It cannot be combined with tls. Defaults to none.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=5
	// +operator-sdk:csv:customresourcedefinitions:type=spec,displayName="Zones",xDescriptors={"urn:alm:descriptor:com.tectonic.ui:advanced"}
	Zones []ObjectName `json:"zones,omitempty"`

	// service configures the Service of the proxies.
	// +optional
	// +operator-sdk:csv:customresourcedefinitions:type=spec,displayName="Proxy Service",xDescriptors={"urn:alm:descriptor:com.tectonic.ui:advanced"}
	Service *ProxyService `json:"service,omitempty"`
}

// ProxyService configures the Service of the proxies.
type ProxyService struct {
	// type is the type of the Service: ClusterIP, NodePort or LoadBalancer. With
	// the latter two, clients outside the cluster reach the proxies, which ask
	// nobody for a password: see tls.clientAuth. Defaults to ClusterIP.
	// +optional
	// +operator-sdk:csv:customresourcedefinitions:type=spec,displayName="Proxy Service type",xDescriptors={"urn:alm:descriptor:com.tectonic.ui:select:ClusterIP","urn:alm:descriptor:com.tectonic.ui:select:NodePort","urn:alm:descriptor:com.tectonic.ui:select:LoadBalancer"}
	Type *ServiceType `json:"type,omitempty"`

	// annotations are additional annotations of the Service, at most 16 with 8192
	// characters together and 4096 characters in each value.
	// +optional
	// +operator-sdk:csv:customresourcedefinitions:type=spec,displayName="Proxy Service annotations",xDescriptors={"urn:alm:descriptor:com.tectonic.ui:advanced"}
	Annotations Annotations `json:"annotations,omitempty"`
}

// ServiceType is the type of a Service, as in Kubernetes.
// +kubebuilder:validation:Enum=ClusterIP;NodePort;LoadBalancer
type ServiceType string

// The values of ServiceType.
const (
	// ServiceTypeClusterIP is an address within the cluster.
	ServiceTypeClusterIP ServiceType = "ClusterIP"
	// ServiceTypeNodePort is a port of every node, too.
	ServiceTypeNodePort ServiceType = "NodePort"
	// ServiceTypeLoadBalancer is an address that the cloud provides, too.
	ServiceTypeLoadBalancer ServiceType = "LoadBalancer"
)

// HasStableNames reports whether the memcached pods have stable names: the
// proxies connect by these.
func (s *MemcachedSpec) HasStableNames() bool { return s.StableNames != nil || s.Proxy != nil }
