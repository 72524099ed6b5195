// SPDX-License-Identifier: Apache-2.0

package v1alpha1

import (
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
)

// MemcachedSpec is the desired state of a Memcached. Every field is optional;
// the text of a field names its default.
// +kubebuilder:validation:XValidation:rule="!has(self.maxItemSize) || [string(self.maxItemSize), string(has(self.memory) ? self.memory : '64Mi')].exists(q, !q.matches('^[0-9]+([.][0-9]+)?(m|[kMGTP]|[KMGTP]i)?$')) || quantity(string(self.maxItemSize)).asApproximateFloat() * 2.0 <= quantity(string(has(self.memory) ? self.memory : '64Mi')).asApproximateFloat()",fieldPath=".maxItemSize",message="maxItemSize may be at most half of memory (64Mi unless set)"
// +kubebuilder:validation:XValidation:rule="!has(self.resources) || !has(self.resources.limits) || !has(self.resources.limits.memory) || [string(self.resources.limits.memory), string(has(self.memory) ? self.memory : '64Mi')].exists(q, !q.matches('^[0-9]+([.][0-9]+)?(m|[kMGTP]|[KMGTP]i)?$')) || quantity(string(self.resources.limits.memory)).asApproximateFloat() * 10.0 >= quantity(string(has(self.memory) ? self.memory : '64Mi')).asApproximateFloat() * 11.0",fieldPath=".resources",message="the memory limit must be at least 1.1 times memory (64Mi unless set): memcached needs room beside the cache, and the kernel would end it when the cache is full"
// +kubebuilder:validation:XValidation:rule="!has(self.preStop) || self.preStop.sleepSeconds < (has(self.terminationGracePeriodSeconds) ? self.terminationGracePeriodSeconds : 30)",fieldPath=".preStop",message="preStop.sleepSeconds must be less than terminationGracePeriodSeconds (30 unless set)"
// +kubebuilder:validation:XValidation:rule="!has(self.auth) || !has(self.metrics)",fieldPath=".auth",message="auth and metrics exclude each other: the exporter cannot give a user name and a password"
// +kubebuilder:validation:XValidation:rule="!has(self.networkPolicy) || !has(self.networkPolicy.metricsFrom) || has(self.metrics)",fieldPath=".networkPolicy",message="networkPolicy.metricsFrom needs metrics"
// +kubebuilder:validation:XValidation:rule="!has(self.metrics) || self.metrics.port != self.containerPort",fieldPath=".metrics",message="metrics.port must differ from containerPort"
// +kubebuilder:validation:XValidation:rule="!has(self.tls) || !has(self.tls.plaintextPort) || self.tls.plaintextPort != self.containerPort && (!has(self.metrics) || self.tls.plaintextPort != self.metrics.port)",fieldPath=".tls",message="tls.plaintextPort must differ from containerPort and metrics.port"
// +kubebuilder:validation:XValidation:rule="!has(self.maxConnections) || self.maxConnections >= 10 * (has(self.threads) ? self.threads : 4) + 10",fieldPath=".maxConnections",message="maxConnections must be at least 10 times threads (4 unless set) and 10 more: memcached's threads need some for themselves"
type MemcachedSpec struct {
	// size is how many memcached pods run: 0 to 1000. 0 keeps the objects and runs
	// no pod. It is the replica count of the scale subresource, so `kubectl scale`
	// and a HorizontalPodAutoscaler work on the Memcached itself. Defaults to 1.
	//
	// +optional
	// +default=1
	// +kubebuilder:validation:Minimum=0
	// +kubebuilder:validation:Maximum=1000
	// +operator-sdk:csv:customresourcedefinitions:type=spec,displayName="Size",xDescriptors={"urn:alm:descriptor:com.tectonic.ui:podCount"}
	Size *int32 `json:"size,omitempty"`

	// image is the memcached image to run, by tag or by digest, such as
	// memcached:1.6.45-alpine or registry.example.com/memcached@sha256:<digest>;
	// at most 512 characters. Defaults to the image that the operator was
	// started with (RELATED_IMAGE_MEMCACHED), else to the one in its templates.
	//
	// +optional
	// +operator-sdk:csv:customresourcedefinitions:type=spec,displayName="Image",xDescriptors={"urn:alm:descriptor:com.tectonic.ui:text"}
	Image *Image `json:"image,omitempty"`

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

	// memory is how much memcached may hold in its cache, keys and values with
	// their bookkeeping: 16Mi to 1Ti, in whole mebibytes (the rest is cut off).
	// The container gets 1.2 times as much, and at least 13Mi more, unless
	// resources says otherwise. A change rolls the pods. Defaults to 64Mi.
	//
	// +optional
	// +kubebuilder:validation:Schemaless
	// +kubebuilder:validation:XIntOrString
	// +kubebuilder:validation:MaxLength=24
	// +kubebuilder:validation:XValidation:rule="string(self).matches('^[0-9]+([.][0-9]+)?(m|[kMGTP]|[KMGTP]i)?$') && quantity(string(self)).compareTo(quantity('16Mi')) >= 0 && quantity(string(self)).compareTo(quantity('1Ti')) <= 0",message="memory must be between 16Mi and 1Ti, as a number of bytes or with a unit, such as 1536Mi, and without an exponent"
	// +operator-sdk:csv:customresourcedefinitions:type=spec,displayName="Memory",xDescriptors={"urn:alm:descriptor:com.tectonic.ui:text"}
	Memory *resource.Quantity `json:"memory,omitempty"`

	// maxConnections is how many connections one pod may have, 20 to 500000, and
	// at least 10 more than 10 times threads: memcached keeps about 5 for each
	// thread and 9 more for itself. Further clients are refused with an error.
	// Defaults to 1024.
	//
	// +optional
	// +kubebuilder:validation:Minimum=20
	// +kubebuilder:validation:Maximum=500000
	// +operator-sdk:csv:customresourcedefinitions:type=spec,displayName="Connections",xDescriptors={"urn:alm:descriptor:com.tectonic.ui:number"}
	MaxConnections *int32 `json:"maxConnections,omitempty"`

	// threads is how many threads of a pod serve clients, 1 to 64. More than the
	// CPUs that a pod gets is of no use. Defaults to 4.
	//
	// +optional
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=64
	// +operator-sdk:csv:customresourcedefinitions:type=spec,displayName="Threads",xDescriptors={"urn:alm:descriptor:com.tectonic.ui:number"}
	Threads *int32 `json:"threads,omitempty"`

	// maxItemSize is the largest value that can be stored, with its key: 1Ki to
	// 1Gi, in whole kibibytes, and at most half of memory. Defaults to 1Mi.
	//
	// +optional
	// +kubebuilder:validation:Schemaless
	// +kubebuilder:validation:XIntOrString
	// +kubebuilder:validation:MaxLength=24
	// +kubebuilder:validation:XValidation:rule="string(self).matches('^[0-9]+([.][0-9]+)?(m|[kMGTP]|[KMGTP]i)?$') && quantity(string(self)).compareTo(quantity('1Ki')) >= 0 && quantity(string(self)).compareTo(quantity('1Gi')) <= 0 && quantity(string(self)).isInteger() && quantity(string(self)).asInteger() % 1024 == 0",message="maxItemSize must be between 1Ki and 1Gi, in whole kibibytes, as a number of bytes or with a unit, such as 2Mi, and without an exponent"
	// +operator-sdk:csv:customresourcedefinitions:type=spec,displayName="Largest item",xDescriptors={"urn:alm:descriptor:com.tectonic.ui:text"}
	MaxItemSize *resource.Quantity `json:"maxItemSize,omitempty"`

	// idleTimeoutSeconds is after how many seconds a connection without requests
	// is closed: 1 to 31536000. Defaults to never.
	//
	// +optional
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=31536000
	// +operator-sdk:csv:customresourcedefinitions:type=spec,displayName="Idle timeout",xDescriptors={"urn:alm:descriptor:com.tectonic.ui:number"}
	IdleTimeoutSeconds *int32 `json:"idleTimeoutSeconds,omitempty"`

	// verbosity is how much memcached writes to its log: 0 errors only, 1 errors
	// and warnings, 2 also what clients ask for and are answered, keys included, 3
	// also its inner state. Defaults to 0.
	//
	// +optional
	// +kubebuilder:validation:Minimum=0
	// +kubebuilder:validation:Maximum=3
	// +operator-sdk:csv:customresourcedefinitions:type=spec,displayName="Verbosity",xDescriptors={"urn:alm:descriptor:com.tectonic.ui:number"}
	Verbosity *int32 `json:"verbosity,omitempty"`

	// extraArgs are further options of memcached, for tuning, as --name,
	// --name=value, --extended=name or --extended=name=value, at most 16. Only
	// long options from a fixed list are taken, none of which can open a port,
	// turn on UDP, change the user, read or write a file, or carry a secret:
	// docs/reference/extra-args.md has it. What has a field of its own is set by
	// that field. Defaults to none.
	//
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=16
	// +operator-sdk:csv:customresourcedefinitions:type=spec,displayName="Extra arguments",xDescriptors={"urn:alm:descriptor:com.tectonic.ui:advanced"}
	ExtraArgs []ExtraArg `json:"extraArgs,omitempty"`

	// imagePullPolicy says when the kubelet pulls the image: Always, IfNotPresent
	// or Never. Defaults to Always for the tag latest and to IfNotPresent
	// otherwise.
	//
	// +optional
	// +kubebuilder:validation:Enum=Always;IfNotPresent;Never
	// +operator-sdk:csv:customresourcedefinitions:type=spec,displayName="Image pull policy",xDescriptors={"urn:alm:descriptor:com.tectonic.ui:imagePullPolicy"}
	ImagePullPolicy *corev1.PullPolicy `json:"imagePullPolicy,omitempty"`

	// imagePullSecrets are the Secrets with the credentials of the images'
	// registries, in the namespace of the Memcached, at most 8. Whoever names one
	// needs the right to read it. Defaults to none.
	//
	// +optional
	// +listType=map
	// +listMapKey=name
	// +kubebuilder:validation:MaxItems=8
	// +operator-sdk:csv:customresourcedefinitions:type=spec,displayName="Image pull secrets",xDescriptors={"urn:alm:descriptor:com.tectonic.ui:advanced"}
	ImagePullSecrets []SecretReference `json:"imagePullSecrets,omitempty"`

	// resources are what the memcached container requests and is limited to. They
	// replace the default as a whole: what is left out here is not set. A memory
	// limit must be at least 1.1 times memory, or the kernel would end memcached
	// when the cache is full. Defaults to 1.2 times memory, and at least 13Mi
	// more, as request and limit, and to a request of 50m CPU.
	//
	// +optional
	// +operator-sdk:csv:customresourcedefinitions:type=spec,displayName="Resources",xDescriptors={"urn:alm:descriptor:com.tectonic.ui:resourceRequirements"}
	Resources *Resources `json:"resources,omitempty"`

	// nodeSelector are the labels that a node must have to run the pods, at most
	// 16 and 2048 characters. Defaults to none.
	//
	// +optional
	// +mapType=atomic
	// +kubebuilder:validation:MaxProperties=16
	// +kubebuilder:validation:XValidation:rule="self.all(key, !format.qualifiedName().validate(key).hasValue())",message="each label key must be a qualified name, such as team or example.com/team"
	// +kubebuilder:validation:XValidation:rule="self.map(key, size(key) + size(self[key])).sum() <= 2048",message="keys and values must have at most 2048 characters together; shorten or remove some"
	// +operator-sdk:csv:customresourcedefinitions:type=spec,displayName="Node selector",xDescriptors={"urn:alm:descriptor:com.tectonic.ui:advanced"}
	NodeSelector map[string]LabelValue `json:"nodeSelector,omitempty"`

	// tolerations let the pods run on nodes that have these taints, at most 16.
	// Defaults to none.
	//
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=16
	// +operator-sdk:csv:customresourcedefinitions:type=spec,displayName="Tolerations",xDescriptors={"urn:alm:descriptor:com.tectonic.ui:advanced"}
	Tolerations []Toleration `json:"tolerations,omitempty"`

	// affinity says which nodes and neighbours the pods want or avoid, with at
	// most 8 terms of podAffinity and podAntiAffinity together. It replaces the
	// default as a whole. Defaults to a preference for zones where no pod of this
	// Memcached is yet.
	//
	// +optional
	// +operator-sdk:csv:customresourcedefinitions:type=spec,displayName="Affinity",xDescriptors={"urn:alm:descriptor:com.tectonic.ui:advanced"}
	Affinity *Affinity `json:"affinity,omitempty"`

	// topologySpreadConstraints say how the pods are spread, at most 4. They
	// replace the default as a whole. Each needs a labelSelector: matchLabels
	// app: memcached and memcached_cr: <name of the Memcached>. Defaults to a
	// spread over hosts, where it can be had.
	//
	// +optional
	// +listType=map
	// +listMapKey=topologyKey
	// +listMapKey=whenUnsatisfiable
	// +kubebuilder:validation:MaxItems=4
	// +operator-sdk:csv:customresourcedefinitions:type=spec,displayName="Topology spread constraints",xDescriptors={"urn:alm:descriptor:com.tectonic.ui:advanced"}
	TopologySpreadConstraints []TopologySpreadConstraint `json:"topologySpreadConstraints,omitempty"`

	// priorityClassName is the PriorityClass of the pods. Defaults to the
	// cluster's default.
	//
	// +optional
	// +operator-sdk:csv:customresourcedefinitions:type=spec,displayName="Priority class",xDescriptors={"urn:alm:descriptor:com.tectonic.ui:advanced"}
	PriorityClassName *ObjectName `json:"priorityClassName,omitempty"`

	// serviceAccountName is the ServiceAccount of the pods, for its pull secrets
	// or for policies that go by it; no token of it is mounted. Whoever sets it
	// needs the right to create Deployments. Defaults to the namespace's default.
	//
	// +optional
	// +operator-sdk:csv:customresourcedefinitions:type=spec,displayName="Service account",xDescriptors={"urn:alm:descriptor:io.kubernetes:ServiceAccount"}
	ServiceAccountName *ObjectName `json:"serviceAccountName,omitempty"`

	// terminationGracePeriodSeconds is how long a pod may take to stop before it
	// is killed, preStop included: 0 to 3600. Defaults to 30.
	//
	// +optional
	// +kubebuilder:validation:Minimum=0
	// +kubebuilder:validation:Maximum=3600
	// +operator-sdk:csv:customresourcedefinitions:type=spec,displayName="Termination grace period",xDescriptors={"urn:alm:descriptor:com.tectonic.ui:number"}
	TerminationGracePeriodSeconds *int64 `json:"terminationGracePeriodSeconds,omitempty"`

	// minReadySeconds is how long a new pod must be ready before a roll-out
	// replaces the next: 0 to 540, below the roll-out's deadline of 600. A longer
	// time gives the caches time to fill. Defaults to 5.
	//
	// +optional
	// +kubebuilder:validation:Minimum=0
	// +kubebuilder:validation:Maximum=540
	// +operator-sdk:csv:customresourcedefinitions:type=spec,displayName="Minimum ready time",xDescriptors={"urn:alm:descriptor:com.tectonic.ui:number"}
	MinReadySeconds *int32 `json:"minReadySeconds,omitempty"`

	// rollout is how many pods a roll-out replaces at a time. By default a new pod is
	// started first, and an old one goes once the new one has been ready for
	// minReadySeconds: one pod at a time, and never fewer than size.
	//
	// +optional
	// +operator-sdk:csv:customresourcedefinitions:type=spec,displayName="Roll-out",xDescriptors={"urn:alm:descriptor:com.tectonic.ui:advanced"}
	Rollout *Rollout `json:"rollout,omitempty"`

	// preStop is what happens before a pod is told to stop. Defaults to nothing:
	// memcached stops at once.
	//
	// +optional
	// +operator-sdk:csv:customresourcedefinitions:type=spec,displayName="Before the stop",xDescriptors={"urn:alm:descriptor:com.tectonic.ui:advanced"}
	PreStop *PreStop `json:"preStop,omitempty"`

	// service adds to the Service in front of the pods. Defaults to a headless
	// Service with nothing added.
	//
	// +optional
	// +operator-sdk:csv:customresourcedefinitions:type=spec,displayName="Service",xDescriptors={"urn:alm:descriptor:com.tectonic.ui:advanced"}
	Service *Service `json:"service,omitempty"`

	// podDisruptionBudget says how many pods a drain may take at a time. Defaults
	// to one.
	//
	// +optional
	// +operator-sdk:csv:customresourcedefinitions:type=spec,displayName="Disruption budget",xDescriptors={"urn:alm:descriptor:com.tectonic.ui:advanced"}
	PodDisruptionBudget *PodDisruptionBudget `json:"podDisruptionBudget,omitempty"`

	// networkPolicy lets only some peers reach the pods. Defaults to no
	// NetworkPolicy.
	//
	// +optional
	// +operator-sdk:csv:customresourcedefinitions:type=spec,displayName="Network policy",xDescriptors={"urn:alm:descriptor:com.tectonic.ui:advanced"}
	NetworkPolicy *NetworkPolicy `json:"networkPolicy,omitempty"`

	// tls makes memcached speak TLS on its port, and read its certificate anew
	// when the Secret changes, without losing the cache. It needs memcached 1.6.40
	// or later. Defaults to plain text.
	//
	// +optional
	// +operator-sdk:csv:customresourcedefinitions:type=spec,displayName="TLS",xDescriptors={"urn:alm:descriptor:com.tectonic.ui:advanced"}
	TLS *TLS `json:"tls,omitempty"`

	// auth makes clients give a user name and a password, read anew when the
	// Secret changes, without losing the cache. Not together with metrics, whose
	// exporter cannot give them. Defaults to none.
	//
	// +optional
	// +operator-sdk:csv:customresourcedefinitions:type=spec,displayName="Authentication",xDescriptors={"urn:alm:descriptor:com.tectonic.ui:advanced"}
	Auth *Auth `json:"auth,omitempty"`

	// metrics runs a Prometheus exporter beside memcached in each pod, on the port
	// called metrics. Write {} for its defaults. Defaults to none.
	//
	// +optional
	// +operator-sdk:csv:customresourcedefinitions:type=spec,displayName="Metrics",xDescriptors={"urn:alm:descriptor:com.tectonic.ui:advanced"}
	Metrics *Metrics `json:"metrics,omitempty"`

	// paused true stops the operator from writing any object of this Memcached,
	// until it is false or gone. Its status is still kept, and deleting it still
	// deletes everything. Defaults to false.
	//
	// +optional
	// +operator-sdk:csv:customresourcedefinitions:type=spec,displayName="Paused",xDescriptors={"urn:alm:descriptor:com.tectonic.ui:booleanSwitch"}
	Paused *bool `json:"paused,omitempty"`

	// patches are kustomize patches on the objects of this Memcached, applied in
	// order after everything else, at most 8 and 32768 characters: for what has no
	// field, such as sidecars, volumes and init containers. They cannot change
	// kinds, names, namespaces, owners, selectors or the operator's labels, nor
	// add or remove objects. Whoever sets them needs the right to create
	// Deployments and the patched kinds. Defaults to none.
	//
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=8
	// +kubebuilder:validation:XValidation:rule="self.map(p, size(p.patch)).sum() <= 32768",message="patches must have at most 32768 characters together; shorten or remove some"
	// +operator-sdk:csv:customresourcedefinitions:type=spec,displayName="Patches",xDescriptors={"urn:alm:descriptor:com.tectonic.ui:advanced"}
	Patches []Patch `json:"patches,omitempty"`
}
