// SPDX-License-Identifier: Apache-2.0

package status

import (
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

// oneMissing is a roll-out in which one pod of three is not ready.
var oneMissing = counted(3, 3, 2, 2)

var rollouts = map[string]row{
	"pods that are made are counted": {
		all(counted(1, 1, 0, 0), unavailable), reconciling, "RollingOut", "1 of 3 pods are up to date, 0 ready", false,
	},
	"pods that are replaced are counted": {
		counted(4, 2, 3, 3), reconciling, "RollingOut", "2 of 3 pods are up to date, 3 ready", true,
	},
	"pods that are ready but not for long enough are said to wait": {
		counted(3, 3, 3, 1), reconciling, "RollingOut", "3 of 3 pods are up to date, 3 ready; each counts once it has been ready for 5 s", true,
	},
	"a pod too many is a roll-out": {
		counted(4, 3, 4, 4), reconciling, "RollingOut", "3 of 3 pods are up to date, 4 ready", true,
	},
	"a Deployment that its controller has not looked at is a roll-out": {
		func(o *Observation) { o.Deployment.Generation++ }, reconciling, "RollingOut", "3 of 3 pods are up to date, 3 ready", true,
	},
	"a new Deployment is a roll-out": {
		newDeployment, reconciling, "RollingOut", "0 of 3 pods are up to date, 0 ready", false,
	},
	"no size means one pod": {
		func(o *Observation) { o.Deployment.Spec.Replicas = nil; counted(1, 1, 1, 1)(o) }, ready, "Ready", "all pods are up to date and ready", true,
	},

	"pods that are removed are counted no further than those that are asked for": {
		counted(5, 5, 5, 5), reconciling, "RollingOut", "3 of 3 pods are up to date, 5 ready", true,
	},
	"the Deployment's own number of replicas counts": {
		func(o *Observation) { o.Deployment.Spec.Replicas = new(int32(2)); counted(2, 2, 2, 2)(o) }, ready, "Ready", "all pods are up to date and ready", true,
	},

	"a new Deployment of size 0 is ready at once": {
		all(size0, newDeployment), ready, "Ready", "scaled to zero", false,
	},
	"a Deployment without pods is ready at size 0": {
		all(size0, noPods, counted(0, 0, 0, 0)), ready, "Ready", "scaled to zero", false,
	},
	"size 0 is not reached while the Deployment counts pods": {
		all(size0, noPods, counted(1, 1, 1, 1)), reconciling, "RollingOut", "scaling to zero", false,
	},
	"size 0 is not reached while pods remain": {
		all(size0, counted(0, 0, 0, 0)), reconciling, "RollingOut", "scaling to zero", false,
	},
	"size 0 is reached while the last pods terminate": {
		all(size0, counted(0, 0, 0, 0), podIs("cache-a", terminating), podIs("cache-b", terminating), podIs("cache-c", terminating)),
		ready, "Ready", "scaled to zero", false,
	},

	"size 0 is reached when the pods that are left have ended": {
		all(size0, counted(0, 0, 0, 0), podIs("cache-a", ended(corev1.PodFailed)), podIs("cache-b", ended(corev1.PodSucceeded)), podIs("cache-c", terminating)),
		ready, "Ready", "scaled to zero", false,
	},
	"an evicted pod does not speak": {
		all(oneMissing, waits("cache-a", "ErrImagePull", "x"), podIs("cache-a", ended(corev1.PodFailed))),
		reconciling, "RollingOut", "3 of 3 pods are up to date, 2 ready", true,
	},

	"a quota stops the pods, in the server's words": {
		all(counted(2, 2, 2, 2), deploymentSays("ReplicaFailure", corev1.ConditionTrue, "FailedCreate", quotaWords)),
		reconciling, "FailedCreate", quotaWords, true,
	},
	"Pod Security stops the pods, in the server's words": {
		all(counted(0, 0, 0, 0), unavailable, noPods, deploymentSays("ReplicaFailure", corev1.ConditionTrue, "FailedCreate", psaWords)),
		reconciling, "FailedCreate", psaWords, false,
	},
	"a failure without a reason is one to create": {
		deploymentSays("ReplicaFailure", corev1.ConditionTrue, "", "why not"), reconciling, "FailedCreate", "why not", true,
	},
	"a failure that is over counts for nothing": {
		deploymentSays("ReplicaFailure", corev1.ConditionFalse, "FailedCreate", quotaWords), ready, "Ready", "all pods are up to date and ready", true,
	},
	"the deadline passed and no pod says why": {
		all(counted(3, 1, 2, 2), deadlinePassed), stalled, "ProgressDeadlineExceeded",
		"the roll-out has made no progress within its deadline: 1 of 3 pods are up to date, 2 ready", true,
	},
	"the deadline of an earlier generation counts for nothing": {
		all(counted(3, 1, 2, 2), deadlinePassed, func(o *Observation) { o.Deployment.Generation++ }),
		reconciling, "RollingOut", "1 of 3 pods are up to date, 2 ready", true,
	},
	"the deadline passed and a pod says why": {
		all(oneMissing, deadlinePassed, waits("cache-a", "ImagePullBackOff", pullWords)),
		stalled, "ImagePullBackOff", "pod cache-a: " + pullWords, true,
	},

	"an image cannot be pulled": {
		all(oneMissing, waits("cache-a", "ImagePullBackOff", pullWords)), reconciling, "ImagePullBackOff", "pod cache-a: " + pullWords, true,
	},
	"of several pods the first by name speaks": {
		all(oneMissing, waits("cache-c", "ErrImagePull", "third"), waits("cache-b", "ErrImagePull", "second")),
		reconciling, "ErrImagePull", "pod cache-b: second", true,
	},
	"a pod that is being deleted does not speak": {
		all(oneMissing, waits("cache-a", "ErrImagePull", "x"), podIs("cache-a", terminating)),
		reconciling, "RollingOut", "3 of 3 pods are up to date, 2 ready", true,
	},
	"a container that is only starting stops nothing": {
		all(oneMissing, waits("cache-a", "ContainerCreating", ""), waits("cache-a", "PodInitializing", ""), waits("cache-a", "", "")),
		reconciling, "RollingOut", "3 of 3 pods are up to date, 2 ready", true,
	},
	"a container that crashes tells its last exit": {
		all(oneMissing, waits("cache-a", "CrashLoopBackOff", crashWords), podIs("cache-a", func(pod *corev1.Pod) {
			pod.Status.ContainerStatuses[0].LastTerminationState.Terminated = &corev1.ContainerStateTerminated{Reason: "OOMKilled", ExitCode: 137}
		})),
		reconciling, "CrashLoopBackOff", "pod cache-a: " + crashWords + " (last exit: OOMKilled, code 137)", true,
	},
	"a last exit without a reason is an error": {
		all(oneMissing, waits("cache-a", "CrashLoopBackOff", crashWords), podIs("cache-a", func(pod *corev1.Pod) {
			pod.Status.ContainerStatuses[0].LastTerminationState.Terminated = &corev1.ContainerStateTerminated{ExitCode: 1}
		})),
		reconciling, "CrashLoopBackOff", "pod cache-a: " + crashWords + " (last exit: Error, code 1)", true,
	},
	"a container that waits without a message is named by its reason": {
		all(oneMissing, waits("cache-a", "CreateContainerConfigError", "")),
		reconciling, "CreateContainerConfigError", "pod cache-a: CreateContainerConfigError", true,
	},
	"an init container speaks before the others": {
		all(oneMissing, waits("cache-a", "PodInitializing", ""), podIs("cache-a", func(pod *corev1.Pod) {
			pod.Status.InitContainerStatuses = []corev1.ContainerStatus{{State: corev1.ContainerState{Waiting: &corev1.ContainerStateWaiting{Reason: "ErrImagePull", Message: "no such image"}}}}
		})),
		reconciling, "ErrImagePull", "pod cache-a: no such image", true,
	},
	"no node has room, in the scheduler's words": {
		all(oneMissing, podIs("cache-a", func(pod *corev1.Pod) {
			pod.Status.Conditions = []corev1.PodCondition{{Type: corev1.PodScheduled, Status: corev1.ConditionFalse, Reason: "Unschedulable", Message: nodeWords}}
		})),
		reconciling, "Unschedulable", "pod cache-a: " + nodeWords, true,
	},
	"a pod that the scheduler has not looked at stops nothing": {
		all(oneMissing, podIs("cache-a", func(pod *corev1.Pod) {
			pod.Status.Conditions = []corev1.PodCondition{{Type: corev1.PodScheduled, Status: corev1.ConditionUnknown}}
		})),
		reconciling, "RollingOut", "3 of 3 pods are up to date, 2 ready", true,
	},
	"a reason that the API would not take moves into the message": {
		all(oneMissing, waits("cache-a", "no such image!", "pull failed")),
		reconciling, "RollingOut", "no such image!: pod cache-a: pull failed", true,
	},
}

func TestRollOuts(t *testing.T) { testVerdicts(t, rollouts) }

func TestAtSize0TheDeploymentControllersFirstStatusChangesNothing(t *testing.T) {
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
