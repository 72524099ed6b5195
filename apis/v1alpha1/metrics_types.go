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

	// image is the exporter's image, by tag or by digest. Defaults to the image
	// that the operator was started with (RELATED_IMAGE_MEMCACHED_EXPORTER), else
	// to the one in its templates.
	//
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=512
	// +kubebuilder:validation:XValidation:rule="self.matches('^(([a-zA-Z0-9]([-a-zA-Z0-9.]*[a-zA-Z0-9])?|\\\\[[a-fA-F0-9:]+\\\\])(:[0-9]+)?/)?[a-z0-9]+(([._]|__|-+)[a-z0-9]+)*(/[a-z0-9]+(([._]|__|-+)[a-z0-9]+)*)*(:[a-zA-Z0-9_][-a-zA-Z0-9_.]{0,127})?(@[a-zA-Z][a-zA-Z0-9]*([-_+.][a-zA-Z][a-zA-Z0-9]*)*:[a-fA-F0-9]{32,})?$')",message="image must be [registry[:port]/]name[:tag][@digest] without spaces, such as memcached:1.6.45-alpine or registry.example.com/memcached@sha256:<64 hexadecimal digits>"
	// +operator-sdk:csv:customresourcedefinitions:type=spec,displayName="Exporter image",xDescriptors={"urn:alm:descriptor:com.tectonic.ui:text"}
	Image *string `json:"image,omitempty"`

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
	// interval is how often Prometheus asks, such as 30s or 1m: 1s to 24h.
	// Defaults to 30s.
	//
	// +optional
	// +default="30s"
	// +kubebuilder:validation:MaxLength=16
	// +kubebuilder:validation:XValidation:rule="self.matches('^([0-9]{1,2}h)?([0-9]{1,4}m)?([0-9]{1,5}s)?$') && self != '' && duration(self) >= duration('1s') && duration(self) <= duration('24h')",message="interval must be between 1s and 24h, in hours, minutes and seconds, such as 30s or 1m"
	// +operator-sdk:csv:customresourcedefinitions:type=spec,displayName="Interval",xDescriptors={"urn:alm:descriptor:com.tectonic.ui:text"}
	Interval *string `json:"interval,omitempty"`

	// labels are added to the ServiceMonitor, at most 32: those by which a
	// Prometheus selects it, such as release: prometheus. The operator's own are
	// reserved.
	//
	// +optional
	// +kubebuilder:validation:MaxProperties=32
	// +kubebuilder:validation:XValidation:rule="self.all(key, key != 'app' && key != 'memcached_cr' && !key.startsWith('app.kubernetes.io/') && key != 'pod-template-hash')",message="labels app, memcached_cr, pod-template-hash and app.kubernetes.io/… belong to the operator; choose another key"
	// +kubebuilder:validation:XValidation:rule="self.all(key, !format.qualifiedName().validate(key).hasValue())",message="each label key must be a qualified name, such as team or example.com/team"
	// +kubebuilder:validation:XValidation:rule="self.all(key, !format.labelValue().validate(self[key]).hasValue())",message="each label value must have at most 63 characters: letters, digits, '-', '_' and '.', beginning and ending with a letter or digit"
	// +operator-sdk:csv:customresourcedefinitions:type=spec,displayName="Service monitor labels",xDescriptors={"urn:alm:descriptor:com.tectonic.ui:advanced"}
	Labels map[string]LabelValue `json:"labels,omitempty"`
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

	// labels are added to the PrometheusRule, at most 32: those by which a
	// Prometheus selects it. The operator's own are reserved.
	//
	// +optional
	// +kubebuilder:validation:MaxProperties=32
	// +kubebuilder:validation:XValidation:rule="self.all(key, key != 'app' && key != 'memcached_cr' && !key.startsWith('app.kubernetes.io/') && key != 'pod-template-hash')",message="labels app, memcached_cr, pod-template-hash and app.kubernetes.io/… belong to the operator; choose another key"
	// +kubebuilder:validation:XValidation:rule="self.all(key, !format.qualifiedName().validate(key).hasValue())",message="each label key must be a qualified name, such as team or example.com/team"
	// +kubebuilder:validation:XValidation:rule="self.all(key, !format.labelValue().validate(self[key]).hasValue())",message="each label value must have at most 63 characters: letters, digits, '-', '_' and '.', beginning and ending with a letter or digit"
	// +operator-sdk:csv:customresourcedefinitions:type=spec,displayName="Rule labels",xDescriptors={"urn:alm:descriptor:com.tectonic.ui:advanced"}
	Labels map[string]LabelValue `json:"labels,omitempty"`
}
