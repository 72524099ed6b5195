// SPDX-License-Identifier: Apache-2.0

package status

import "fmt"

// spreadNote returns which node runs more pods than an even spread would leave there, as after a drain; it is empty when
// there is none. The scheduler spreads new pods and moves none. Nodes without a pod of the Memcached are not known, so a
// single node that runs several pods is named also where the cluster has no other.
func spreadNote(o Observation) string {
	pods, total := map[string]int{}, 0
	for _, pod := range o.Pods {
		if isActive(pod) && pod.Spec.NodeName != "" {
			pods[pod.Spec.NodeName]++
			total++
		}
	}
	fullest, most, least := "", 0, total
	for node, count := range pods {
		if count > most || count == most && node < fullest {
			fullest, most = node, count
		}
		least = min(least, count)
	}
	if len(pods) == 1 {
		least = 0
	}
	if most-least < 2 {
		return ""
	}
	return fmt.Sprintf("%d of %d pods run on node %s", most, total, fullest)
}
