// SPDX-License-Identifier: Apache-2.0

package v1alpha1

import corev1 "k8s.io/api/core/v1"

// Affinity is the affinity of the pods, as in core/v1 but with limits.
// +kubebuilder:validation:XValidation:rule="(has(self.podAffinity) && has(self.podAffinity.requiredDuringSchedulingIgnoredDuringExecution) ? size(self.podAffinity.requiredDuringSchedulingIgnoredDuringExecution) : 0) + (has(self.podAffinity) && has(self.podAffinity.preferredDuringSchedulingIgnoredDuringExecution) ? size(self.podAffinity.preferredDuringSchedulingIgnoredDuringExecution) : 0) + (has(self.podAntiAffinity) && has(self.podAntiAffinity.requiredDuringSchedulingIgnoredDuringExecution) ? size(self.podAntiAffinity.requiredDuringSchedulingIgnoredDuringExecution) : 0) + (has(self.podAntiAffinity) && has(self.podAntiAffinity.preferredDuringSchedulingIgnoredDuringExecution) ? size(self.podAntiAffinity.preferredDuringSchedulingIgnoredDuringExecution) : 0) <= 8",message="podAffinity and podAntiAffinity may have at most 8 terms together; remove some"
type Affinity struct {
	// nodeAffinity selects nodes for the pods.
	// +optional
	NodeAffinity *NodeAffinity `json:"nodeAffinity,omitempty"`

	// podAffinity schedules the pods near other pods.
	// +optional
	PodAffinity *PodAffinity `json:"podAffinity,omitempty"`

	// podAntiAffinity schedules the pods away from other pods.
	// +optional
	PodAntiAffinity *PodAntiAffinity `json:"podAntiAffinity,omitempty"`
}

// NodeAffinity selects nodes for the pods.
type NodeAffinity struct {
	// requiredDuringSchedulingIgnoredDuringExecution is a selector that a node
	// must match.
	// +optional
	RequiredDuringSchedulingIgnoredDuringExecution *NodeSelector `json:"requiredDuringSchedulingIgnoredDuringExecution,omitempty"`

	// preferredDuringSchedulingIgnoredDuringExecution are preferences, at most 4.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=4
	PreferredDuringSchedulingIgnoredDuringExecution []PreferredSchedulingTerm `json:"preferredDuringSchedulingIgnoredDuringExecution,omitempty"`
}

// NodeSelector selects nodes.
// +structType=atomic
type NodeSelector struct {
	// nodeSelectorTerms are 1 to 4 terms; a node must match one.
	// +required
	// +listType=atomic
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=4
	NodeSelectorTerms []NodeSelectorTerm `json:"nodeSelectorTerms"`
}

// NodeSelectorTerm is a set of requirements, all of which a node must meet. It
// has at most 1024 characters. An empty term matches no node.
// +structType=atomic
// +kubebuilder:validation:XValidation:rule="!has(self.matchExpressions) || self.matchExpressions.map(e, size(e.key) + (has(e.values) ? e.values.map(v, size(v)).sum() : 0)).sum() <= 1024",message="keys and values must have at most 1024 characters together; shorten or remove some"
type NodeSelectorTerm struct {
	// matchExpressions are requirements on labels of the node, at most 8.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=8
	MatchExpressions []NodeSelectorRequirement `json:"matchExpressions,omitempty"`

	// matchFields are requirements on fields of the node, at most 2.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=2
	MatchFields []NodeFieldRequirement `json:"matchFields,omitempty"`
}

// NodeSelectorRequirement is a requirement on one label of a node.
// +kubebuilder:validation:XValidation:rule="self.operator in ['In', 'NotIn'] ? has(self.values) && size(self.values) > 0 : self.operator in ['Gt', 'Lt'] ? has(self.values) && size(self.values) == 1 && self.values[0].matches('^[0-9]{1,18}$') : !has(self.values) || size(self.values) == 0",message="In and NotIn need values; Gt and Lt need one value, a whole number; Exists and DoesNotExist take none"
type NodeSelectorRequirement struct {
	// key is the key of the label.
	// +required
	Key LabelKey `json:"key"`

	// operator is In, NotIn, Exists, DoesNotExist, Gt or Lt.
	// +required
	// +kubebuilder:validation:Enum=In;NotIn;Exists;DoesNotExist;Gt;Lt
	Operator corev1.NodeSelectorOperator `json:"operator"`

	// values are the values for In and NotIn, at most 16, or the one number for Gt
	// and Lt.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=16
	Values []LabelValue `json:"values,omitempty"`
}

// NodeFieldRequirement is a requirement on one field of a node.
type NodeFieldRequirement struct {
	// key is the name of the field; only metadata.name is supported.
	// +required
	// +kubebuilder:validation:Enum=metadata.name
	Key string `json:"key"`

	// operator is In or NotIn.
	// +required
	// +kubebuilder:validation:Enum=In;NotIn
	Operator corev1.NodeSelectorOperator `json:"operator"`

	// values is the name of one node.
	// +required
	// +listType=atomic
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=1
	Values []ObjectName `json:"values"`
}

// PreferredSchedulingTerm is a preference for nodes.
type PreferredSchedulingTerm struct {
	// weight is the weight of the preference: 1 to 100.
	// +required
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=100
	Weight int32 `json:"weight"`

	// preference is the term that a node should match.
	// +required
	Preference NodeSelectorTerm `json:"preference"`
}

// PodAffinity schedules the pods near other pods.
type PodAffinity struct {
	// requiredDuringSchedulingIgnoredDuringExecution are terms that must all be
	// met, at most 4.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=4
	RequiredDuringSchedulingIgnoredDuringExecution []PodAffinityTerm `json:"requiredDuringSchedulingIgnoredDuringExecution,omitempty"`

	// preferredDuringSchedulingIgnoredDuringExecution are preferences, at most 4.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=4
	PreferredDuringSchedulingIgnoredDuringExecution []WeightedPodAffinityTerm `json:"preferredDuringSchedulingIgnoredDuringExecution,omitempty"`
}

// PodAntiAffinity schedules the pods away from other pods.
type PodAntiAffinity struct {
	// requiredDuringSchedulingIgnoredDuringExecution are terms that must all be
	// met, at most 4.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=4
	RequiredDuringSchedulingIgnoredDuringExecution []PodAffinityTerm `json:"requiredDuringSchedulingIgnoredDuringExecution,omitempty"`

	// preferredDuringSchedulingIgnoredDuringExecution are preferences, at most 4.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=4
	PreferredDuringSchedulingIgnoredDuringExecution []WeightedPodAffinityTerm `json:"preferredDuringSchedulingIgnoredDuringExecution,omitempty"`
}

// WeightedPodAffinityTerm is a weighted preference.
type WeightedPodAffinityTerm struct {
	// weight is the weight of the preference: 1 to 100.
	// +required
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=100
	Weight int32 `json:"weight"`

	// podAffinityTerm is the preferred term.
	// +required
	PodAffinityTerm PodAffinityTerm `json:"podAffinityTerm"`
}

// PodAffinityTerm selects pods and the topology in which they are counted. Its
// topologyKey, namespaces, matchLabelKeys and mismatchLabelKeys have at most
// 512 characters together.
// +kubebuilder:validation:XValidation:rule="size(self.topologyKey) + (has(self.namespaces) ? self.namespaces.map(n, size(n)).sum() : 0) + (has(self.matchLabelKeys) ? self.matchLabelKeys.map(k, size(k)).sum() : 0) + (has(self.mismatchLabelKeys) ? self.mismatchLabelKeys.map(k, size(k)).sum() : 0) <= 512",message="topologyKey, namespaces, matchLabelKeys and mismatchLabelKeys must have at most 512 characters together; shorten or remove some"
// +kubebuilder:validation:XValidation:rule="has(self.labelSelector) || !has(self.matchLabelKeys) && !has(self.mismatchLabelKeys)",message="matchLabelKeys and mismatchLabelKeys need labelSelector"
// +kubebuilder:validation:XValidation:rule="!has(self.matchLabelKeys) || !has(self.mismatchLabelKeys) || self.matchLabelKeys.all(key, !(key in self.mismatchLabelKeys))",message="a key must not be in both matchLabelKeys and mismatchLabelKeys"
type PodAffinityTerm struct {
	// labelSelector selects the pods; if it is not set, none are selected.
	// +optional
	LabelSelector *LabelSelector `json:"labelSelector,omitempty"`

	// namespaces are the namespaces of the pods, at most 8. If neither namespaces
	// nor namespaceSelector is set, it is the namespace of the Memcached.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=8
	Namespaces []NamespaceName `json:"namespaces,omitempty"`

	// topologyKey is the node label that defines the topology, such as
	// kubernetes.io/hostname.
	// +required
	TopologyKey LabelKey `json:"topologyKey"`

	// namespaceSelector selects the namespaces of the pods; {} selects all.
	// +optional
	NamespaceSelector *LabelSelector `json:"namespaceSelector,omitempty"`

	// matchLabelKeys are keys of labels whose values must be equal to those of the
	// pod to be scheduled, at most 4.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=4
	MatchLabelKeys []LabelKey `json:"matchLabelKeys,omitempty"`

	// mismatchLabelKeys are keys of labels whose values must differ from those of
	// the pod to be scheduled, at most 4.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=4
	MismatchLabelKeys []LabelKey `json:"mismatchLabelKeys,omitempty"`
}
