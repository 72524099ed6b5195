// SPDX-License-Identifier: Apache-2.0

package v1alpha1

import (
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
)

// MemcachedSpec is what a user asks for. Every field is optional; the text of
// a field names its default.
// +kubebuilder:validation:XValidation:rule="!has(self.maxItemSize) || string(self.maxItemSize).matches('[eE]') || string(has(self.memory) ? self.memory : '64Mi').matches('[eE]') || quantity(string(self.maxItemSize)).asApproximateFloat() * 2.0 <= quantity(string(has(self.memory) ? self.memory : '64Mi')).asApproximateFloat()",fieldPath=".maxItemSize",message="maxItemSize may be at most half of memory (64Mi unless set)"
// +kubebuilder:validation:XValidation:rule="!has(self.resources) || !has(self.resources.limits) || !('memory' in self.resources.limits) || string(self.resources.limits['memory']).matches('[eE]') || string(has(self.memory) ? self.memory : '64Mi').matches('[eE]') || quantity(string(self.resources.limits['memory'])).asApproximateFloat() * 10.0 >= quantity(string(has(self.memory) ? self.memory : '64Mi')).asApproximateFloat() * 11.0",fieldPath=".resources",message="the memory limit must be at least 1.1 times memory (64Mi unless set): memcached needs room beside the cache, and the kernel would end it when the cache is full"
// +kubebuilder:validation:XValidation:rule="!has(self.preStop) || self.preStop.sleepSeconds < (has(self.terminationGracePeriodSeconds) ? self.terminationGracePeriodSeconds : 30)",fieldPath=".preStop",message="preStop.sleepSeconds must be less than terminationGracePeriodSeconds (30 unless set)"
// +kubebuilder:validation:XValidation:rule="!has(self.auth) || !has(self.metrics)",fieldPath=".auth",message="auth and metrics exclude each other: the exporter cannot give a user name and a password"
// +kubebuilder:validation:XValidation:rule="!has(self.networkPolicy) || !has(self.networkPolicy.metricsFrom) || has(self.metrics)",fieldPath=".networkPolicy",message="networkPolicy.metricsFrom needs metrics"
// +kubebuilder:validation:XValidation:rule="!has(self.metrics) || self.metrics.port != self.containerPort",fieldPath=".metrics",message="metrics.port must differ from containerPort"
// +kubebuilder:validation:XValidation:rule="!has(self.tls) || !has(self.tls.plaintextPort) || self.tls.plaintextPort != self.containerPort && (!has(self.metrics) || self.tls.plaintextPort != self.metrics.port)",fieldPath=".tls",message="tls.plaintextPort must differ from containerPort and metrics.port"
// +kubebuilder:validation:XValidation:rule="!has(self.maxConnections) || self.maxConnections >= 10 * (has(self.threads) ? self.threads : 4) + 10",fieldPath=".maxConnections",message="maxConnections must be at least 10 times threads (4 unless set) and 10 more: memcached's threads need some for themselves"
type MemcachedSpec struct {
	// size is how many memcached pods run, 0 or more. 0 keeps the objects and
	// runs no pod. It is the replica count of the scale subresource, so
	// `kubectl scale` and a HorizontalPodAutoscaler work on the Memcached
	// itself. Defaults to 1.
	//
	// +optional
	// +default=1
	// +kubebuilder:validation:Minimum=0
	// +operator-sdk:csv:customresourcedefinitions:type=spec,displayName="Size",xDescriptors={"urn:alm:descriptor:com.tectonic.ui:podCount"}
	Size *int32 `json:"size,omitempty"`

	// image is the memcached image to run, by tag or by digest, such as
	// memcached:1.6.45-alpine or registry.example.com/memcached@sha256:<digest>;
	// at most 512 characters. Defaults to the image that the operator was
	// started with (RELATED_IMAGE_MEMCACHED), else to the one in its templates.
	//
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=512
	// +kubebuilder:validation:XValidation:rule="self.matches('^(([a-zA-Z0-9]([-a-zA-Z0-9.]*[a-zA-Z0-9])?|\\\\[[a-fA-F0-9:]+\\\\])(:[0-9]+)?/)?[a-z0-9]+(([._]|__|-+)[a-z0-9]+)*(/[a-z0-9]+(([._]|__|-+)[a-z0-9]+)*)*(:[a-zA-Z0-9_][-a-zA-Z0-9_.]{0,127})?(@[a-zA-Z][a-zA-Z0-9]*([-_+.][a-zA-Z][a-zA-Z0-9]*)*:[a-fA-F0-9]{32,})?$')",message="image must be [registry[:port]/]name[:tag][@digest] without spaces, such as memcached:1.6.45-alpine or registry.example.com/memcached@sha256:<64 hexadecimal digits>"
	// +operator-sdk:csv:customresourcedefinitions:type=spec,displayName="Image",xDescriptors={"urn:alm:descriptor:com.tectonic.ui:text"}
	Image *string `json:"image,omitempty"`

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
	// +kubebuilder:validation:XValidation:rule="size(string(self)) <= 24 && !string(self).matches('[eE]') && quantity(string(self)).compareTo(quantity('16Mi')) >= 0 && quantity(string(self)).compareTo(quantity('1Ti')) <= 0",message="memory must be between 16Mi and 1Ti, as a number of bytes or with a unit, such as 1536Mi, and without an exponent"
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
	// +kubebuilder:validation:XValidation:rule="size(string(self)) <= 24 && !string(self).matches('[eE]') && quantity(string(self)).compareTo(quantity('1Ki')) >= 0 && quantity(string(self)).compareTo(quantity('1Gi')) <= 0 && quantity(string(self)).isInteger() && quantity(string(self)).asInteger() % 1024 == 0",message="maxItemSize must be between 1Ki and 1Gi, in whole kibibytes, as a number of bytes or with a unit, such as 2Mi, and without an exponent"
	// +operator-sdk:csv:customresourcedefinitions:type=spec,displayName="Largest item",xDescriptors={"urn:alm:descriptor:com.tectonic.ui:text"}
	MaxItemSize *resource.Quantity `json:"maxItemSize,omitempty"`

	// idleTimeout is after how long a silent connection is closed, such as 90s or
	// 1h30m: 1s to 8760h. Defaults to never.
	//
	// +optional
	// +kubebuilder:validation:MaxLength=16
	// +kubebuilder:validation:XValidation:rule="self.matches('^([0-9]{1,4}h)?([0-9]{1,6}m)?([0-9]{1,8}s)?$') && self != '' && duration(self) >= duration('1s') && duration(self) <= duration('8760h')",message="idleTimeout must be between 1s and 8760h, in hours, minutes and seconds, such as 90s or 1h30m"
	// +operator-sdk:csv:customresourcedefinitions:type=spec,displayName="Idle timeout",xDescriptors={"urn:alm:descriptor:com.tectonic.ui:text"}
	IdleTimeout *string `json:"idleTimeout,omitempty"`

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
	// +listType=atomic
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
	// 32. Defaults to none.
	//
	// +optional
	// +kubebuilder:validation:MaxProperties=32
	// +kubebuilder:validation:XValidation:rule="self.all(key, !format.qualifiedName().validate(key).hasValue())",message="each label key must be a qualified name, such as team or example.com/team"
	// +kubebuilder:validation:XValidation:rule="self.all(key, !format.labelValue().validate(self[key]).hasValue())",message="each label value must have at most 63 characters: letters, digits, '-', '_' and '.', beginning and ending with a letter or digit"
	// +operator-sdk:csv:customresourcedefinitions:type=spec,displayName="Node selector",xDescriptors={"urn:alm:descriptor:com.tectonic.ui:advanced"}
	NodeSelector map[string]LabelValue `json:"nodeSelector,omitempty"`

	// tolerations let the pods run on nodes that have these taints, at most 32.
	// Defaults to none.
	//
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=32
	// +operator-sdk:csv:customresourcedefinitions:type=spec,displayName="Tolerations",xDescriptors={"urn:alm:descriptor:com.tectonic.ui:advanced"}
	Tolerations []corev1.Toleration `json:"tolerations,omitempty"`

	// affinity says which nodes and neighbours the pods want or avoid. It
	// replaces the default as a whole. Defaults to a preference for zones where
	// no pod of this Memcached is yet.
	//
	// +optional
	// +operator-sdk:csv:customresourcedefinitions:type=spec,displayName="Affinity",xDescriptors={"urn:alm:descriptor:com.tectonic.ui:advanced"}
	Affinity *corev1.Affinity `json:"affinity,omitempty"`

	// topologySpreadConstraints say how the pods are spread, at most 8. They
	// replace the default as a whole. Each needs a labelSelector: matchLabels
	// app: memcached and memcached_cr: <name of the Memcached>. Defaults to a
	// spread over hosts, where it can be had.
	//
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=8
	// +operator-sdk:csv:customresourcedefinitions:type=spec,displayName="Topology spread constraints",xDescriptors={"urn:alm:descriptor:com.tectonic.ui:advanced"}
	TopologySpreadConstraints []corev1.TopologySpreadConstraint `json:"topologySpreadConstraints,omitempty"`

	// priorityClassName is the PriorityClass of the pods. Defaults to the
	// cluster's default.
	//
	// +optional
	// +kubebuilder:validation:MaxLength=253
	// +kubebuilder:validation:Pattern=`^[a-z0-9]([-a-z0-9.]*[a-z0-9])?$`
	// +operator-sdk:csv:customresourcedefinitions:type=spec,displayName="Priority class",xDescriptors={"urn:alm:descriptor:com.tectonic.ui:advanced"}
	PriorityClassName *string `json:"priorityClassName,omitempty"`

	// serviceAccountName is the ServiceAccount of the pods, for its pull secrets
	// or for policies that go by it; no token of it is mounted. Whoever sets it
	// needs the right to create Deployments. Defaults to the namespace's default.
	//
	// +optional
	// +kubebuilder:validation:MaxLength=253
	// +kubebuilder:validation:Pattern=`^[a-z0-9]([-a-z0-9.]*[a-z0-9])?$`
	// +operator-sdk:csv:customresourcedefinitions:type=spec,displayName="Service account",xDescriptors={"urn:alm:descriptor:io.kubernetes:ServiceAccount"}
	ServiceAccountName *string `json:"serviceAccountName,omitempty"`

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
	// order after everything else, at most 16: for what has no field, such as
	// sidecars, volumes and init containers. They cannot change kinds, names,
	// namespaces, owners, selectors or the operator's labels, nor add or remove
	// objects. Whoever sets them needs the right to create Deployments and the
	// patched kinds. Defaults to none.
	//
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=16
	// +operator-sdk:csv:customresourcedefinitions:type=spec,displayName="Patches",xDescriptors={"urn:alm:descriptor:com.tectonic.ui:advanced"}
	Patches []Patch `json:"patches,omitempty"`
}

// ExtraArg is one further option of memcached.
//
// +kubebuilder:validation:MaxLength=128
// +kubebuilder:validation:XValidation:rule="!self.startsWith('--extended=') ? self.matches('^--(disable-(evictions|cas|flush-all|dumping|watch)|enable-largepages|protocol=ascii|slab-growth-factor=(1[.][0-9]{0,3}[1-9]|[2-9]([.][0-9]{1,4})?)|(slab-min-size|max-reqs-per-event|listen-backlog)=[1-9][0-9]{0,9})$') : self.matches('^--extended=(hashpower=(1[6-9]|2[0-9]|3[0-2])|tail_repair_time=[1-9][0-9]{1,8}|lru_crawler_sleep=[0-9]{1,6}|(lru_crawler_tocrawl|temporary_ttl|slab_automove_window|(watcher|worker)_logbuf_size|read_buf_mem_limit)=[1-9][0-9]{0,9}|(hot|warm)_lru_pct=([1-9]|[1-7][0-9])|((hot|warm)_max_factor|slab_automove_(free)?ratio)=[0-9]{1,4}([.][0-9]{1,4})?|hash_algorithm=(murmur3|jenkins|xxh3)|(no_)?(lru_crawler|lru_maintainer|slab_reassign|slab_automove|maxconns_fast)|slab_automove=[0-2]|no_hashexpand|track_sizes|modern)$')",message="extraArgs takes options for tuning only, as --name, --name=value, --extended=name or --extended=name=value (docs/reference/extra-args.md lists them): others could open a port, turn on UDP, change the user, touch a file or show a secret, or have a field of their own"
type ExtraArg string

// SecretReference names a Secret in the namespace of the Memcached.
type SecretReference struct {
	// name is the name of the Secret.
	//
	// +required
	// +kubebuilder:validation:MaxLength=253
	// +kubebuilder:validation:Pattern=`^[a-z0-9]([-a-z0-9.]*[a-z0-9])?$`
	Name string `json:"name"`
}

// Resources are what a container requests and is limited to, such as cpu: 500m and
// memory: 256Mi.
//
// +kubebuilder:validation:XValidation:rule="!has(self.requests) || !has(self.limits) || ['cpu', 'memory'].all(name, !(name in self.requests) || !(name in self.limits) || string(self.requests[name]).matches('[eE]') || string(self.limits[name]).matches('[eE]') || quantity(string(self.requests[name])).compareTo(quantity(string(self.limits[name]))) <= 0)",message="no request of cpu or memory may be above its limit"
type Resources struct {
	// requests are what the scheduler sets aside.
	//
	// +optional
	// +kubebuilder:validation:MaxProperties=6
	// +kubebuilder:validation:XValidation:rule="self.all(name, name in ['cpu', 'memory', 'ephemeral-storage'] || name.startsWith('hugepages-') || name.contains('/') && !format.qualifiedName().validate(name).hasValue())",message="each resource must be cpu, memory, ephemeral-storage, hugepages-<size> or one with a domain, such as example.com/device"
	// +kubebuilder:validation:XValidation:rule="self.all(name, size(string(self[name])) <= 24 && !string(self[name]).matches('[-eE]'))",message="each quantity must be a number, 0 or more, or one with a unit, such as 500m or 256Mi, and without an exponent"
	// +operator-sdk:csv:customresourcedefinitions:type=spec,displayName="Requests",xDescriptors={"urn:alm:descriptor:com.tectonic.ui:advanced"}
	Requests corev1.ResourceList `json:"requests,omitempty"`

	// limits are what the container may use at most.
	//
	// +optional
	// +kubebuilder:validation:MaxProperties=6
	// +kubebuilder:validation:XValidation:rule="self.all(name, name in ['cpu', 'memory', 'ephemeral-storage'] || name.startsWith('hugepages-') || name.contains('/') && !format.qualifiedName().validate(name).hasValue())",message="each resource must be cpu, memory, ephemeral-storage, hugepages-<size> or one with a domain, such as example.com/device"
	// +kubebuilder:validation:XValidation:rule="self.all(name, size(string(self[name])) <= 24 && !string(self[name]).matches('[-eE]'))",message="each quantity must be a number, 0 or more, or one with a unit, such as 500m or 256Mi, and without an exponent"
	// +operator-sdk:csv:customresourcedefinitions:type=spec,displayName="Limits",xDescriptors={"urn:alm:descriptor:com.tectonic.ui:advanced"}
	Limits corev1.ResourceList `json:"limits,omitempty"`
}

// PreStop is what happens before a pod is told to stop.
type PreStop struct {
	// sleepSeconds is how long a pod that is going still answers, so that clients
	// can notice that it leaves: 1 to 3599, less than
	// terminationGracePeriodSeconds.
	//
	// +required
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=3599
	// +operator-sdk:csv:customresourcedefinitions:type=spec,displayName="Sleep",xDescriptors={"urn:alm:descriptor:com.tectonic.ui:number"}
	SleepSeconds int32 `json:"sleepSeconds"`
}

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

// PodDisruptionBudget says how many pods a drain may take at a time.
// +kubebuilder:validation:XValidation:rule="!has(self.disabled) || !self.disabled || !has(self.maxUnavailable)",message="a disabled podDisruptionBudget has no maxUnavailable; remove one of the two"
type PodDisruptionBudget struct {
	// maxUnavailable is how many pods may be missing at a time because of drains,
	// as a number or a percentage of size. Defaults to 1.
	//
	// +optional
	// +kubebuilder:validation:XValidation:rule="type(self) == int ? self >= 0 && self <= 2147483647 : string(self).matches('^(100|[1-9]?[0-9])%$')",message="maxUnavailable must be a number of pods, such as 1, or a percentage, such as 25%"
	// +operator-sdk:csv:customresourcedefinitions:type=spec,displayName="Maximum unavailable",xDescriptors={"urn:alm:descriptor:com.tectonic.ui:text"}
	MaxUnavailable *intstr.IntOrString `json:"maxUnavailable,omitempty"`

	// disabled true leaves the PodDisruptionBudget out: a drain may take all pods
	// at once. Defaults to false.
	//
	// +optional
	// +operator-sdk:csv:customresourcedefinitions:type=spec,displayName="Disabled",xDescriptors={"urn:alm:descriptor:com.tectonic.ui:booleanSwitch"}
	Disabled *bool `json:"disabled,omitempty"`
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

// Patch is one kustomize patch.
type Patch struct {
	// target says which objects are patched.
	//
	// +required
	Target PatchTarget `json:"target"`

	// patch is the patch as YAML or JSON: a strategic merge patch (a part of the
	// object; apiVersion, kind and metadata.name may be left out) or a JSON patch
	// (a list of operations, RFC 6902). At most 16384 characters.
	//
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=16384
	Patch string `json:"patch"`
}

// PatchTarget says which objects are patched: those of a kind, or one of them.
type PatchTarget struct {
	// kind is the kind of the objects, such as Deployment.
	//
	// +required
	// +kubebuilder:validation:MaxLength=63
	// +kubebuilder:validation:Pattern=`^[A-Z][a-zA-Z0-9]*$`
	Kind string `json:"kind"`

	// group is the API group of the kind, such as apps; empty is the core group.
	// It may be left out for the kinds of the operator's own templates:
	// Deployment, NetworkPolicy, PodDisruptionBudget, PrometheusRule, Service,
	// ServiceMonitor.
	//
	// +optional
	// +kubebuilder:validation:MaxLength=253
	// +kubebuilder:validation:Pattern=`^([a-z0-9]([-a-z0-9.]*[a-z0-9])?)?$`
	Group *string `json:"group,omitempty"`

	// name is the name of one object, as it is in the cluster. Defaults to all of
	// the kind.
	//
	// +optional
	// +kubebuilder:validation:MaxLength=253
	// +kubebuilder:validation:Pattern=`^[a-z0-9]([-a-z0-9.]*[a-z0-9])?$`
	Name *string `json:"name,omitempty"`
}

// PodMetadata is the part of the pods' metadata that a user may add to.
type PodMetadata struct {
	// labels are added to the pods, at most 32. The operator's own labels (app,
	// memcached_cr and app.kubernetes.io/…) are reserved, since selectors rest
	// on them.
	//
	// +optional
	// +kubebuilder:validation:MaxProperties=32
	// +kubebuilder:validation:XValidation:rule="self.all(key, key != 'app' && key != 'memcached_cr' && !key.startsWith('app.kubernetes.io/') && key != 'pod-template-hash')",message="labels app, memcached_cr, pod-template-hash and app.kubernetes.io/… belong to the operator; choose another key"
	// +kubebuilder:validation:XValidation:rule="self.all(key, !format.qualifiedName().validate(key).hasValue())",message="each label key must be a qualified name, such as team or example.com/team"
	// +kubebuilder:validation:XValidation:rule="self.all(key, !format.labelValue().validate(self[key]).hasValue())",message="each label value must have at most 63 characters: letters, digits, '-', '_' and '.', beginning and ending with a letter or digit"
	// +operator-sdk:csv:customresourcedefinitions:type=spec,displayName="Pod labels",xDescriptors={"urn:alm:descriptor:com.tectonic.ui:advanced"}
	Labels map[string]LabelValue `json:"labels,omitempty"`

	// annotations are added to the pods, at most 32 of at most 4096 characters
	// each.
	//
	// +optional
	// +kubebuilder:validation:MaxProperties=32
	// +kubebuilder:validation:XValidation:rule="self.all(key, !format.qualifiedName().validate(key).hasValue())",message="each annotation key must be a qualified name, such as example.com/owner"
	// +operator-sdk:csv:customresourcedefinitions:type=spec,displayName="Pod annotations",xDescriptors={"urn:alm:descriptor:com.tectonic.ui:advanced"}
	Annotations map[string]AnnotationValue `json:"annotations,omitempty"`
}

// LabelValue is the value of a label: at most 63 characters.
// +kubebuilder:validation:MaxLength=63
type LabelValue string

// AnnotationValue is the value of an annotation: at most 4096 characters.
// +kubebuilder:validation:MaxLength=4096
type AnnotationValue string

// MemcachedStatus is what the operator last observed. It is written only when it
// changes.
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

// Memcached is a set of memcached pods behind one headless Service. The
// operator renders its templates for it, applies what comes out, and reports
// here.
//
// +operator-sdk:csv:customresourcedefinitions:displayName="Memcached",resources={{Deployment,apps/v1},{Event,events.k8s.io/v1},{NetworkPolicy,networking.k8s.io/v1},{Pod,v1},{PodDisruptionBudget,policy/v1},{PrometheusRule,monitoring.coreos.com/v1},{Service,v1},{ServiceMonitor,monitoring.coreos.com/v1}}
// +kubebuilder:object:root=true
// +kubebuilder:resource:path=memcacheds,singular=memcached,scope=Namespaced,shortName=mc,categories=all
// +kubebuilder:subresource:status
// +kubebuilder:subresource:scale:specpath=.spec.size,statuspath=.status.replicas,selectorpath=.status.selector
// +kubebuilder:printcolumn:name="Size",type=integer,JSONPath=`.spec.size`,description="pods asked for"
// +kubebuilder:printcolumn:name="Ready",type=string,JSONPath=`.status.conditions[?(@.type=="Ready")].status`,description="whether everything is as asked"
// +kubebuilder:printcolumn:name="Status",type=string,JSONPath=`.status.conditions[?(@.type=="Ready")].message`,description="why, in words"
// +kubebuilder:printcolumn:name="Age",type=date,JSONPath=`.metadata.creationTimestamp`
// +kubebuilder:printcolumn:name="Image",type=string,JSONPath=`.status.image`,priority=1,description="image asked for"
// +kubebuilder:printcolumn:name="Endpoint",type=string,JSONPath=`.status.endpoint`,priority=1,description="where clients connect"
// +kubebuilder:validation:XValidation:rule="oldSelf.hasValue() || size(self.metadata.name) <= 52",optionalOldSelf=true,fieldPath=".metadata",message="metadata.name must have at most 52 characters: the names of the pods are made from it"
// +kubebuilder:validation:XValidation:rule="oldSelf.hasValue() || self.metadata.name.matches('^[a-z]([-a-z0-9]*[a-z0-9])?$')",optionalOldSelf=true,fieldPath=".metadata",message="metadata.name must begin with a letter and hold only lower-case letters, digits and '-': it also names a Service"
type Memcached struct {
	// The rules on the name hold when a Memcached is made only (oldSelf): a name
	// never changes, and one that is older than the rules must stay editable.

	metav1.TypeMeta `json:",inline"`

	// +optional
	metav1.ObjectMeta `json:"metadata,omitzero"`

	// spec is what is asked for. It is required, though it may be empty ({}).
	//
	// +required
	Spec MemcachedSpec `json:"spec"`

	// status is what was last observed; only the operator writes it.
	//
	// +optional
	Status MemcachedStatus `json:"status,omitzero"`
}

// MemcachedList is a list of Memcacheds.
//
// +kubebuilder:object:root=true
type MemcachedList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitzero"`
	Items           []Memcached `json:"items"`
}
