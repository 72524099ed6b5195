// SPDX-License-Identifier: Apache-2.0

package v1alpha1

import corev1 "k8s.io/api/core/v1"

// Toleration is core's, with bounds.
//
// +kubebuilder:validation:XValidation:rule="has(self.key) || has(self.operator) && self.operator == 'Exists'",message="a toleration without key must have operator Exists"
// +kubebuilder:validation:XValidation:rule="!has(self.operator) || self.operator != 'Exists' || !has(self.value) || size(self.value) == 0",message="operator Exists takes no value"
// +kubebuilder:validation:XValidation:rule="!has(self.tolerationSeconds) || has(self.effect) && self.effect == 'NoExecute'",message="tolerationSeconds needs effect NoExecute"
type Toleration struct {
	// key is the key of the taint. Defaults to all keys, with operator Exists.
	//
	// +optional
	Key LabelKey `json:"key,omitempty"`

	// operator is Exists or Equal. Defaults to Equal.
	//
	// +optional
	// +kubebuilder:validation:Enum=Exists;Equal
	Operator corev1.TolerationOperator `json:"operator,omitempty"`

	// value is the value of the taint, for Equal.
	//
	// +optional
	Value LabelValue `json:"value,omitempty"`

	// effect is NoSchedule, PreferNoSchedule or NoExecute. Defaults to all.
	//
	// +optional
	// +kubebuilder:validation:Enum=NoSchedule;PreferNoSchedule;NoExecute
	Effect corev1.TaintEffect `json:"effect,omitempty"`

	// tolerationSeconds is how long a taint NoExecute is tolerated: 0 to 31536000.
	// Defaults to forever.
	//
	// +optional
	// +kubebuilder:validation:Minimum=0
	// +kubebuilder:validation:Maximum=31536000
	TolerationSeconds *int64 `json:"tolerationSeconds,omitempty"`
}

// TopologySpreadConstraint is core's, with bounds.
//
// +kubebuilder:validation:XValidation:rule="!has(self.minDomains) || self.whenUnsatisfiable == 'DoNotSchedule'",message="minDomains needs whenUnsatisfiable DoNotSchedule"
// +kubebuilder:validation:XValidation:rule="!has(self.matchLabelKeys) || has(self.labelSelector)",message="matchLabelKeys needs labelSelector"
type TopologySpreadConstraint struct {
	// maxSkew is by how many pods topologies may differ: 1 to 1000.
	//
	// +required
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=1000
	MaxSkew int32 `json:"maxSkew"`

	// topologyKey is the label of the nodes whose value is the topology, such as
	// kubernetes.io/hostname.
	//
	// +required
	TopologyKey LabelKey `json:"topologyKey"`

	// whenUnsatisfiable is DoNotSchedule or ScheduleAnyway.
	//
	// +required
	// +kubebuilder:validation:Enum=DoNotSchedule;ScheduleAnyway
	WhenUnsatisfiable corev1.UnsatisfiableConstraintAction `json:"whenUnsatisfiable"`

	// labelSelector selects the pods that are counted; without it none are
	// counted.
	//
	// +optional
	LabelSelector *LabelSelector `json:"labelSelector,omitempty"`

	// minDomains is how many topologies there must be at least: 1 to 1000.
	//
	// +optional
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=1000
	MinDomains *int32 `json:"minDomains,omitempty"`

	// nodeAffinityPolicy is Honor or Ignore: whether nodes that nodeSelector and
	// affinity exclude are left out of the count. Defaults to Honor.
	//
	// +optional
	// +kubebuilder:validation:Enum=Honor;Ignore
	NodeAffinityPolicy *corev1.NodeInclusionPolicy `json:"nodeAffinityPolicy,omitempty"`

	// nodeTaintsPolicy is Honor or Ignore: whether nodes with taints that are not
	// tolerated are left out of the count. Defaults to Ignore.
	//
	// +optional
	// +kubebuilder:validation:Enum=Honor;Ignore
	NodeTaintsPolicy *corev1.NodeInclusionPolicy `json:"nodeTaintsPolicy,omitempty"`

	// matchLabelKeys are labels that must have the same value as on the pod that
	// is scheduled, at most 4.
	//
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=4
	MatchLabelKeys []LabelKey `json:"matchLabelKeys,omitempty"`
}
