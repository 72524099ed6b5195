// SPDX-License-Identifier: Apache-2.0

package v1alpha1

// Metrics runs a Prometheus exporter beside memcached.
type Metrics struct {
	// port is the exporter's port, 1024 to 65535. Defaults to 9150.
	//
	// +optional
	// +default=9150
	// +kubebuilder:validation:Minimum=1024
	// +kubebuilder:validation:Maximum=65535
	// +operator-sdk:csv:customresourcedefinitions:type=spec,displayName="Metrics port",xDescriptors={"urn:alm:descriptor:com.tectonic.ui:number"}
	Port *int32 `json:"port,omitempty"`

	// image is the exporter's image, by tag or by digest, of at most 512
	// characters. Defaults to the image that the operator was started with
	// (RELATED_IMAGE_MEMCACHED_EXPORTER), else to the one in its templates.
	//
	// +optional
	// +operator-sdk:csv:customresourcedefinitions:type=spec,displayName="Exporter image",xDescriptors={"urn:alm:descriptor:com.tectonic.ui:text"}
	Image *Image `json:"image,omitempty"`

	// resources are what the exporter requests and is limited to. They replace the
	// default as a whole, which is 10m CPU and 32Mi of memory requested, 64Mi at
	// most.
	//
	// +optional
	// +operator-sdk:csv:customresourcedefinitions:type=spec,displayName="Exporter resources",xDescriptors={"urn:alm:descriptor:com.tectonic.ui:resourceRequirements"}
	Resources *Resources `json:"resources,omitempty"`

	// serviceMonitor makes a ServiceMonitor, by which the Prometheus operator
	// finds the exporters. Write {} for its defaults. Where the cluster knows no
	// such kind, the rest goes on without. Defaults to none.
	//
	// +optional
	// +operator-sdk:csv:customresourcedefinitions:type=spec,displayName="Service monitor",xDescriptors={"urn:alm:descriptor:com.tectonic.ui:advanced"}
	ServiceMonitor *ServiceMonitor `json:"serviceMonitor,omitempty"`

	// rules makes a PrometheusRule with alerts: memcached down, memory full,
	// evictions, connections near their limit, restarts. Write {} for its
	// defaults. Where the cluster knows no such kind, the rest goes on without.
	// Defaults to none.
	//
	// +optional
	// +operator-sdk:csv:customresourcedefinitions:type=spec,displayName="Alert rules",xDescriptors={"urn:alm:descriptor:com.tectonic.ui:advanced"}
	Rules *Rules `json:"rules,omitempty"`
}

// ServiceMonitor tells the Prometheus operator about the exporters.
type ServiceMonitor struct {
	// intervalSeconds is how often Prometheus scrapes the exporters: 1 to 86400.
	// Defaults to 30.
	//
	// +optional
	// +default=30
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=86400
	// +operator-sdk:csv:customresourcedefinitions:type=spec,displayName="Interval",xDescriptors={"urn:alm:descriptor:com.tectonic.ui:number"}
	IntervalSeconds *int32 `json:"intervalSeconds,omitempty"`

	// labels are added to the ServiceMonitor, at most 16 and 2048
	// characters: those by which a Prometheus selects it, such as
	// release: prometheus. The operator's own are reserved.
	//
	// +optional
	// +operator-sdk:csv:customresourcedefinitions:type=spec,displayName="Service monitor labels",xDescriptors={"urn:alm:descriptor:com.tectonic.ui:advanced"}
	Labels Labels `json:"labels,omitempty"`
}

// Rules are the alerts of a Memcached.
type Rules struct {
	// memoryPercent is how full, in percent, a cache is when the alert on memory
	// fires: 1 to 100. Defaults to 90.
	//
	// +optional
	// +default=90
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=100
	// +operator-sdk:csv:customresourcedefinitions:type=spec,displayName="Memory threshold",xDescriptors={"urn:alm:descriptor:com.tectonic.ui:number"}
	MemoryPercent *int32 `json:"memoryPercent,omitempty"`

	// connectionsPercent is how many of maxConnections, in percent, are in use
	// when the alert on connections fires: 1 to 100. Defaults to 80.
	//
	// +optional
	// +default=80
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=100
	// +operator-sdk:csv:customresourcedefinitions:type=spec,displayName="Connections threshold",xDescriptors={"urn:alm:descriptor:com.tectonic.ui:number"}
	ConnectionsPercent *int32 `json:"connectionsPercent,omitempty"`

	// labels are added to the PrometheusRule, at most 16 and 2048
	// characters: those by which a Prometheus selects it. The operator's own are
	// reserved.
	//
	// +optional
	// +operator-sdk:csv:customresourcedefinitions:type=spec,displayName="Rule labels",xDescriptors={"urn:alm:descriptor:com.tectonic.ui:advanced"}
	Labels Labels `json:"labels,omitempty"`
}
