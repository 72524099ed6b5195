// SPDX-License-Identifier: Apache-2.0

package v1alpha1

import metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

// LabelSelector selects objects by their labels, as in meta/v1; an empty
// selector selects all objects. It has at most 512 characters.
// +structType=atomic
// +kubebuilder:validation:XValidation:rule="(has(self.matchLabels) ? self.matchLabels.map(key, size(key) + size(self.matchLabels[key])).sum() : 0) + (has(self.matchExpressions) ? self.matchExpressions.map(e, size(e.key) + (has(e.values) ? e.values.map(v, size(v)).sum() : 0)).sum() : 0) <= 512",message="keys and values must have at most 512 characters together; shorten or remove some"
type LabelSelector struct {
	// matchLabels are labels that an object must have, at most 8.
	// +optional
	// +kubebuilder:validation:MaxProperties=8
	// +kubebuilder:validation:XValidation:rule="self.all(key, key.matches('^([a-z0-9]+((-+|[.])[a-z0-9]+)*/)?[A-Za-z0-9]([-A-Za-z0-9_.]{0,61}[A-Za-z0-9])?$') && key.indexOf('/') <= 253)",message="each label key must be a qualified name, such as team or example.com/team"
	MatchLabels map[string]LabelValue `json:"matchLabels,omitempty"`

	// matchExpressions are requirements on labels, at most 4; an object must meet
	// all of them.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=4
	MatchExpressions []LabelSelectorRequirement `json:"matchExpressions,omitempty"`
}

// LabelSelectorRequirement is a requirement on one label.
// +kubebuilder:validation:XValidation:rule="self.operator in ['In', 'NotIn'] ? has(self.values) && size(self.values) > 0 : !has(self.values) || size(self.values) == 0",message="In and NotIn need values; Exists and DoesNotExist take none"
type LabelSelectorRequirement struct {
	// key is the key of the label.
	// +required
	Key LabelKey `json:"key"`

	// operator is In, NotIn, Exists or DoesNotExist.
	// +required
	// +kubebuilder:validation:Enum=In;NotIn;Exists;DoesNotExist
	Operator metav1.LabelSelectorOperator `json:"operator"`

	// values are the values for In and NotIn, at most 8.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=8
	Values []LabelValue `json:"values,omitempty"`
}
