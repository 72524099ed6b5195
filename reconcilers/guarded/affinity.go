// SPDX-License-Identifier: Apache-2.0

package guarded

import (
	"slices"

	cachev1alpha1 "github.com/example/memcached-operator/apis/v1alpha1"
)

// reachesOthers reports whether a term may select pods other than those of the Memcached
// called name. Preferred terms count as well: the scheduler honours both, and
// anti-affinity in both directions, so that a term also keeps the selected pods away.
func reachesOthers(name string, required []cachev1alpha1.PodAffinityTerm, preferred []cachev1alpha1.WeightedPodAffinityTerm) bool {
	return slices.ContainsFunc(required, func(t cachev1alpha1.PodAffinityTerm) bool { return !selectsOwnPods(t, name) }) ||
		slices.ContainsFunc(preferred, func(p cachev1alpha1.WeightedPodAffinityTerm) bool { return !selectsOwnPods(p.PodAffinityTerm, name) })
}

// selectsOwnPods reports whether a term selects pods of the Memcached called name only:
// by its two labels, in its own namespace. Further requirements of a selector only narrow it. Equivalent expressions
// are not recognized.
func selectsOwnPods(term cachev1alpha1.PodAffinityTerm, name string) bool {
	return len(term.Namespaces) == 0 && term.NamespaceSelector == nil && term.LabelSelector != nil &&
		term.LabelSelector.MatchLabels["app"] == "memcached" && term.LabelSelector.MatchLabels["memcached_cr"] == cachev1alpha1.LabelValue(name)
}
