// SPDX-License-Identifier: Apache-2.0

package v1alpha1

import (
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
)

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
