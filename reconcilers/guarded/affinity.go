// SPDX-License-Identifier: Apache-2.0

package guarded

import (
	"slices"

	corev1 "k8s.io/api/core/v1"
)

// reachesOthers reports whether a term may select pods other than those of the Memcached
// called name. Preferred terms count as well: the scheduler honours both, and
// anti-affinity in both directions, so that a term keeps the selected pods away too.
func reachesOthers(name string, required []corev1.PodAffinityTerm, preferred []corev1.WeightedPodAffinityTerm) bool {
	return slices.ContainsFunc(required, func(t corev1.PodAffinityTerm) bool { return !selectsOwnPods(t, name) }) ||
		slices.ContainsFunc(preferred, func(p corev1.WeightedPodAffinityTerm) bool { return !selectsOwnPods(p.PodAffinityTerm, name) })
}

// selectsOwnPods reports whether a term selects pods of the Memcached called name only:
// by its two labels, which no other pod of the operator has, in its own namespace.
// Whatever else a selector holds narrows it down. Expressions that come to the same are
// not recognised.
func selectsOwnPods(term corev1.PodAffinityTerm, name string) bool {
	return len(term.Namespaces) == 0 && term.NamespaceSelector == nil && term.LabelSelector != nil &&
		term.LabelSelector.MatchLabels["app"] == "memcached" && term.LabelSelector.MatchLabels["memcached_cr"] == name
}
