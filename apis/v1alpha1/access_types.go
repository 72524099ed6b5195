// SPDX-License-Identifier: Apache-2.0

package v1alpha1

import networkingv1 "k8s.io/api/networking/v1"

// Service adds to the Service in front of the pods.
type Service struct {
	// labels are added to the Service, at most 32. The operator's own are
	// reserved.
	//
	// +optional
	// +kubebuilder:validation:MaxProperties=32
	// +kubebuilder:validation:XValidation:rule="self.all(key, key != 'app' && key != 'memcached_cr' && !key.startsWith('app.kubernetes.io/') && key != 'pod-template-hash')",message="labels app, memcached_cr, pod-template-hash and app.kubernetes.io/… belong to the operator; choose another key"
	// +kubebuilder:validation:XValidation:rule="self.all(key, !format.qualifiedName().validate(key).hasValue())",message="each label key must be a qualified name, such as team or example.com/team"
	// +kubebuilder:validation:XValidation:rule="self.all(key, !format.labelValue().validate(self[key]).hasValue())",message="each label value must have at most 63 characters: letters, digits, '-', '_' and '.', beginning and ending with a letter or digit"
	// +operator-sdk:csv:customresourcedefinitions:type=spec,displayName="Service labels",xDescriptors={"urn:alm:descriptor:com.tectonic.ui:advanced"}
	Labels map[string]LabelValue `json:"labels,omitempty"`

	// annotations are added to the Service, at most 32 of at most 4096 characters
	// each.
	//
	// +optional
	// +kubebuilder:validation:MaxProperties=32
	// +kubebuilder:validation:XValidation:rule="self.all(key, !format.qualifiedName().validate(key).hasValue())",message="each annotation key must be a qualified name, such as example.com/owner"
	// +operator-sdk:csv:customresourcedefinitions:type=spec,displayName="Service annotations",xDescriptors={"urn:alm:descriptor:com.tectonic.ui:advanced"}
	Annotations map[string]AnnotationValue `json:"annotations,omitempty"`

	// clusterIP true adds a second Service, <name>-clusterip, with an address of
	// its own that spreads connections over the ready pods, for clients that take
	// one address only: each connection sees the cache of one pod. The headless
	// Service stays as it is. Defaults to false.
	//
	// +optional
	// +operator-sdk:csv:customresourcedefinitions:type=spec,displayName="Cluster IP",xDescriptors={"urn:alm:descriptor:com.tectonic.ui:booleanSwitch"}
	ClusterIP *bool `json:"clusterIP,omitempty"`
}

// NetworkPolicy lets only some peers reach the pods.
type NetworkPolicy struct {
	// from are the peers that may connect to memcached, 1 to 32: pods, namespaces
	// or blocks of addresses.
	//
	// +required
	// +listType=atomic
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=32
	// +kubebuilder:validation:XValidation:rule="self.all(peer, has(peer.ipBlock) ? !has(peer.podSelector) && !has(peer.namespaceSelector) : has(peer.podSelector) || has(peer.namespaceSelector))",message="each peer must have a podSelector, a namespaceSelector or both, or an ipBlock alone"
	// +operator-sdk:csv:customresourcedefinitions:type=spec,displayName="Allowed peers",xDescriptors={"urn:alm:descriptor:com.tectonic.ui:advanced"}
	From []networkingv1.NetworkPolicyPeer `json:"from"`

	// metricsFrom are the peers that may connect to the metrics port, at most 32,
	// such as the pods of Prometheus. Defaults to nobody.
	//
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=32
	// +kubebuilder:validation:XValidation:rule="self.all(peer, has(peer.ipBlock) ? !has(peer.podSelector) && !has(peer.namespaceSelector) : has(peer.podSelector) || has(peer.namespaceSelector))",message="each peer must have a podSelector, a namespaceSelector or both, or an ipBlock alone"
	// +operator-sdk:csv:customresourcedefinitions:type=spec,displayName="Allowed peers of the metrics",xDescriptors={"urn:alm:descriptor:com.tectonic.ui:advanced"}
	MetricsFrom []networkingv1.NetworkPolicyPeer `json:"metricsFrom,omitempty"`
}

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
	// +kubebuilder:validation:MaxLength=253
	// +kubebuilder:validation:Pattern=`^[a-z0-9]([-a-z0-9.]*[a-z0-9])?$`
	// +operator-sdk:csv:customresourcedefinitions:type=spec,displayName="Secret",xDescriptors={"urn:alm:descriptor:io.kubernetes:Secret"}
	SecretName string `json:"secretName"`

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
	// +kubebuilder:validation:MaxLength=253
	// +kubebuilder:validation:Pattern=`^[a-z0-9]([-a-z0-9.]*[a-z0-9])?$`
	// +operator-sdk:csv:customresourcedefinitions:type=spec,displayName="Secret",xDescriptors={"urn:alm:descriptor:io.kubernetes:Secret"}
	SecretName string `json:"secretName"`

	// key is the key of the Secret that holds them. Defaults to auth.
	//
	// +optional
	// +default="auth"
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	// +kubebuilder:validation:Pattern=`^[-._a-zA-Z0-9]+$`
	// +operator-sdk:csv:customresourcedefinitions:type=spec,displayName="Key",xDescriptors={"urn:alm:descriptor:com.tectonic.ui:text"}
	Key *string `json:"key,omitempty"`
}
