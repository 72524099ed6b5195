// SPDX-License-Identifier: Apache-2.0

package v1alpha1

// Metrics adds a Prometheus exporter to each pod.
type Metrics struct {
	// port is the port of the exporter, 1024 to 65535. Defaults to 9150.
	// +optional
	// +default=9150
	// +kubebuilder:validation:Minimum=1024
	// +kubebuilder:validation:Maximum=65535
	// +operator-sdk:csv:customresourcedefinitions:type=spec,displayName="Metrics port",xDescriptors={"urn:alm:descriptor:com.tectonic.ui:number"}
	Port *int32 `json:"port,omitempty"`

	// image is the image of the exporter, by tag or by digest, of at most 512
	// characters. Defaults to the image that the operator is configured with
	// (RELATED_IMAGE_MEMCACHED_EXPORTER, and RELATED_IMAGE_EXPORTER with tls or
	// auth), or else to the image in its templates. With tls or auth it has to be
	// an image of this operator.
	// +optional
	// +operator-sdk:csv:customresourcedefinitions:type=spec,displayName="Exporter image",xDescriptors={"urn:alm:descriptor:com.tectonic.ui:text"}
	Image *Image `json:"image,omitempty"`

	// resources are the resource requests and limits of the exporter. They replace
	// the default completely. Defaults to requests of 10m CPU and 32Mi memory and
	// a memory limit of 64Mi.
	// +optional
	// +operator-sdk:csv:customresourcedefinitions:type=spec,displayName="Exporter resources",xDescriptors={"urn:alm:descriptor:com.tectonic.ui:resourceRequirements"}
	Resources *Resources `json:"resources,omitempty"`

	// serviceMonitor creates a ServiceMonitor, by which the Prometheus operator
	// finds the exporters. Set {} for its defaults. If the cluster does not serve
	// the kind, the ServiceMonitor is skipped. Defaults to none.
	// +optional
	// +operator-sdk:csv:customresourcedefinitions:type=spec,displayName="Service monitor",xDescriptors={"urn:alm:descriptor:com.tectonic.ui:advanced"}
	ServiceMonitor *ServiceMonitor `json:"serviceMonitor,omitempty"`

	// rules creates a PrometheusRule with alerts on unavailable pods, memory,
	// evictions, connections and restarts. Set {} for its defaults. If the cluster
	// does not serve the kind, the PrometheusRule is skipped. Defaults to none.
	// +optional
	// +operator-sdk:csv:customresourcedefinitions:type=spec,displayName="Alert rules",xDescriptors={"urn:alm:descriptor:com.tectonic.ui:advanced"}
	Rules *Rules `json:"rules,omitempty"`
}

// ServiceMonitor configures the scraping of the exporters by the Prometheus
// operator.
type ServiceMonitor struct {
	// intervalSeconds is the scrape interval in seconds: 1 to 86400. Defaults to
	// 30.
	// +optional
	// +default=30
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=86400
	// +operator-sdk:csv:customresourcedefinitions:type=spec,displayName="Interval",xDescriptors={"urn:alm:descriptor:com.tectonic.ui:number"}
	IntervalSeconds *int32 `json:"intervalSeconds,omitempty"`

	// labels are additional labels of the ServiceMonitor, at most 16 with 2048
	// characters together, for the selector of a Prometheus, such as release:
	// prometheus. The labels of the operator are reserved.
	// +optional
	// +operator-sdk:csv:customresourcedefinitions:type=spec,displayName="Service monitor labels",xDescriptors={"urn:alm:descriptor:com.tectonic.ui:advanced"}
	Labels Labels `json:"labels,omitempty"`
}

// Rules configures the alerts of a Memcached.
type Rules struct {
	// memoryPercent is the memory usage, in percent of memory, above which the
	// memory alert fires: 1 to 100. Defaults to 90.
	// +optional
	// +default=90
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=100
	// +operator-sdk:csv:customresourcedefinitions:type=spec,displayName="Memory threshold",xDescriptors={"urn:alm:descriptor:com.tectonic.ui:number"}
	MemoryPercent *int32 `json:"memoryPercent,omitempty"`

	// connectionsPercent is the number of connections, in percent of
	// maxConnections, above which the connections alert fires: 1 to 100. Defaults
	// to 80.
	// +optional
	// +default=80
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=100
	// +operator-sdk:csv:customresourcedefinitions:type=spec,displayName="Connections threshold",xDescriptors={"urn:alm:descriptor:com.tectonic.ui:number"}
	ConnectionsPercent *int32 `json:"connectionsPercent,omitempty"`

	// labels are additional labels of the PrometheusRule, at most 16 with 2048
	// characters together, for the selector of a Prometheus. The labels of the
	// operator are reserved.
	// +optional
	// +operator-sdk:csv:customresourcedefinitions:type=spec,displayName="Rule labels",xDescriptors={"urn:alm:descriptor:com.tectonic.ui:advanced"}
	Labels Labels `json:"labels,omitempty"`
}
