// SPDX-License-Identifier: Apache-2.0

package status

import (
	"cmp"
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"

	cachev1alpha1 "github.com/example/memcached-operator/apis/v1alpha1"
)

// podProblem returns the reason and the message with which the kubelet, the scheduler or the node controller explain why
// pod is not running. The reason is empty when there is none.
func podProblem(o Observation, pod corev1.Pod) (reason, message string) {
	for _, c := range pod.Status.Conditions {
		if c.Type == corev1.PodScheduled && c.Status == corev1.ConditionFalse {
			return cmp.Or(c.Reason, corev1.PodReasonUnschedulable), c.Message
		}
		if wait, ok := startsIn(o, c); ok && wait <= 0 {
			return cachev1alpha1.ReasonVolumesNotReady, fmt.Sprintf("its volumes or its network have not been ready for %s%s", startPatience, mounts(o.Memcached))
		}
	}
	for _, container := range slices.Concat(pod.Status.InitContainerStatuses, pod.Status.ContainerStatuses) {
		waiting := container.State.Waiting
		if waiting == nil || waiting.Reason == "" || waiting.Reason == "ContainerCreating" || waiting.Reason == "PodInitializing" {
			continue
		}
		message := cmp.Or(waiting.Message, waiting.Reason)
		if last := container.LastTerminationState.Terminated; last != nil {
			message += fmt.Sprintf(" (last exit: %s, code %d)", cmp.Or(last.Reason, "Error"), last.ExitCode)
		}
		return waiting.Reason, message
	}
	if NodeIsLost(pod.Status.Conditions) {
		return cachev1alpha1.ReasonNodeNotReady, fmt.Sprintf("its node %s does not answer", pod.Spec.NodeName)
	}
	return "", ""
}

// NodeIsLost reports whether conditions of a pod say that its node does not answer. The node controller then takes Ready from the
// pod, and leaves what the kubelet has reported of the containers.
func NodeIsLost(conditions []corev1.PodCondition) bool {
	containersReady := false
	for _, c := range conditions {
		if c.Type == corev1.PodReady && (c.Status == corev1.ConditionTrue || c.Reason != "") { // a reason is that of a readiness gate
			return false
		}
		containersReady = containersReady || c.Type == corev1.ContainersReady && c.Status == corev1.ConditionTrue
	}
	return containersReady
}
