// SPDX-License-Identifier: Apache-2.0

package v1alpha1

import (
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
)

// MemcachedSpec is the desired state of a Memcached. Every field is optional;
// its description names the default.
// +kubebuilder:validation:XValidation:rule="!has(self.maxItemSize) || !has(self.memory) || [string(self.maxItemSize), string(self.memory)].exists(q, !q.matches('^[0-9]+([.][0-9]+)?(m|[kMGTP]|[KMGTP]i)?$')) || quantity(string(self.maxItemSize)).asApproximateFloat() * 2.0 <= quantity(string(self.memory)).asApproximateFloat()",fieldPath=".maxItemSize",message="maxItemSize may be at most half of memory"
// +kubebuilder:validation:XValidation:rule="!has(self.memory) || !has(self.resources) || !has(self.resources.limits) || !has(self.resources.limits.memory) || [string(self.resources.limits.memory), string(self.memory)].exists(q, !q.matches('^[0-9]+([.][0-9]+)?(m|[kMGTP]|[KMGTP]i)?$')) || quantity(string(self.resources.limits.memory)).asApproximateFloat() * 10.0 >= quantity(string(self.memory)).asApproximateFloat() * 11.0",fieldPath=".resources",message="the memory limit must be at least 1.1 times memory: memcached needs room beside the cache, and the kernel would end it when the cache is full"
// +kubebuilder:validation:XValidation:rule="!has(self.preStop) || !has(self.terminationGracePeriodSeconds) || self.preStop.sleepSeconds < self.terminationGracePeriodSeconds",fieldPath=".preStop",message="preStop.sleepSeconds must be less than terminationGracePeriodSeconds"
// +kubebuilder:validation:XValidation:rule="!has(self.networkPolicy) || !has(self.networkPolicy.metricsFrom) || has(self.metrics)",fieldPath=".networkPolicy",message="networkPolicy.metricsFrom needs metrics"
// +kubebuilder:validation:XValidation:rule="!has(self.metrics) || self.metrics.port != self.containerPort",fieldPath=".metrics",message="metrics.port must differ from containerPort"
// +kubebuilder:validation:XValidation:rule="!has(self.tls) || !has(self.tls.plaintextPort) || self.tls.plaintextPort != self.containerPort && (!has(self.metrics) || self.tls.plaintextPort != self.metrics.port)",fieldPath=".tls",message="tls.plaintextPort must differ from containerPort and metrics.port"
// +kubebuilder:validation:XValidation:rule="!has(self.maxConnections) || !has(self.threads) || self.maxConnections >= 10 * self.threads + 10",fieldPath=".maxConnections",message="maxConnections must be at least 10 times threads and 10 more: memcached's threads need some for themselves"
// +kubebuilder:validation:XValidation:rule="!has(self.proxy) || !has(self.auth)",fieldPath=".proxy",message="proxy cannot be combined with auth: memcached's proxy can authenticate on neither side"
// +kubebuilder:validation:XValidation:rule="!has(self.proxy) || !has(self.proxy.zones) || !has(self.tls) && (!has(self.containerPort) || self.containerPort != 11212)",fieldPath=".proxy.zones",message="proxy.zones cannot be combined with tls or containerPort 11212: its proxies speak plaintext to each other by that port"
// +kubebuilder:validation:XValidation:rule="!has(self.proxy) || !has(self.tls) || has(self.tls.plaintextPort)",fieldPath=".tls",message="tls with proxy needs tls.plaintextPort: the proxies serve TLS, and speak none to memcached"
// +kubebuilder:validation:XValidation:rule="!has(self.warmRestart) || !has(self.extraArgs) || !self.extraArgs.exists(a, a == '--enable-largepages')",fieldPath=".extraArgs",message="extraArgs cannot have --enable-largepages with warmRestart: memcached does not start with both"
// +kubebuilder:validation:XValidation:rule="!has(self.flash) || !has(self.warmRestart)",fieldPath=".flash",message="flash cannot be combined with warmRestart: memcached does not start with both"
// +kubebuilder:validation:XValidation:rule="!has(self.flash) || !has(self.maxItemSize) || !string(self.maxItemSize).matches('^[0-9]+([.][0-9]+)?(m|[kMGTP]|[KMGTP]i)?$') || quantity(string(self.maxItemSize)).compareTo(quantity('4Mi')) <= 0",fieldPath=".maxItemSize",message="maxItemSize may be at most 4Mi with flash, which memcached writes in buffers of that size"
type MemcachedSpec struct {
	// size is the desired number of memcached pods, 0 to 1000. With 0, the objects
	// are kept and no pod runs. It is the replica count of the scale subresource,
	// so `kubectl scale` and a HorizontalPodAutoscaler work on the Memcached
	// itself. Defaults to 1.
	// +optional
	// +default=1
	// +kubebuilder:validation:Minimum=0
	// +kubebuilder:validation:Maximum=1000
	// +operator-sdk:csv:customresourcedefinitions:type=spec,displayName="Size",xDescriptors={"urn:alm:descriptor:com.tectonic.ui:podCount"}
	Size *int32 `json:"size,omitempty"`

	// image is the memcached image, by tag or by digest, such as
	// memcached:1.6.45-alpine or registry.example.com/memcached@sha256:<digest>;
	// at most 512 characters. Defaults to the image that the operator is
	// configured with (RELATED_IMAGE_MEMCACHED), or else to the image in its
	// templates.
	// +optional
	// +operator-sdk:csv:customresourcedefinitions:type=spec,displayName="Image",xDescriptors={"urn:alm:descriptor:com.tectonic.ui:text"}
	Image *Image `json:"image,omitempty"`

	// containerPort is the TCP port on which memcached listens, in the pods and
	// through the Service: 1024 to 65535, because memcached does not run as root.
	// Defaults to 11211.
	// +optional
	// +default=11211
	// +kubebuilder:validation:Minimum=1024
	// +kubebuilder:validation:Maximum=65535
	// +operator-sdk:csv:customresourcedefinitions:type=spec,displayName="Container port",xDescriptors={"urn:alm:descriptor:com.tectonic.ui:number"}
	ContainerPort *int32 `json:"containerPort,omitempty"`

	// podMetadata holds additional labels and annotations of the memcached pods,
	// for example for cost allocation, log routing or a service mesh. A change
	// replaces the pods. Defaults to none.
	// +optional
	// +operator-sdk:csv:customresourcedefinitions:type=spec,displayName="Pod metadata",xDescriptors={"urn:alm:descriptor:com.tectonic.ui:advanced"}
	PodMetadata *PodMetadata `json:"podMetadata,omitempty"`

	// memory is the size of the cache of one pod, keys, values and metadata
	// included: 16Mi to 1Ti, rounded down to whole mebibytes. Unless resources is
	// set, the container gets as much memory as memcached takes with it, with
	// maxConnections, threads, tls and flash. A change replaces the pods. Defaults
	// to 64Mi.
	// +optional
	// +kubebuilder:validation:Schemaless
	// +kubebuilder:validation:XIntOrString
	// +kubebuilder:validation:MaxLength=24
	// +kubebuilder:validation:XValidation:rule="string(self).matches('^[0-9]+([.][0-9]+)?(m|[kMGTP]|[KMGTP]i)?$') && quantity(string(self)).compareTo(quantity('16Mi')) >= 0 && quantity(string(self)).compareTo(quantity('1Ti')) <= 0",message="memory must be between 16Mi and 1Ti, as a number of bytes or with a unit, such as 1536Mi, and without an exponent"
	// +operator-sdk:csv:customresourcedefinitions:type=spec,displayName="Memory",xDescriptors={"urn:alm:descriptor:com.tectonic.ui:text"}
	Memory *resource.Quantity `json:"memory,omitempty"`

	// flash keeps large values on the disk of the node, and keys in memory: a
	// cache many times as large as memory, which a restart empties. It cannot be
	// combined with warmRestart. Defaults to memory only.
	// +optional
	// +operator-sdk:csv:customresourcedefinitions:type=spec,displayName="Flash",xDescriptors={"urn:alm:descriptor:com.tectonic.ui:advanced"}
	Flash *Flash `json:"flash,omitempty"`

	// maxConnections is the maximum number of client connections of one pod, 20 to
	// 500000, and at least 10 times threads plus 10: memcached uses about 5
	// connections for each thread and 9 for itself. Further connections are
	// refused with an error. Defaults to 1024.
	// +optional
	// +kubebuilder:validation:Minimum=20
	// +kubebuilder:validation:Maximum=500000
	// +operator-sdk:csv:customresourcedefinitions:type=spec,displayName="Connections",xDescriptors={"urn:alm:descriptor:com.tectonic.ui:number"}
	MaxConnections *int32 `json:"maxConnections,omitempty"`

	// threads is the number of worker threads of one pod, 1 to 64. More threads
	// than CPUs have no benefit. Defaults to 4.
	// +optional
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=64
	// +operator-sdk:csv:customresourcedefinitions:type=spec,displayName="Threads",xDescriptors={"urn:alm:descriptor:com.tectonic.ui:number"}
	Threads *int32 `json:"threads,omitempty"`

	// maxItemSize is the maximum size of an item, key included: 1Ki to 1Gi, in
	// whole kibibytes, and at most half of memory. Defaults to 1Mi.
	// +optional
	// +kubebuilder:validation:Schemaless
	// +kubebuilder:validation:XIntOrString
	// +kubebuilder:validation:MaxLength=24
	// +kubebuilder:validation:XValidation:rule="string(self).matches('^[0-9]+([.][0-9]+)?(m|[kMGTP]|[KMGTP]i)?$') && quantity(string(self)).compareTo(quantity('1Ki')) >= 0 && quantity(string(self)).compareTo(quantity('1Gi')) <= 0 && quantity(string(self)).isInteger() && quantity(string(self)).asInteger() % 1024 == 0",message="maxItemSize must be between 1Ki and 1Gi, in whole kibibytes, as a number of bytes or with a unit, such as 2Mi, and without an exponent"
	// +operator-sdk:csv:customresourcedefinitions:type=spec,displayName="Largest item",xDescriptors={"urn:alm:descriptor:com.tectonic.ui:text"}
	MaxItemSize *resource.Quantity `json:"maxItemSize,omitempty"`

	// idleTimeoutSeconds is the time in seconds after which an idle client
	// connection is closed: 1 to 31536000. Defaults to no timeout.
	// +optional
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=31536000
	// +operator-sdk:csv:customresourcedefinitions:type=spec,displayName="Idle timeout",xDescriptors={"urn:alm:descriptor:com.tectonic.ui:number"}
	IdleTimeoutSeconds *int32 `json:"idleTimeoutSeconds,omitempty"`

	// verbosity is the log level of memcached: 0 logs errors only, 1 also
	// warnings, 2 also client commands and responses, keys included, 3 also
	// internal state transitions. Defaults to 0.
	// +optional
	// +kubebuilder:validation:Minimum=0
	// +kubebuilder:validation:Maximum=3
	// +operator-sdk:csv:customresourcedefinitions:type=spec,displayName="Verbosity",xDescriptors={"urn:alm:descriptor:com.tectonic.ui:number"}
	Verbosity *int32 `json:"verbosity,omitempty"`

	// extraArgs are additional tuning options of memcached, as --name,
	// --name=value, --extended=name or --extended=name=value, at most 16. Only the
	// long options in docs/reference/extra-args.md are accepted; none of them can
	// open a port, enable UDP, change the user, access a file or contain a secret.
	// Options that have a field of their own are set by that field. Defaults to
	// none.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=16
	// +operator-sdk:csv:customresourcedefinitions:type=spec,displayName="Extra arguments",xDescriptors={"urn:alm:descriptor:com.tectonic.ui:advanced"}
	ExtraArgs []ExtraArg `json:"extraArgs,omitempty"`

	// imagePullPolicy is the image pull policy of the memcached container: Always,
	// IfNotPresent or Never. Defaults to Always for the tag latest and to
	// IfNotPresent otherwise.
	// +optional
	// +kubebuilder:validation:Enum=Always;IfNotPresent;Never
	// +operator-sdk:csv:customresourcedefinitions:type=spec,displayName="Image pull policy",xDescriptors={"urn:alm:descriptor:com.tectonic.ui:imagePullPolicy"}
	ImagePullPolicy *corev1.PullPolicy `json:"imagePullPolicy,omitempty"`

	// imagePullSecrets are references to Secrets with registry credentials, in the
	// namespace of the Memcached, at most 8. The author of the Memcached needs
	// permission to read them. Defaults to none.
	// +optional
	// +listType=map
	// +listMapKey=name
	// +kubebuilder:validation:MaxItems=8
	// +operator-sdk:csv:customresourcedefinitions:type=spec,displayName="Image pull secrets",xDescriptors={"urn:alm:descriptor:com.tectonic.ui:advanced"}
	ImagePullSecrets []SecretReference `json:"imagePullSecrets,omitempty"`

	// resources are the resource requests and limits of the memcached container.
	// They replace the default completely. The memory limit must be at least 1.1
	// times memory, because otherwise the container would be OOM-killed when the
	// cache is full. Defaults to the memory that memcached takes with memory,
	// maxConnections, threads, tls and flash, and to a CPU request of 50m.
	// +optional
	// +operator-sdk:csv:customresourcedefinitions:type=spec,displayName="Resources",xDescriptors={"urn:alm:descriptor:com.tectonic.ui:resourceRequirements"}
	Resources *Resources `json:"resources,omitempty"`

	// nodeSelector selects the nodes of the pods by their labels, at most 16
	// labels with 2048 characters. Defaults to none.
	// +optional
	// +mapType=atomic
	// +kubebuilder:validation:MaxProperties=16
	// +kubebuilder:validation:XValidation:rule="self.all(key, key.matches('^([a-z0-9]+((-+|[.])[a-z0-9]+)*/)?[A-Za-z0-9]([-A-Za-z0-9_.]{0,61}[A-Za-z0-9])?$') && key.indexOf('/') <= 253)",message="each label key must be a qualified name, such as team or example.com/team"
	// +kubebuilder:validation:XValidation:rule="self.map(key, size(key) + size(self[key])).sum() <= 2048",message="keys and values must have at most 2048 characters together; shorten or remove some"
	// +operator-sdk:csv:customresourcedefinitions:type=spec,displayName="Node selector",xDescriptors={"urn:alm:descriptor:com.tectonic.ui:advanced"}
	NodeSelector map[string]LabelValue `json:"nodeSelector,omitempty"`

	// tolerations are the tolerations of the pods, at most 16. Defaults to none.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=16
	// +operator-sdk:csv:customresourcedefinitions:type=spec,displayName="Tolerations",xDescriptors={"urn:alm:descriptor:com.tectonic.ui:advanced"}
	Tolerations []Toleration `json:"tolerations,omitempty"`

	// affinity is the affinity of the pods, with at most 8 terms in podAffinity
	// and podAntiAffinity together. It replaces the default completely. Defaults
	// to a preference for zones without a pod of this Memcached.
	// +optional
	// +operator-sdk:csv:customresourcedefinitions:type=spec,displayName="Affinity",xDescriptors={"urn:alm:descriptor:com.tectonic.ui:advanced"}
	Affinity *Affinity `json:"affinity,omitempty"`

	// topologySpreadConstraints are the topology spread constraints of the pods,
	// at most 4. They replace the default completely. Each one needs a
	// labelSelector with matchLabels app: memcached and memcached_cr: <name of the
	// Memcached>. Defaults to spreading over hosts where possible.
	// +optional
	// +listType=map
	// +listMapKey=topologyKey
	// +listMapKey=whenUnsatisfiable
	// +kubebuilder:validation:MaxItems=4
	// +operator-sdk:csv:customresourcedefinitions:type=spec,displayName="Topology spread constraints",xDescriptors={"urn:alm:descriptor:com.tectonic.ui:advanced"}
	TopologySpreadConstraints []TopologySpreadConstraint `json:"topologySpreadConstraints,omitempty"`

	// priorityClassName is the PriorityClass of the pods. Defaults to the
	// cluster's default PriorityClass.
	// +optional
	// +operator-sdk:csv:customresourcedefinitions:type=spec,displayName="Priority class",xDescriptors={"urn:alm:descriptor:com.tectonic.ui:advanced"}
	PriorityClassName *ObjectName `json:"priorityClassName,omitempty"`

	// serviceAccountName is the ServiceAccount of the pods, for its image pull
	// secrets or for policies; its token is not mounted. The author of the
	// Memcached needs permission to create Deployments. Defaults to the
	// ServiceAccount default of the namespace.
	// +optional
	// +operator-sdk:csv:customresourcedefinitions:type=spec,displayName="Service account",xDescriptors={"urn:alm:descriptor:io.kubernetes:ServiceAccount"}
	ServiceAccountName *ObjectName `json:"serviceAccountName,omitempty"`

	// terminationGracePeriodSeconds is the time in seconds in which a pod has to
	// stop, preStop included, before it is killed: 0 to 3600. Defaults to 30.
	// +optional
	// +kubebuilder:validation:Minimum=0
	// +kubebuilder:validation:Maximum=3600
	// +operator-sdk:csv:customresourcedefinitions:type=spec,displayName="Termination grace period",xDescriptors={"urn:alm:descriptor:com.tectonic.ui:number"}
	TerminationGracePeriodSeconds *int64 `json:"terminationGracePeriodSeconds,omitempty"`

	// minReadySeconds is the time in seconds for which a new pod must be ready
	// before the rollout continues: 0 to 540, less than the progress deadline of
	// 600. A longer time lets the new pod fill its cache. Defaults to 0. With
	// proxy it is at least 7: until then a proxy may not find the pod.
	// +optional
	// +kubebuilder:validation:Minimum=0
	// +kubebuilder:validation:Maximum=540
	// +operator-sdk:csv:customresourcedefinitions:type=spec,displayName="Minimum ready time",xDescriptors={"urn:alm:descriptor:com.tectonic.ui:number"}
	MinReadySeconds *int32 `json:"minReadySeconds,omitempty"`

	// rollout limits how many pods a rollout replaces at a time. Defaults to one:
	// a new pod is created first, and an old one is deleted after the new one has
	// been ready for minReadySeconds.
	// +optional
	// +operator-sdk:csv:customresourcedefinitions:type=spec,displayName="Roll-out",xDescriptors={"urn:alm:descriptor:com.tectonic.ui:advanced"}
	Rollout *Rollout `json:"rollout,omitempty"`

	// preStop delays the termination of a pod, which has left the Service by then,
	// so that clients can resolve it again. Defaults to 7 seconds, and to no delay
	// if terminationGracePeriodSeconds is 7 or less.
	// +optional
	// +operator-sdk:csv:customresourcedefinitions:type=spec,displayName="Before the stop",xDescriptors={"urn:alm:descriptor:com.tectonic.ui:advanced"}
	PreStop *PreStop `json:"preStop,omitempty"`

	// warmRestart keeps the cache of a pod when its containers are restarted or
	// their images change: memcached writes down where its items are when it
	// stops, and finds them at its start. A change of image replaces no pods then.
	// It needs a memory of 256Mi or more. The cache is lost where the pod is, or
	// where memcached ends by a crash or for lack of memory. Set {}. Defaults to a
	// cache that ends with its container.
	// +optional
	// +operator-sdk:csv:customresourcedefinitions:type=spec,displayName="Warm restart",xDescriptors={"urn:alm:descriptor:com.tectonic.ui:advanced"}
	WarmRestart *WarmRestart `json:"warmRestart,omitempty"`

	// service holds additional metadata of the headless Service, and enables a
	// second Service. Defaults to a headless Service only.
	// +optional
	// +operator-sdk:csv:customresourcedefinitions:type=spec,displayName="Service",xDescriptors={"urn:alm:descriptor:com.tectonic.ui:advanced"}
	Service *Service `json:"service,omitempty"`

	// stableNames adds a second headless Service, <name>-nodes, with a name for
	// each pod: <name>-0 to <name>-<size - 1>. The pod that replaces another one
	// takes over its name, so that clients which hash keys by the names of the
	// servers find each key where it was. status.servers lists the names. To set
	// it or to remove it replaces no pod. Set {}. Defaults to none.
	// +optional
	// +operator-sdk:csv:customresourcedefinitions:type=spec,displayName="Stable names",xDescriptors={"urn:alm:descriptor:com.tectonic.ui:advanced"}
	StableNames *StableNames `json:"stableNames,omitempty"`

	// proxy adds proxies behind one address, <name>-proxy: clients connect to it
	// as to a single memcached, and need no list of servers and no hashing. Each
	// key is on one memcached pod; while that is down, another one stands in for
	// it. The memcached pods get stable names. Set {} for its defaults. It cannot
	// be combined with auth; with tls it needs tls.plaintextPort. Defaults to
	// none.
	// +optional
	// +operator-sdk:csv:customresourcedefinitions:type=spec,displayName="Proxy",xDescriptors={"urn:alm:descriptor:com.tectonic.ui:advanced"}
	Proxy *Proxy `json:"proxy,omitempty"`

	// podDisruptionBudget limits how many pods may be evicted at a time, for
	// example by a node drain. Defaults to one.
	// +optional
	// +operator-sdk:csv:customresourcedefinitions:type=spec,displayName="Disruption budget",xDescriptors={"urn:alm:descriptor:com.tectonic.ui:advanced"}
	PodDisruptionBudget *PodDisruptionBudget `json:"podDisruptionBudget,omitempty"`

	// networkPolicy restricts ingress to the pods. Defaults to no NetworkPolicy.
	// +optional
	// +operator-sdk:csv:customresourcedefinitions:type=spec,displayName="Network policy",xDescriptors={"urn:alm:descriptor:com.tectonic.ui:advanced"}
	NetworkPolicy *NetworkPolicy `json:"networkPolicy,omitempty"`

	// tls enables TLS on the port of memcached. The certificate is reloaded when
	// the Secret changes, without losing the cache. It needs memcached 1.6.40 or
	// later. Defaults to plain text.
	// +optional
	// +operator-sdk:csv:customresourcedefinitions:type=spec,displayName="TLS",xDescriptors={"urn:alm:descriptor:com.tectonic.ui:advanced"}
	TLS *TLS `json:"tls,omitempty"`

	// auth requires clients to authenticate with a user name and a password, which
	// are reloaded when the Secret changes, without losing the cache. With metrics
	// the exporter logs in as the first user. Defaults to none.
	// +optional
	// +operator-sdk:csv:customresourcedefinitions:type=spec,displayName="Authentication",xDescriptors={"urn:alm:descriptor:com.tectonic.ui:advanced"}
	Auth *Auth `json:"auth,omitempty"`

	// metrics adds a Prometheus exporter to each pod, on the port named metrics.
	// Set {} for its defaults. Defaults to none.
	// +optional
	// +operator-sdk:csv:customresourcedefinitions:type=spec,displayName="Metrics",xDescriptors={"urn:alm:descriptor:com.tectonic.ui:advanced"}
	Metrics *Metrics `json:"metrics,omitempty"`

	// paused stops the operator from writing the objects of this Memcached while
	// it is true. The status is still updated, and deleting the Memcached still
	// deletes its objects. Defaults to false.
	// +optional
	// +operator-sdk:csv:customresourcedefinitions:type=spec,displayName="Paused",xDescriptors={"urn:alm:descriptor:com.tectonic.ui:booleanSwitch"}
	Paused *bool `json:"paused,omitempty"`

	// parameters are values for additions to the operator's templates, by the
	// names that its administrator declared: at most 32, with at most 8192
	// characters together. Defaults to none.
	// +optional
	// +operator-sdk:csv:customresourcedefinitions:type=spec,displayName="Parameters",xDescriptors={"urn:alm:descriptor:com.tectonic.ui:advanced"}
	Parameters Parameters `json:"parameters,omitempty"`

	// patches are kustomize patches for the objects of this Memcached, at most 8
	// with 32768 characters together. They are applied in order after all other
	// fields, for settings without a field, such as sidecars, volumes and init
	// containers. They cannot change kinds, names, namespaces, owner references,
	// selectors or the labels of the operator, and they cannot add or remove
	// objects. The author of the Memcached needs permission to create Deployments
	// and objects of the patched kinds. Defaults to none.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=8
	// +kubebuilder:validation:XValidation:rule="self.map(p, size(p.patch)).sum() <= 32768",message="patches must have at most 32768 characters together; shorten or remove some"
	// +operator-sdk:csv:customresourcedefinitions:type=spec,displayName="Patches",xDescriptors={"urn:alm:descriptor:com.tectonic.ui:advanced"}
	Patches []Patch `json:"patches,omitempty"`
}
