// SPDX-License-Identifier: Apache-2.0

package v1alpha1

// Service holds additional metadata of the headless Service, and enables a
// second Service.
type Service struct {
	// labels are additional labels of the Service, at most 16 with 2048 characters
	// together. The labels of the operator are reserved.
	// +optional
	// +operator-sdk:csv:customresourcedefinitions:type=spec,displayName="Service labels",xDescriptors={"urn:alm:descriptor:com.tectonic.ui:advanced"}
	Labels Labels `json:"labels,omitempty"`

	// annotations are additional annotations of the Service, at most 16 with 8192
	// characters together and 4096 characters in each value.
	// +optional
	// +operator-sdk:csv:customresourcedefinitions:type=spec,displayName="Service annotations",xDescriptors={"urn:alm:descriptor:com.tectonic.ui:advanced"}
	Annotations Annotations `json:"annotations,omitempty"`

	// clusterIP adds a second Service, <name>-clusterip, with a cluster IP that
	// balances connections over the ready pods. It is for clients that accept a
	// single address: each connection reaches the cache of one pod. The headless
	// Service does not change. Set {}. Defaults to none.
	// +optional
	// +operator-sdk:csv:customresourcedefinitions:type=spec,displayName="Cluster IP Service",xDescriptors={"urn:alm:descriptor:com.tectonic.ui:advanced"}
	ClusterIP *ClusterIPService `json:"clusterIP,omitempty"`
}

// ClusterIPService adds a Service with a cluster IP. It has no fields yet.
type ClusterIPService struct{}

// StableNames adds a name for each pod that its replacement takes over. It has
// no fields yet.
type StableNames struct{}

// NetworkPolicy restricts ingress to the pods.
type NetworkPolicy struct {
	// from are the peers that may connect to memcached, 1 to 16: pods, namespaces
	// or IP blocks.
	// +required
	// +listType=atomic
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=16
	// +operator-sdk:csv:customresourcedefinitions:type=spec,displayName="Allowed peers",xDescriptors={"urn:alm:descriptor:com.tectonic.ui:advanced"}
	From []NetworkPolicyPeer `json:"from"`

	// metricsFrom are the peers that may connect to the metrics port, at most 4,
	// such as the pods of Prometheus. Defaults to none.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=4
	// +operator-sdk:csv:customresourcedefinitions:type=spec,displayName="Allowed peers of the metrics",xDescriptors={"urn:alm:descriptor:com.tectonic.ui:advanced"}
	MetricsFrom []NetworkPolicyPeer `json:"metricsFrom,omitempty"`
}

// NetworkPolicyPeer is a peer of a NetworkPolicy, as in networking.k8s.io/v1
// but with limits: pods, namespaces, pods in namespaces, or an IP block.
// +kubebuilder:validation:XValidation:rule="has(self.ipBlock) ? !has(self.podSelector) && !has(self.namespaceSelector) : has(self.podSelector) || has(self.namespaceSelector)",message="each peer must have a podSelector, a namespaceSelector or both, or an ipBlock alone"
type NetworkPolicyPeer struct {
	// podSelector selects pods in the namespace of the Memcached or, with
	// namespaceSelector, in the selected namespaces; {} selects all.
	// +optional
	PodSelector *LabelSelector `json:"podSelector,omitempty"`

	// namespaceSelector selects namespaces; {} selects all.
	// +optional
	NamespaceSelector *LabelSelector `json:"namespaceSelector,omitempty"`

	// ipBlock is a range of IP addresses.
	// +optional
	IPBlock *IPBlock `json:"ipBlock,omitempty"`
}

// IPBlock is a range of IP addresses with exceptions.
// +kubebuilder:validation:XValidation:rule="!has(self.except) || !isCIDR(self.cidr) || self.except.all(e, !isCIDR(e) || cidr(self.cidr).containsIP(cidr(e).ip()) && cidr(e).prefixLength() > cidr(self.cidr).prefixLength())",message="each block in except must be a smaller part of cidr"
type IPBlock struct {
	// cidr is the range, such as 10.0.0.0/8 or 2001:db8::/32.
	// +required
	CIDR CIDR `json:"cidr"`

	// except are ranges within cidr that are excluded, at most 8.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=8
	Except []CIDR `json:"except,omitempty"`
}

// CIDR is a range of IP addresses in CIDR notation, such as 10.0.0.0/8: at
// most 43 characters.
// +kubebuilder:validation:MaxLength=43
// +kubebuilder:validation:XValidation:rule="isCIDR(self)",message="must be a block of addresses, such as 10.0.0.0/8 or 2001:db8::/32"
type CIDR string

// ClientAuth is the verification of client certificates.
// +kubebuilder:validation:Enum=None;Request;Require
type ClientAuth string

// The values of ClientAuth.
const (
	// ClientAuthNone requests no client certificate.
	ClientAuthNone ClientAuth = "None"
	// ClientAuthRequest requests a client certificate, and rejects one that ca.crt
	// did not sign.
	ClientAuthRequest ClientAuth = "Request"
	// ClientAuthRequire also rejects clients without a certificate.
	ClientAuthRequire ClientAuth = "Require"
)

// TLS enables TLS on the port of memcached, and on that of the proxies.
type TLS struct {
	// secretName is the name of a Secret with tls.crt and tls.key, as created by
	// cert-manager or `kubectl create secret tls`, and with ca.crt for clientAuth.
	// The author of the Memcached needs permission to read it; the operator never
	// reads it.
	// +required
	// +operator-sdk:csv:customresourcedefinitions:type=spec,displayName="Secret",xDescriptors={"urn:alm:descriptor:io.kubernetes:Secret"}
	SecretName ObjectName `json:"secretName"`

	// clientAuth is the verification of client certificates: None, Request (a
	// certificate is optional and must be signed by ca.crt) or Require. Defaults
	// to None.
	// +optional
	// +default="None"
	// +operator-sdk:csv:customresourcedefinitions:type=spec,displayName="Client certificates",xDescriptors={"urn:alm:descriptor:com.tectonic.ui:select:None","urn:alm:descriptor:com.tectonic.ui:select:Request","urn:alm:descriptor:com.tectonic.ui:select:Require"}
	ClientAuth *ClientAuth `json:"clientAuth,omitempty"`

	// plaintextPort is an additional port without TLS, for the time of a
	// migration and for the connections of the proxies to memcached: 1024 to
	// 65535. Defaults to none.
	// +optional
	// +kubebuilder:validation:Minimum=1024
	// +kubebuilder:validation:Maximum=65535
	// +operator-sdk:csv:customresourcedefinitions:type=spec,displayName="Plain-text port",xDescriptors={"urn:alm:descriptor:com.tectonic.ui:number"}
	PlaintextPort *int32 `json:"plaintextPort,omitempty"`
}

// Auth requires clients to authenticate with a user name and a password.
type Auth struct {
	// secretName is the name of a Secret with at most 8 users, one user:password
	// per line. The author of the Memcached needs permission to read it; the
	// operator never reads it.
	// +required
	// +operator-sdk:csv:customresourcedefinitions:type=spec,displayName="Secret",xDescriptors={"urn:alm:descriptor:io.kubernetes:Secret"}
	SecretName ObjectName `json:"secretName"`

	// key is the key of the users in the Secret, of at most 253 characters.
	// Defaults to auth.
	// +optional
	// +default="auth"
	// +kubebuilder:validation:MaxLength=253
	// +kubebuilder:validation:XValidation:rule="self.matches('^[-._a-zA-Z0-9]+$') && self != '.' && !self.startsWith('..')",message="key must be a key of a Secret: 1 to 253 letters, digits, '-', '_' and '.', not beginning with '..'"
	// +operator-sdk:csv:customresourcedefinitions:type=spec,displayName="Key",xDescriptors={"urn:alm:descriptor:com.tectonic.ui:text"}
	Key *string `json:"key,omitempty"`
}
