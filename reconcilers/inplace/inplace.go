// SPDX-License-Identifier: Apache-2.0

package inplace

import (
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
)

const (
	// ReplacedAnnotation is on a pod whose images were changed, with the containers that ran before and their images: a pod is ready
	// also until the kubelet has seen the change.
	ReplacedAnnotation = "cache.example.com/replaced-containers"
	// settleTime is for how long a pod is ready before the next one is changed, unless the Deployment's minReadySeconds are more.
	settleTime = 5 * time.Second
	// PollInterval is the delay before ReplicaSets are read again, which are not watched.
	PollInterval = time.Second
)

// Observed is what a Step follows from.
type Observed struct {
	// Deployment is the live one.
	Deployment *appsv1.Deployment
	// Images are those that its pods are to have, by container.
	Images map[string]string
	// ReplicaSets and Pods are those that the labels of the pods select; those of others are ignored.
	ReplicaSets []appsv1.ReplicaSet
	Pods        []corev1.Pod
	Now         time.Time
}

// Step is what to do next. With none of its first four fields set, there is nothing to do but to wait, unless Done is set.
type Step struct {
	// Refused says why the pods have to be replaced.
	Refused string
	// Pause reports that the Deployment has to be paused.
	Pause bool
	// Pod is the pod whose images are to be changed, and ReplicaSet the one the images of whose template are.
	Pod        *corev1.Pod
	ReplicaSet *appsv1.ReplicaSet
	// Delete is a ReplicaSet without pods from an earlier roll-out, which the Deployment would take for the one of its pods.
	Delete *appsv1.ReplicaSet

	// Waiting says what to wait for, and After for how long at most; 0 means until a pod changes.
	Waiting string
	After   time.Duration
	// Changed is how many of All pods are changed, ready and settled.
	Changed, All int
	// Done reports that the Deployment may have the images, and go on.
	Done bool
}

// Next returns the next step.
func Next(o Observed) Step {
	active, others := split(o)
	switch {
	case len(active) == 0:
		return Step{Done: true}
	case len(active) > 1:
		return Step{Refused: "a roll-out is in progress"}
	}
	set := active[0]
	pods := podsOf(o.Pods, set)
	if reason := o.foreignImage(set, pods); reason != "" {
		return Step{Refused: reason}
	}
	if !o.Deployment.Spec.Paused {
		return Step{Pause: true, All: len(pods)}
	}
	step := o.nextPod(pods)
	if step.Pod != nil || step.Waiting != "" {
		return step
	}
	wait := Step{Waiting: "waiting for the Deployment and its ReplicaSet to be observed", After: PollInterval, Changed: step.Changed, All: step.All}
	if !o.isUpToDate(set.Spec.Template.Spec) {
		// A Deployment that goes on, as far as its controller knows, would replace the pods.
		if o.Deployment.Status.ObservedGeneration < o.Deployment.Generation {
			return wait
		}
		step.ReplicaSet = set
		return step
	}
	for _, other := range others {
		if isSameTemplate(set.Spec.Template, other.Spec.Template) {
			step.Delete = other
			return step
		}
	}
	// The controllers of both read ReplicaSets from one cache.
	if set.Status.ObservedGeneration < set.Generation {
		return wait
	}
	step.Done = true
	return step
}

// split returns the ReplicaSets of the Deployment that have, or should have, pods, and the others.
func split(o Observed) (active, others []*appsv1.ReplicaSet) {
	for i := range o.ReplicaSets {
		set := &o.ReplicaSets[i]
		switch {
		case !metav1.IsControlledBy(set, o.Deployment):
		case ptr.Deref(set.Spec.Replicas, 1) > 0 || set.Status.Replicas > 0:
			active = append(active, set)
		default:
			others = append(others, set)
		}
	}
	return active, others
}

// podsOf returns those of pods that belong to set and have not ended, sorted by name.
func podsOf(pods []corev1.Pod, set *appsv1.ReplicaSet) []*corev1.Pod {
	var result []*corev1.Pod
	for i := range pods {
		pod := &pods[i]
		ended := pod.DeletionTimestamp != nil || pod.Status.Phase == corev1.PodSucceeded || pod.Status.Phase == corev1.PodFailed
		if metav1.IsControlledBy(pod, set) && !ended {
			result = append(result, pod)
		}
	}
	slices.SortFunc(result, func(a, b *corev1.Pod) int { return strings.Compare(a.Name, b.Name) })
	return result
}

// containers returns the containers of pod, init containers first.
func containers(pod corev1.PodSpec) []corev1.Container {
	return slices.Concat(pod.InitContainers, pod.Containers)
}

// Images returns the images of pod by container.
func Images(pod corev1.PodSpec) map[string]string {
	images := map[string]string{}
	for _, c := range containers(pod) {
		images[c.Name] = c.Image
	}
	return images
}

// Outdated returns the images that pod is to have and has not.
func (o Observed) Outdated(pod corev1.PodSpec) map[string]string {
	images := Images(pod)
	outdated := maps.Clone(o.Images)
	maps.DeleteFunc(outdated, func(container, image string) bool { return images[container] == image })
	return outdated
}

func (o Observed) isUpToDate(pod corev1.PodSpec) bool { return len(o.Outdated(pod)) == 0 }

// foreignImage names a pod with an image that neither the template has nor an earlier change in place set: an admission webhook that
// rewrites images would do so again.
func (o Observed) foreignImage(set *appsv1.ReplicaSet, pods []*corev1.Pod) string {
	known := []map[string]string{o.Images, Images(set.Spec.Template.Spec), Images(o.Deployment.Spec.Template.Spec)}
	for _, pod := range pods {
		images := Images(pod.Spec)
		for container := range o.Images {
			image, found := images[container]
			if !found {
				return fmt.Sprintf("pod %s has no container %s", pod.Name, container)
			}
			if _, ours := pod.Annotations[ReplacedAnnotation]; !ours && !slices.ContainsFunc(known, func(of map[string]string) bool { return of[container] == image }) {
				return fmt.Sprintf("container %s of pod %s has the image %s, which another client has set", container, pod.Name, image)
			}
		}
	}
	return ""
}

// nextPod returns the step about pods: one that is not ready is changed at once, any other one only while all are ready and settled.
func (o Observed) nextPod(pods []*corev1.Pod) Step {
	step := Step{All: len(pods)}
	var next *corev1.Pod
	for _, pod := range pods {
		outdated := !o.isUpToDate(pod.Spec)
		waiting, after := o.unsettled(pod)
		switch {
		case outdated && waiting != "" && after == 0:
			return Step{Pod: pod, Changed: step.Changed, All: step.All}
		case waiting != "":
			step.Waiting, step.After = cmp.Or(step.Waiting, waiting), max(step.After, after)
		case outdated:
			next = cmp.Or(next, pod)
		default:
			step.Changed++
		}
	}
	if missing := int(ptr.Deref(o.Deployment.Spec.Replicas, 1)) - len(pods); missing > 0 && step.Waiting == "" {
		step.Waiting = fmt.Sprintf("waiting for pods to be created: %d", missing)
	}
	if step.Waiting == "" {
		step.Pod = next
	}
	return step
}

// unsettled says what to wait for until pod is ready and settled with its images, and for how long, which is 0 until it is ready.
func (o Observed) unsettled(pod *corev1.Pod) (waiting string, after time.Duration) {
	waiting = "waiting for pod " + pod.Name + " to be ready"
	if runsReplaced(pod) {
		return waiting, 0
	}
	for _, c := range pod.Status.Conditions {
		if c.Type != corev1.PodReady || c.Status != corev1.ConditionTrue {
			continue
		}
		settle := max(settleTime, time.Duration(o.Deployment.Spec.MinReadySeconds)*time.Second)
		if left := settle - o.Now.Sub(c.LastTransitionTime.Time); left > 0 {
			return fmt.Sprintf("%s for %d s", waiting, int(settle.Seconds())), left
		}
		return "", 0
	}
	return waiting, 0
}

// Running returns the value of ReplacedAnnotation for pod: the images of its running containers by their IDs.
func Running(pod *corev1.Pod) string {
	known, images := replaced(pod), Images(pod.Spec)
	running := map[string]string{}
	for _, status := range statuses(pod) {
		// After two changes at once, one that the kubelet has not acted upon still runs the first image.
		running[status.ContainerID] = cmp.Or(known[status.ContainerID], images[status.Name])
	}
	text, _ := json.Marshal(running) // Texts can be encoded.
	return string(text)
}

func statuses(pod *corev1.Pod) []corev1.ContainerStatus {
	return slices.Concat(pod.Status.InitContainerStatuses, pod.Status.ContainerStatuses)
}

func replaced(pod *corev1.Pod) map[string]string {
	var images map[string]string
	_ = json.Unmarshal([]byte(pod.Annotations[ReplacedAnnotation]), &images) // Another client may have written it.
	return images
}

// runsReplaced reports whether a container runs in pod that the last change of images is to end.
func runsReplaced(pod *corev1.Pod) bool {
	before, images := replaced(pod), Images(pod.Spec)
	return slices.ContainsFunc(statuses(pod), func(status corev1.ContainerStatus) bool {
		image, found := before[status.ContainerID]
		return found && image != images[status.Name]
	})
}

// isSameTemplate reports whether a Deployment takes a ReplicaSet with the template b for one with a.
func isSameTemplate(a, b corev1.PodTemplateSpec) bool {
	withoutHash := func(template corev1.PodTemplateSpec) corev1.PodTemplateSpec {
		template.Labels = maps.Clone(template.Labels)
		delete(template.Labels, appsv1.DefaultDeploymentUniqueLabelKey)
		return template
	}
	return equality.Semantic.DeepEqual(withoutHash(a), withoutHash(b))
}
