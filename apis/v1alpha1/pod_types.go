// SPDX-License-Identifier: Apache-2.0

package v1alpha1

import (
	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/apimachinery/pkg/util/intstr"
)

// ExtraArg is one additional option of memcached.
// +kubebuilder:validation:MaxLength=128
// +kubebuilder:validation:XValidation:rule="!self.startsWith('--extended=') ? self.matches('^--(disable-(evictions|cas|flush-all|dumping|watch)|enable-largepages|protocol=ascii|slab-growth-factor=(1[.][0-9]{0,3}[1-9]|[2-9]([.][0-9]{1,4})?)|(slab-min-size|max-reqs-per-event|listen-backlog)=[1-9][0-9]{0,9})$') : self.matches('^--extended=(hashpower=(1[6-9]|2[0-9]|3[0-2])|tail_repair_time=[1-9][0-9]{1,8}|lru_crawler_sleep=[0-9]{1,6}|(lru_crawler_tocrawl|temporary_ttl|slab_automove_window|(watcher|worker)_logbuf_size)=[1-9][0-9]{0,9}|(hot|warm)_lru_pct=([1-9]|[1-7][0-9])|((hot|warm)_max_factor|slab_automove_(free)?ratio)=[0-9]{1,4}([.][0-9]{1,4})?|hash_algorithm=(murmur3|jenkins|xxh3)|(no_)?(lru_crawler|lru_maintainer|slab_reassign|slab_automove|maxconns_fast)|slab_automove=[0-2]|no_hashexpand|track_sizes|modern)$')",message="extraArgs takes options for tuning only, as --name, --name=value, --extended=name or --extended=name=value (docs/reference/extra-args.md lists them): others could open a port, turn on UDP, change the user, touch a file or show a secret, or have a field of their own"
type ExtraArg string

// SecretReference refers to a Secret in the namespace of the Memcached.
// +structType=atomic
type SecretReference struct {
	// name is the name of the Secret.
	// +required
	Name ObjectName `json:"name"`
}

// PodMetadata holds additional labels and annotations of the pods.
type PodMetadata struct {
	// labels are additional labels of the pods, at most 16 with 2048 characters
	// together. The labels of the operator (app, memcached_cr, pod-template-hash
	// and app.kubernetes.io/…) are reserved, because selectors use them.
	// +optional
	// +operator-sdk:csv:customresourcedefinitions:type=spec,displayName="Pod labels",xDescriptors={"urn:alm:descriptor:com.tectonic.ui:advanced"}
	Labels Labels `json:"labels,omitempty"`

	// annotations are additional annotations of the pods, at most 16 with 8192
	// characters together and 4096 characters in each value.
	// +optional
	// +operator-sdk:csv:customresourcedefinitions:type=spec,displayName="Pod annotations",xDescriptors={"urn:alm:descriptor:com.tectonic.ui:advanced"}
	Annotations Annotations `json:"annotations,omitempty"`
}

// PreStop delays the termination of a pod.
type PreStop struct {
	// sleepSeconds is the time in seconds for which a terminating pod still serves
	// clients, so that they can notice its removal: 1 to 3599, less than
	// terminationGracePeriodSeconds.
	// +required
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=3599
	// +operator-sdk:csv:customresourcedefinitions:type=spec,displayName="Sleep",xDescriptors={"urn:alm:descriptor:com.tectonic.ui:number"}
	SleepSeconds int32 `json:"sleepSeconds"`
}

// WarmRestart keeps the cache of a pod when its containers are restarted or
// their images change. It has no fields yet.
type WarmRestart struct{}

// Flash is room for values on disk.
type Flash struct {
	// size is the size of the volume of one pod: 1Gi to 16Ti, of which values take
	// 90 %. Without storageClassName it is on the disk of the node, and the pod
	// requests that much ephemeral storage, unless resources is set.
	// +required
	// +kubebuilder:validation:Schemaless
	// +kubebuilder:validation:XIntOrString
	// +kubebuilder:validation:MaxLength=24
	// +kubebuilder:validation:XValidation:rule="string(self).matches('^[0-9]+([.][0-9]+)?(m|[kMGTP]|[KMGTP]i)?$') && quantity(string(self)).compareTo(quantity('1Gi')) >= 0 && quantity(string(self)).compareTo(quantity('16Ti')) <= 0",message="flash.size must be between 1Gi and 16Ti, as a number of bytes or with a unit, such as 20Gi, and without an exponent"
	// +operator-sdk:csv:customresourcedefinitions:type=spec,displayName="Size on disk",xDescriptors={"urn:alm:descriptor:com.tectonic.ui:text"}
	Size resource.Quantity `json:"size"`
	// storageClassName is the StorageClass of a volume for each pod, which is
	// deleted with the pod. It requires the permission to create Deployments.
	// Defaults to none: an emptyDir.
	// +optional
	// +operator-sdk:csv:customresourcedefinitions:type=spec,displayName="Storage class",xDescriptors={"urn:alm:descriptor:io.kubernetes:StorageClass"}
	StorageClassName *ObjectName `json:"storageClassName,omitempty"`
}

// Rollout limits how many pods a rollout replaces at a time.
// +kubebuilder:validation:XValidation:rule="has(self.maxUnavailable) && !(string(self.maxUnavailable) in ['0', '0%']) || !has(self.maxSurge) || !(string(self.maxSurge) in ['0', '0%'])",message="maxSurge 0 needs a maxUnavailable of at least 1: no pod could be replaced otherwise"
type Rollout struct {
	// maxUnavailable is the maximum number of unavailable pods during a rollout: 0
	// to 1000, or 0% to 100% of size, rounded down. Set it to 1, and maxSurge to
	// 0, where no node has room for an additional pod or a required anti-affinity
	// forbids it. Defaults to 0.
	// +optional
	// +kubebuilder:validation:Schemaless
	// +kubebuilder:validation:XIntOrString
	// +kubebuilder:validation:MaxLength=24
	// +kubebuilder:validation:XValidation:rule="type(self) == int ? self >= 0 && self <= 1000 : string(self).matches('^(100|[1-9]?[0-9])%$')",message="maxUnavailable must be a number of pods from 0 to 1000, such as 1, or a percentage from 0% to 100%, such as 25%"
	// +operator-sdk:csv:customresourcedefinitions:type=spec,displayName="Maximum unavailable",xDescriptors={"urn:alm:descriptor:com.tectonic.ui:text"}
	MaxUnavailable *intstr.IntOrString `json:"maxUnavailable,omitempty"`

	// maxSurge is the maximum number of pods above size during a rollout: 0 to
	// 1000, or 0% to 100% of size, rounded up. Defaults to 1.
	// +optional
	// +kubebuilder:validation:Schemaless
	// +kubebuilder:validation:XIntOrString
	// +kubebuilder:validation:MaxLength=24
	// +kubebuilder:validation:XValidation:rule="type(self) == int ? self >= 0 && self <= 1000 : string(self).matches('^(100|[1-9]?[0-9])%$')",message="maxSurge must be a number of pods from 0 to 1000, such as 1, or a percentage from 0% to 100%, such as 25%"
	// +operator-sdk:csv:customresourcedefinitions:type=spec,displayName="Maximum surge",xDescriptors={"urn:alm:descriptor:com.tectonic.ui:text"}
	MaxSurge *intstr.IntOrString `json:"maxSurge,omitempty"`
}

// PodDisruptionBudget limits how many pods may be evicted at a time.
// +kubebuilder:validation:XValidation:rule="!has(self.none) || !has(self.maxUnavailable)",message="none leaves no budget for maxUnavailable; remove one of the two"
type PodDisruptionBudget struct {
	// maxUnavailable is the maximum number of pods that evictions may make
	// unavailable: 0 to 1000, or 0% to 100% of size. Defaults to 1.
	// +optional
	// +kubebuilder:validation:Schemaless
	// +kubebuilder:validation:XIntOrString
	// +kubebuilder:validation:MaxLength=24
	// +kubebuilder:validation:XValidation:rule="type(self) == int ? self >= 0 && self <= 1000 : string(self).matches('^(100|[1-9]?[0-9])%$')",message="maxUnavailable must be a number of pods from 0 to 1000, such as 1, or a percentage from 0% to 100%, such as 25%"
	// +operator-sdk:csv:customresourcedefinitions:type=spec,displayName="Maximum unavailable",xDescriptors={"urn:alm:descriptor:com.tectonic.ui:text"}
	MaxUnavailable *intstr.IntOrString `json:"maxUnavailable,omitempty"`

	// none asks for no PodDisruptionBudget, so that a drain may evict all pods at
	// once. Set {}. It excludes maxUnavailable.
	// +optional
	// +operator-sdk:csv:customresourcedefinitions:type=spec,displayName="No budget",xDescriptors={"urn:alm:descriptor:com.tectonic.ui:advanced"}
	None *NoBudget `json:"none,omitempty"`
}

// NoBudget stands for no PodDisruptionBudget. It has no fields yet.
type NoBudget struct{}
