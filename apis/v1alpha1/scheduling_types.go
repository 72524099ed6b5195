// SPDX-License-Identifier: Apache-2.0

package v1alpha1

import corev1 "k8s.io/api/core/v1"

// Toleration is a toleration, as in core/v1 but with limits.
// +kubebuilder:validation:XValidation:rule="has(self.key) || has(self.operator) && self.operator == 'Exists'",message="a toleration without key must have operator Exists"
// +kubebuilder:validation:XValidation:rule="!has(self.operator) || self.operator != 'Exists' || !has(self.value) || size(self.value) == 0",message="operator Exists takes no value"
// +kubebuilder:validation:XValidation:rule="!has(self.tolerationSeconds) || has(self.effect) && self.effect == 'NoExecute'",message="tolerationSeconds needs effect NoExecute"
type Toleration struct {
	// key is the key of the taint. Defaults to all keys, which needs operator
	// Exists.
	// +optional
	Key LabelKey `json:"key,omitempty"`

	// operator is Exists or Equal. Defaults to Equal.
	// +optional
	// +kubebuilder:validation:Enum=Exists;Equal
	Operator corev1.TolerationOperator `json:"operator,omitempty"`

	// value is the value of the taint, for operator Equal.
	// +optional
	Value LabelValue `json:"value,omitempty"`

	// effect is NoSchedule, PreferNoSchedule or NoExecute. Defaults to all
	// effects.
	// +optional
	// +kubebuilder:validation:Enum=NoSchedule;PreferNoSchedule;NoExecute
	Effect corev1.TaintEffect `json:"effect,omitempty"`

	// tolerationSeconds is the time in seconds for which a taint with effect
	// NoExecute is tolerated: 0 to 31536000. Defaults to no limit.
	// +optional
	// +kubebuilder:validation:Minimum=0
	// +kubebuilder:validation:Maximum=31536000
	TolerationSeconds *int64 `json:"tolerationSeconds,omitempty"`
}

// TopologySpreadConstraint is a topology spread constraint, as in core/v1 but
// with limits.
// +kubebuilder:validation:XValidation:rule="!has(self.minDomains) || self.whenUnsatisfiable == 'DoNotSchedule'",message="minDomains needs whenUnsatisfiable DoNotSchedule"
// +kubebuilder:validation:XValidation:rule="!has(self.matchLabelKeys) || has(self.labelSelector)",message="matchLabelKeys needs labelSelector"
type TopologySpreadConstraint struct {
	// maxSkew is the maximum difference of the number of pods between topologies:
	// 1 to 1000.
	// +required
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=1000
	MaxSkew int32 `json:"maxSkew"`

	// topologyKey is the node label that defines the topology, such as
	// kubernetes.io/hostname.
	// +required
	TopologyKey LabelKey `json:"topologyKey"`

	// whenUnsatisfiable is DoNotSchedule or ScheduleAnyway.
	// +required
	// +kubebuilder:validation:Enum=DoNotSchedule;ScheduleAnyway
	WhenUnsatisfiable corev1.UnsatisfiableConstraintAction `json:"whenUnsatisfiable"`

	// labelSelector selects the pods to count; if it is not set, none are counted.
	// +optional
	LabelSelector *LabelSelector `json:"labelSelector,omitempty"`

	// minDomains is the minimum number of topologies: 1 to 1000.
	// +optional
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=1000
	MinDomains *int32 `json:"minDomains,omitempty"`

	// nodeAffinityPolicy is Honor or Ignore: with Honor, nodes that nodeSelector
	// and affinity exclude are not counted. Defaults to Honor.
	// +optional
	// +kubebuilder:validation:Enum=Honor;Ignore
	NodeAffinityPolicy *corev1.NodeInclusionPolicy `json:"nodeAffinityPolicy,omitempty"`

	// nodeTaintsPolicy is Honor or Ignore: with Honor, nodes with taints that are
	// not tolerated are not counted. Defaults to Ignore.
	// +optional
	// +kubebuilder:validation:Enum=Honor;Ignore
	NodeTaintsPolicy *corev1.NodeInclusionPolicy `json:"nodeTaintsPolicy,omitempty"`

	// matchLabelKeys are keys of labels whose values must be equal to those of the
	// pod to be scheduled, at most 4.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=4
	MatchLabelKeys []LabelKey `json:"matchLabelKeys,omitempty"`
}
