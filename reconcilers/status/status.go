// SPDX-License-Identifier: Apache-2.0

package status

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	cachev1alpha1 "github.com/example/memcached-operator/apis/v1alpha1"
	"github.com/example/memcached-operator/reconcilers/apply"
	"github.com/example/memcached-operator/reconcilers/sanitize"
)

// MainContainer is the tutorial's name of the container that runs memcached.
const MainContainer = "memcached"

// Observation is everything that a status follows from.
type Observation struct {
	// Memcached is the custom resource as it was read; its status is the last one.
	Memcached *cachev1alpha1.Memcached
	// RenderErr is set when the templates gave no objects.
	RenderErr error
	// Results are what became of each rendered object.
	Results []apply.Result
	// LeftOut are the rendered objects that were not applied because their kind is
	// one that the operator can do without and has to.
	LeftOut []LeftOut
	// PruneErr is set when an object that is no longer rendered could not be deleted.
	PruneErr error
	// Deployment is the live Deployment of the Memcached; nil when there is none, or
	// none is known.
	Deployment *appsv1.Deployment
	// Pods are the memcached pods, terminating ones among them.
	Pods []corev1.Pod
	// Now is the time for conditions that change.
	Now time.Time
}

// LeftOut is an object that was left out.
type LeftOut struct {
	Kind string
	// Why are words that follow "since".
	Why string
}

// LeftOutNote says which kinds of objects are left out, and why; it is empty when
// there are none. The message of the verdict ends with it.
func (o Observation) LeftOutNote() string {
	kinds := map[string][]string{}
	for _, object := range o.LeftOut {
		if !slices.Contains(kinds[object.Why], object.Kind) {
			kinds[object.Why] = append(kinds[object.Why], object.Kind)
		}
	}
	var notes []string
	for _, why := range slices.Sorted(maps.Keys(kinds)) {
		slices.Sort(kinds[why])
		notes = append(notes, fmt.Sprintf("left out, since %s: %s", why, strings.Join(kinds[why], ", ")))
	}
	return sanitize.TextOf(strings.Join(notes, "; "), sanitize.MaxBytes/2)
}

// DriftNote says which objects the server changes when they are applied; it is empty when
// there are none. The message of the verdict ends with it too.
func (o Observation) DriftNote() string {
	var changed []string
	for _, result := range o.Results {
		if result.Drift != "" {
			changed = append(changed, fmt.Sprintf("%s %s (%s)", result.Object.GetKind(), result.Object.GetName(), strings.Join(strings.Fields(result.Drift), " ")))
		}
	}
	if len(changed) == 0 {
		return ""
	}
	return sanitize.TextOf("an admission policy or webhook changes "+strings.Join(changed, ", "), sanitize.MaxBytes/2)
}

// IsPaused tells whether mc asks to be left as it is.
func IsPaused(mc *cachev1alpha1.Memcached) bool {
	return ptr.Deref(mc.Spec.Paused, false)
}

// Compute returns the status that follows from o. It equals the last one when
// nothing changed.
func Compute(o Observation) cachev1alpha1.MemcachedStatus {
	mc := o.Memcached
	status := cachev1alpha1.MemcachedStatus{
		Nodes:              nodes(o.Pods),
		Replicas:           new(int32(0)),
		ReadyReplicas:      new(int32(0)),
		Selector:           mc.Status.Selector,
		Endpoint:           fmt.Sprintf("%s.%s.svc:%d", mc.Name, mc.Namespace, ptr.Deref(mc.Spec.ContainerPort, 11211)),
		Image:              mc.Status.Image,
		ObservedGeneration: mc.Generation,
	}
	if d := o.Deployment; d != nil {
		status.Replicas = new(d.Status.Replicas)
		status.ReadyReplicas = new(d.Status.ReadyReplicas)
		status.Selector = metav1.FormatLabelSelector(d.Spec.Selector)
		for _, container := range d.Spec.Template.Spec.Containers {
			if container.Name == MainContainer {
				status.Image = sanitize.Text(container.Image)
			}
		}
	}
	status.Conditions = conditions(o, judge(o))
	return status
}

// nodes are the names of the pods that run or will, sorted: not of those that are being
// deleted, nor of those that ended, such as evicted ones.
func nodes(pods []corev1.Pod) []string {
	var names []string
	for _, pod := range pods {
		if isActive(pod) {
			names = append(names, pod.Name)
		}
	}
	slices.Sort(names)
	return names
}

func isActive(pod corev1.Pod) bool {
	return pod.DeletionTimestamp == nil && pod.Status.Phase != corev1.PodFailed && pod.Status.Phase != corev1.PodSucceeded
}

// conditions words the verdict. The times of those that stay as they are stay too.
func conditions(o Observation, v verdict) []metav1.Condition {
	isReady := condition(cachev1alpha1.ConditionReady, v.outcome == ready, v.reason, v.message)
	if v.outcome == paused {
		isReady.Status = metav1.ConditionUnknown
	}
	wanted := []metav1.Condition{isReady, available(o)}
	switch v.outcome {
	case ready, paused: // Neither of the two is present.
	case reconciling:
		wanted = append(wanted, condition(cachev1alpha1.ConditionReconciling, true, v.reason, v.message))
	case stalled:
		wanted = append(wanted, condition(cachev1alpha1.ConditionStalled, true, v.reason, v.message))
	}
	var result []metav1.Condition
	for _, c := range wanted {
		if last := meta.FindStatusCondition(o.Memcached.Status.Conditions, c.Type); last != nil {
			result = append(result, *last)
		}
		c.ObservedGeneration = o.Memcached.Generation
		c.LastTransitionTime = metav1.NewTime(o.Now.Truncate(time.Second))
		meta.SetStatusCondition(&result, c)
	}
	return result
}

func condition(kind string, holds bool, reason, message string) metav1.Condition {
	status := metav1.ConditionFalse
	if holds {
		status = metav1.ConditionTrue
	}
	return metav1.Condition{Type: kind, Status: status, Reason: reason, Message: message}
}

// available says whether clients are served: what the Deployment's own condition
// says, and that no pod serves anybody at size 0.
func available(o Observation) metav1.Condition {
	if size(o) == 0 {
		return condition(cachev1alpha1.ConditionAvailable, false, cachev1alpha1.ReasonScaledToZero, "size is 0: no pod is wanted")
	}
	if o.Deployment != nil {
		for _, c := range o.Deployment.Status.Conditions {
			if c.Type == appsv1.DeploymentAvailable && c.Status == corev1.ConditionTrue && o.Deployment.Status.AvailableReplicas > 0 {
				return condition(cachev1alpha1.ConditionAvailable, true, cachev1alpha1.ReasonMinimumPodsReady, "enough pods are ready to serve")
			}
		}
	}
	return condition(cachev1alpha1.ConditionAvailable, false, cachev1alpha1.ReasonTooFewPodsReady, "too few pods are ready to serve")
}

// size is how many pods the Deployment is asked for, which templates and patches may change,
// or without one the Memcached; 1 is the CRD's default.
func size(o Observation) int32 {
	if o.Deployment != nil {
		return ptr.Deref(o.Deployment.Spec.Replicas, 1)
	}
	return ptr.Deref(o.Memcached.Spec.Size, 1)
}
