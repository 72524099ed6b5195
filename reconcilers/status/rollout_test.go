// SPDX-License-Identifier: Apache-2.0

package status

import (
	"fmt"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
)

const (
	quotaWords = `pods "cache-7d4-x" is forbidden: exceeded quota: small, requested: pods=1, used: pods=2, limited: pods=2`
	psaWords   = `pods "cache-7d4-x" is forbidden: violates PodSecurity "restricted:latest": allowPrivilegeEscalation != false`
	pullWords  = `Back-off pulling image "memcached:typo": ErrImagePull: not found`
	crashWords = "back-off 40s restarting failed container=memcached pod=cache-a_shop(u)"
	nodeWords  = "0/3 nodes are available: 3 Insufficient memory."
)

// oneMissing is a rollout in which one pod of three is not ready.
var oneMissing = counted(3, 3, 2, 2)

var rollouts = map[string]row{
	"counts pods that are created": {
		counted(1, 1, 0, 0), reconciling, "RollingOut", "1 of 3 pods are up to date, 0 ready", false,
	},
	"is available with half of the pods, whatever the Deployment says of its roll-out": {
		all(oneMissing, unavailable), reconciling, "RollingOut", "3 of 3 pods are up to date, 2 ready", true,
	},
	"is not available with fewer": {
		counted(3, 3, 1, 1), reconciling, "RollingOut", "3 of 3 pods are up to date, 1 ready", false,
	},
	"counts pods that are replaced": {
		counted(4, 2, 3, 3), reconciling, "RollingOut", "2 of 3 pods are up to date, 3 ready", true,
	},
	"mentions minReadySeconds while ready pods are not available": {
		counted(3, 3, 3, 1), reconciling, "RollingOut", "3 of 3 pods are up to date, 3 ready; a pod is available once it has been ready for 5 s", true,
	},
	"counts no surplus pod as ready": {
		counted(4, 3, 4, 4), reconciling, "RollingOut", "3 of 3 pods are up to date, 3 ready; surplus pods to remove: 1", true,
	},
	"is rolling out before the controller has observed the Deployment": {
		func(o *Observation) { o.Deployment.Generation++ }, reconciling, "RollingOut", "3 of 3 pods are up to date, 3 ready", true,
	},
	"is rolling out with a new Deployment": {
		newDeployment, reconciling, "RollingOut", "0 of 3 pods are up to date, 0 ready", false,
	},
	"expects one pod without a size": {
		func(o *Observation) { o.Deployment.Spec.Replicas = nil; counted(1, 1, 1, 1)(o) }, ready, "Ready", "all pods are up to date and ready", true,
	},

	"counts surplus pods while they are removed": {
		counted(5, 5, 5, 5), reconciling, "RollingOut", "3 of 3 pods are up to date, 3 ready; surplus pods to remove: 2", true,
	},
	"expects the replicas of the Deployment": {
		func(o *Observation) { o.Deployment.Spec.Replicas = new(int32(2)); counted(2, 2, 2, 2)(o) }, ready, "Ready", "all pods are up to date and ready", true,
	},

	"is ready with a new Deployment of size 0": {
		all(size0, newDeployment), ready, "Ready", "scaled to zero", false,
	},
	"is ready at size 0 without pods": {
		all(size0, noPods, counted(0, 0, 0, 0)), ready, "Ready", "scaled to zero", false,
	},
	"is scaling to zero while the Deployment has replicas": {
		all(size0, noPods, counted(1, 1, 1, 1)), reconciling, "RollingOut", "scaling to zero", false,
	},
	"is scaling to zero while pods exist": {
		all(size0, counted(0, 0, 0, 0)), reconciling, "RollingOut", "scaling to zero", false,
	},
	"is ready at size 0 while the last pods terminate": {
		all(size0, counted(0, 0, 0, 0), podIs("cache-a", terminating), podIs("cache-b", terminating), podIs("cache-c", terminating)),
		ready, "Ready", "scaled to zero", false,
	},

	"is ready at size 0 with failed and succeeded pods": {
		all(size0, counted(0, 0, 0, 0), podIs("cache-a", ended(corev1.PodFailed)), podIs("cache-b", ended(corev1.PodSucceeded)), podIs("cache-c", terminating)),
		ready, "Ready", "scaled to zero", false,
	},
	"ignores an evicted pod": {
		all(oneMissing, waits("cache-a", "ErrImagePull", "x"), podIs("cache-a", ended(corev1.PodFailed))),
		reconciling, "RollingOut", "3 of 3 pods are up to date, 2 ready", true,
	},

	"reports an exceeded quota with the API server's message": {
		all(counted(2, 2, 2, 2), deploymentSays("ReplicaFailure", corev1.ConditionTrue, "FailedCreate", quotaWords)),
		reconciling, "FailedCreate", quotaWords, true,
	},
	"reports a Pod Security violation with the API server's message": {
		all(counted(0, 0, 0, 0), noPods, deploymentSays("ReplicaFailure", corev1.ConditionTrue, "FailedCreate", psaWords)),
		reconciling, "FailedCreate", psaWords, false,
	},
	"reports FailedCreate for a failure without a reason": {
		deploymentSays("ReplicaFailure", corev1.ConditionTrue, "", "why not"), reconciling, "FailedCreate", "why not", true,
	},
	"ignores a failure that has ended": {
		deploymentSays("ReplicaFailure", corev1.ConditionFalse, "FailedCreate", quotaWords), ready, "Ready", "all pods are up to date and ready", true,
	},
	"stalls after the deadline when no pod has a reason": {
		all(counted(3, 1, 2, 2), deadlinePassed), stalled, "ProgressDeadlineExceeded",
		"the rollout has made no progress within its deadline: 1 of 3 pods are up to date, 2 ready", true,
	},
	"ignores the deadline of an earlier generation": {
		all(counted(3, 1, 2, 2), deadlinePassed, func(o *Observation) { o.Deployment.Generation++ }),
		reconciling, "RollingOut", "1 of 3 pods are up to date, 2 ready", true,
	},
	"stalls after the deadline with the reason of a pod": {
		all(oneMissing, deadlinePassed, waits("cache-a", "ImagePullBackOff", pullWords)),
		stalled, "ImagePullBackOff", "pod cache-a: " + pullWords, true,
	},

	"reports an image that cannot be pulled": {
		all(oneMissing, waits("cache-a", "ImagePullBackOff", pullWords)), reconciling, "ImagePullBackOff", "pod cache-a: " + pullWords, true,
	},
	"reports the first pod by name": {
		all(oneMissing, waits("cache-c", "ErrImagePull", "third"), waits("cache-b", "ErrImagePull", "second")),
		reconciling, "ErrImagePull", "pod cache-b: second", true,
	},
	"ignores a pod that is being deleted": {
		all(oneMissing, waits("cache-a", "ErrImagePull", "x"), podIs("cache-a", terminating)),
		reconciling, "RollingOut", "3 of 3 pods are up to date, 2 ready", true,
	},
	"ignores containers that are starting": {
		all(oneMissing, waits("cache-a", "ContainerCreating", ""), waits("cache-a", "PodInitializing", ""), waits("cache-a", "", "")),
		reconciling, "RollingOut", "3 of 3 pods are up to date, 2 ready", true,
	},
	"reports the last exit of a crashing container": {
		all(oneMissing, waits("cache-a", "CrashLoopBackOff", crashWords), podIs("cache-a", func(pod *corev1.Pod) {
			pod.Status.ContainerStatuses[0].LastTerminationState.Terminated = &corev1.ContainerStateTerminated{Reason: "OOMKilled", ExitCode: 137}
		})),
		reconciling, "CrashLoopBackOff", "pod cache-a: " + crashWords + " (last exit: OOMKilled, code 137)", true,
	},
	"tells of a node with two pods more than another": {
		onNodes("b", "a", "b", "b"), ready, "Ready", "all pods are up to date and ready; 3 of 4 pods run on node b", true,
	},
	"tells of a node with all pods": {
		onNodes("a", "a"), ready, "Ready", "all pods are up to date and ready; 2 of 2 pods run on node a", true,
	},
	"tells of no node with one pod more than another": {onNodes("a", "b", "a"), ready, "Ready", "all pods are up to date and ready", true},
	"tells of no node with the only pod":              {onNodes("a"), ready, "Ready", "all pods are up to date and ready", true},
	"tells of no node during a roll-out":              {all(onNodes("a", "a", "a"), counted(4, 3, 4, 4)), reconciling, "RollingOut", "3 of 3 pods are up to date, 3 ready; surplus pods to remove: 1", true},
	"tells of the last restart of a pod that runs again": {
		all(restarted("cache-b", 9, "Error", 139), restarted("cache-a", 2, "OOMKilled", 137), restarted("cache-c", 5, "", 1)),
		ready, "Ready", "all pods are up to date and ready; memcached in pod cache-a was restarted at 2026-03-01T11:58:00Z (OOMKilled, exit code 137) and lost its part of the cache", true,
	},
	"tells of no restart that kept the cache": {
		all(warm, restarted("cache-b", 2, "Completed", 0)), ready, "Ready", "all pods are up to date and ready", true,
	},
	"tells of a restart that lost it": {
		all(warm, restarted("cache-b", 2, "Completed", 0), restarted("cache-a", 3, "OOMKilled", 137)),
		ready, "Ready", "all pods are up to date and ready; memcached in pod cache-a was restarted at 2026-03-01T11:57:00Z (OOMKilled, exit code 137) and lost its part of the cache", true,
	},
	"reports a last exit without a reason as an error": {
		all(oneMissing, waits("cache-a", "CrashLoopBackOff", crashWords), podIs("cache-a", func(pod *corev1.Pod) {
			pod.Status.ContainerStatuses[0].LastTerminationState.Terminated = &corev1.ContainerStateTerminated{ExitCode: 1}
		})),
		reconciling, "CrashLoopBackOff", "pod cache-a: " + crashWords + " (last exit: Error, code 1)", true,
	},
	"reports the reason of a container without a message": {
		all(oneMissing, waits("cache-a", "CreateContainerConfigError", "")),
		reconciling, "CreateContainerConfigError", "pod cache-a: CreateContainerConfigError", true,
	},
	"reports init containers first": {
		all(oneMissing, waits("cache-a", "PodInitializing", ""), podIs("cache-a", func(pod *corev1.Pod) {
			pod.Status.InitContainerStatuses = []corev1.ContainerStatus{{State: corev1.ContainerState{Waiting: &corev1.ContainerStateWaiting{Reason: "ErrImagePull", Message: "no such image"}}}}
		})),
		reconciling, "ErrImagePull", "pod cache-a: no such image", true,
	},
	"reports an unschedulable pod with the scheduler's message": {
		all(oneMissing, podIs("cache-a", func(pod *corev1.Pod) {
			pod.Status.Conditions = []corev1.PodCondition{{Type: corev1.PodScheduled, Status: corev1.ConditionFalse, Reason: "Unschedulable", Message: nodeWords}}
		})),
		reconciling, "Unschedulable", "pod cache-a: " + nodeWords, true,
	},
	"waits for volumes and network for 10 s": {
		all(oneMissing, notStarted("cache-a", 9)), reconciling, "RollingOut", "3 of 3 pods are up to date, 2 ready", true,
	},
	"names the Secrets of a pod whose volumes are not ready": {
		all(oneMissing, notStarted("cache-a", 10), withSecrets), reconciling, "VolumesNotReady",
		"pod cache-a: its volumes or its network have not been ready for 10s; it mounts Secret certificate with tls.crt, tls.key and ca.crt and Secret users with auth: create what is missing", true,
	},
	"refers to the pod when no Secret is mounted": {
		all(oneMissing, notStarted("cache-a", 10)), reconciling, "VolumesNotReady",
		"pod cache-a: its volumes or its network have not been ready for 10s; kubectl describe pod has the kubelet's reason", true,
	},
	"names a node that does not answer": {
		all(oneMissing, podIs("cache-a", func(pod *corev1.Pod) {
			pod.Spec.NodeName = "node2"
			pod.Status.Conditions = []corev1.PodCondition{{Type: corev1.PodReady, Status: corev1.ConditionFalse}, {Type: corev1.ContainersReady, Status: corev1.ConditionTrue}}
		})),
		reconciling, "NodeNotReady", "pod cache-a: its node node2 does not answer", true,
	},
	"waits for a readiness gate": {
		all(oneMissing, podIs("cache-a", func(pod *corev1.Pod) {
			pod.Status.Conditions = []corev1.PodCondition{{Type: corev1.PodReady, Status: corev1.ConditionFalse, Reason: "ReadinessGatesNotReady"}, {Type: corev1.ContainersReady, Status: corev1.ConditionTrue}}
		})),
		reconciling, "RollingOut", "3 of 3 pods are up to date, 2 ready", true,
	},
	"ignores a pod that is not scheduled yet": {
		all(oneMissing, podIs("cache-a", func(pod *corev1.Pod) {
			pod.Status.Conditions = []corev1.PodCondition{{Type: corev1.PodScheduled, Status: corev1.ConditionUnknown}}
		})),
		reconciling, "RollingOut", "3 of 3 pods are up to date, 2 ready", true,
	},
	"moves an invalid reason into the message": {
		all(oneMissing, waits("cache-a", "no such image!", "pull failed")),
		reconciling, "RollingOut", "no such image!: pod cache-a: pull failed", true,
	},
}

func TestCompute_Rollouts(t *testing.T) { testRows(t, rollouts) }

func TestCompute_IgnoresFirstStatusOfDeploymentAtSize0(t *testing.T) {
	t.Parallel()
	before := Compute(observed(all(size0, newDeployment)))
	after := observed(all(size0, newDeployment))
	after.Memcached.Status = before
	after.Deployment.Status.ObservedGeneration = 1
	deploymentSays("Available", corev1.ConditionTrue, "MinimumReplicasAvailable", "Deployment has minimum availability.")(&after)
	deploymentSays("Progressing", corev1.ConditionTrue, "NewReplicaSetAvailable", "done")(&after)
	if got := Compute(after); !equality.Semantic.DeepEqual(got, before) {
		t.Errorf("the status changes from\n%+v to\n%+v", before, got)
	}
}

// onNodes has a ready pod on each of nodes.
func onNodes(nodes ...string) given {
	return func(o *Observation) {
		o.Pods = nil
		for i, node := range nodes {
			running := pod(fmt.Sprintf("cache-%d", i))
			running.Spec.NodeName = node
			o.Pods = append(o.Pods, running)
		}
		count := int32(len(nodes))
		o.Deployment.Spec.Replicas = &count
		counted(count, count, count, count)(o)
	}
}
