// SPDX-License-Identifier: Apache-2.0

package v1alpha1

// Service adds to the Service in front of the pods.
type Service struct {
	// labels are added to the Service, at most 16 and 2048 characters. The
	// operator's own are reserved.
	//
	// +optional
	// +operator-sdk:csv:customresourcedefinitions:type=spec,displayName="Service labels",xDescriptors={"urn:alm:descriptor:com.tectonic.ui:advanced"}
	Labels Labels `json:"labels,omitempty"`

	// annotations are added to the Service, at most 16 and 8192 characters, of
	// which each value may have 4096.
	//
	// +optional
	// +operator-sdk:csv:customresourcedefinitions:type=spec,displayName="Service annotations",xDescriptors={"urn:alm:descriptor:com.tectonic.ui:advanced"}
	Annotations Annotations `json:"annotations,omitempty"`

	// clusterIPService true adds a second Service, <name>-clusterip, with an
	// address of its own that spreads connections over the ready pods, for clients
	// that take one address only: each connection sees the cache of one pod. The
	// headless Service stays as it is. Defaults to false.
	//
	// +optional
	// +operator-sdk:csv:customresourcedefinitions:type=spec,displayName="Cluster IP Service",xDescriptors={"urn:alm:descriptor:com.tectonic.ui:booleanSwitch"}
	ClusterIPService *bool `json:"clusterIPService,omitempty"`
}

// NetworkPolicy lets only some peers reach the pods.
type NetworkPolicy struct {
	// from are the peers that may connect to memcached, 1 to 16: pods, namespaces
	// or blocks of addresses.
	//
	// +required
	// +listType=atomic
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=16
	// +operator-sdk:csv:customresourcedefinitions:type=spec,displayName="Allowed peers",xDescriptors={"urn:alm:descriptor:com.tectonic.ui:advanced"}
	From []NetworkPolicyPeer `json:"from"`

	// metricsFrom are the peers that may connect to the metrics port, at most 4,
	// such as the pods of Prometheus. Defaults to none.
	//
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=4
	// +operator-sdk:csv:customresourcedefinitions:type=spec,displayName="Allowed peers of the metrics",xDescriptors={"urn:alm:descriptor:com.tectonic.ui:advanced"}
	MetricsFrom []NetworkPolicyPeer `json:"metricsFrom,omitempty"`
}

// NetworkPolicyPeer is core's, with bounds: pods, namespaces, pods of
// namespaces, or a block of addresses.
//
// +kubebuilder:validation:XValidation:rule="has(self.ipBlock) ? !has(self.podSelector) && !has(self.namespaceSelector) : has(self.podSelector) || has(self.namespaceSelector)",message="each peer must have a podSelector, a namespaceSelector or both, or an ipBlock alone"
type NetworkPolicyPeer struct {
	// podSelector selects pods, of the Memcached's namespace or of those that
	// namespaceSelector selects; {} selects all.
	//
	// +optional
	PodSelector *LabelSelector `json:"podSelector,omitempty"`

	// namespaceSelector selects namespaces; {} selects all.
	//
	// +optional
	NamespaceSelector *LabelSelector `json:"namespaceSelector,omitempty"`

	// ipBlock is a block of addresses.
	//
	// +optional
	IPBlock *IPBlock `json:"ipBlock,omitempty"`
}

// IPBlock is a block of addresses less some others.
//
// +kubebuilder:validation:XValidation:rule="!has(self.except) || !isCIDR(self.cidr) || self.except.all(e, !isCIDR(e) || cidr(self.cidr).containsCIDR(e) && cidr(e).prefixLength() > cidr(self.cidr).prefixLength())",message="each block in except must be a smaller part of cidr"
type IPBlock struct {
	// cidr is the block, such as 10.0.0.0/8 or 2001:db8::/32.
	//
	// +required
	CIDR CIDR `json:"cidr"`

	// except are blocks within cidr that do not belong to it, at most 8.
	//
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=8
	Except []CIDR `json:"except,omitempty"`
}

// CIDR is a block of addresses, such as 10.0.0.0/8: at most 43 characters.
//
// +kubebuilder:validation:MaxLength=43
// +kubebuilder:validation:XValidation:rule="isCIDR(self)",message="must be a block of addresses, such as 10.0.0.0/8 or 2001:db8::/32"
type CIDR string

// ClientAuth says whether clients show certificates.
// +kubebuilder:validation:Enum=None;Request;Require
type ClientAuth string

// The values of ClientAuth.
const (
	// ClientAuthNone asks clients for no certificate.
	ClientAuthNone ClientAuth = "None"
	// ClientAuthRequest asks for one, and refuses those that ca.crt did not sign.
	ClientAuthRequest ClientAuth = "Request"
	// ClientAuthRequire also refuses clients without one.
	ClientAuthRequire ClientAuth = "Require"
)

// TLS makes memcached speak TLS.
type TLS struct {
	// secretName is a Secret with tls.crt and tls.key (as cert-manager and
	// `kubectl create secret tls` make it) and, for clientAuth, ca.crt. Whoever
	// names it needs the right to read it. The operator never does.
	//
	// +required
	// +operator-sdk:csv:customresourcedefinitions:type=spec,displayName="Secret",xDescriptors={"urn:alm:descriptor:io.kubernetes:Secret"}
	SecretName ObjectName `json:"secretName"`

	// clientAuth says whether clients show a certificate: None, Request (one that
	// is shown must be signed by ca.crt) or Require. Defaults to None.
	//
	// +optional
	// +default="None"
	// +operator-sdk:csv:customresourcedefinitions:type=spec,displayName="Client certificates",xDescriptors={"urn:alm:descriptor:com.tectonic.ui:select:None","urn:alm:descriptor:com.tectonic.ui:select:Request","urn:alm:descriptor:com.tectonic.ui:select:Require"}
	ClientAuth *ClientAuth `json:"clientAuth,omitempty"`

	// plaintextPort is a second port, without TLS, for clients that are still to
	// be moved: 1024 to 65535. Defaults to none.
	//
	// +optional
	// +kubebuilder:validation:Minimum=1024
	// +kubebuilder:validation:Maximum=65535
	// +operator-sdk:csv:customresourcedefinitions:type=spec,displayName="Plain-text port",xDescriptors={"urn:alm:descriptor:com.tectonic.ui:number"}
	PlaintextPort *int32 `json:"plaintextPort,omitempty"`
}

// Auth makes clients give a user name and a password.
type Auth struct {
	// secretName is a Secret with the users, one user:password a line, at most 8.
	// Whoever names it needs the right to read it. The operator never does.
	//
	// +required
	// +operator-sdk:csv:customresourcedefinitions:type=spec,displayName="Secret",xDescriptors={"urn:alm:descriptor:io.kubernetes:Secret"}
	SecretName ObjectName `json:"secretName"`

	// key is the key of the Secret that holds them, of at most 253 characters.
	// Defaults to auth.
	//
	// +optional
	// +default="auth"
	// +kubebuilder:validation:MaxLength=253
	// +kubebuilder:validation:XValidation:rule="self.matches('^[-._a-zA-Z0-9]+$') && self != '.' && !self.startsWith('..')",message="key must be a key of a Secret: 1 to 253 letters, digits, '-', '_' and '.', not beginning with '..'"
	// +operator-sdk:csv:customresourcedefinitions:type=spec,displayName="Key",xDescriptors={"urn:alm:descriptor:com.tectonic.ui:text"}
	Key *string `json:"key,omitempty"`
}
