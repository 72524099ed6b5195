// SPDX-License-Identifier: Apache-2.0

package status

import (
	"cmp"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/utils/ptr"

	cachev1alpha1 "github.com/example/memcached-operator/apis/v1alpha1"
	"github.com/example/memcached-operator/internal/sanitize"
	"github.com/example/memcached-operator/reconcilers/apply"
	"github.com/example/memcached-operator/reconcilers/guarded"
	"github.com/example/memcached-operator/reconcilers/render"
)

// state is the kstatus state of a Memcached.
type state int

const (
	ready state = iota
	reconciling
	stalled
	// paused means that Ready is Unknown, since live objects are not compared.
	paused
)

// evaluation is a state with the reason and the message of the conditions.
type evaluation struct {
	state   state
	reason  string
	message string
}

// evaluate returns the first result of the checks. An uneven spread, a restart, a hand-over, skipped kinds, mutation and the wait for
// a rollout are appended to its message.
func evaluate(o Observation) evaluation {
	result := firstResult(o)
	spread := ""
	if result.state == ready { // During a roll-out pods come and go.
		spread = spreadNote(o)
	}
	for _, note := range []string{spread, o.RestartNote(), o.HandOverNote(), o.SkippedKindsNote(), o.MutationNote(), o.RolloutNote} {
		if note != "" {
			note = "; " + note
			result.message = sanitize.TextOf(result.message, max(0, sanitize.MaxBytes-len(note))) + note
		}
	}
	return result
}

// firstResult returns the result of the first check that has one, in this order.
func firstResult(o Observation) evaluation {
	checks := []func(Observation) *evaluation{
		isPaused,                 // nothing is applied
		renderingFailed,          // there are no objects to apply
		objectsRejected,          // a user has to change something
		applyingFailed,           // a write failed and is retried
		waitingForDeletion,       // an object with the name of a rendered one is being deleted
		pruningFailed,            // a stale object could not be deleted
		podCreationFailed,        // quota, Pod Security: the API server's message
		podsNotRunning,           // image pull, scheduling, crash loop: the kubelet's or scheduler's message
		progressDeadlineExceeded, // no progress, and no pod has a reason
		changingImages,           // in progress, in place
		rollingOut,               // in progress
		othersRollingOut,         // the same for other Deployments, such as the proxies
	}
	for _, check := range checks {
		if result := check(o); result != nil {
			return result.sanitize()
		}
	}
	switch {
	case o.Deployment == nil:
		return evaluation{ready, cachev1alpha1.ReasonReady, "every object matches its template"}
	case size(o) == 0:
		return evaluation{ready, cachev1alpha1.ReasonReady, "scaled to zero"}
	default:
		return evaluation{ready, cachev1alpha1.ReasonReady, "all pods are up to date and ready"}
	}
}

// validReason matches the reasons that the API accepts in a condition.
var validReason = regexp.MustCompile(`^[A-Za-z]([A-Za-z0-9_,:]*[A-Za-z0-9_])?$`)

// sanitize makes a reason and a message from other components valid: the API server would reject
// the whole status otherwise.
func (result evaluation) sanitize() evaluation {
	if !validReason.MatchString(result.reason) {
		result.reason, result.message = cachev1alpha1.ReasonRollingOut, result.reason+": "+result.message
	}
	result.message = sanitize.Text(result.message)
	return result
}

// isPaused reports a paused Memcached.
func isPaused(o Observation) *evaluation {
	if !IsPaused(o.Memcached) {
		return nil
	}
	return &evaluation{paused, cachev1alpha1.ReasonPaused,
		"spec.paused is true: the operator applies, reverts and prunes nothing until it is false or removed"}
}

// renderingFailed reports an error of the templates or the spec.
func renderingFailed(o Observation) *evaluation {
	if o.RenderErr == nil {
		return nil
	}
	reason := cachev1alpha1.ReasonRenderFailed
	if _, ok := errors.AsType[*guarded.Error](o.RenderErr); ok {
		reason = cachev1alpha1.ReasonPrivilegedField
	} else if _, ok := errors.AsType[*render.LimitError](o.RenderErr); ok {
		reason = cachev1alpha1.ReasonLimitExceeded
	} else if _, ok := errors.AsType[*render.InvalidPatchError](o.RenderErr); ok {
		reason = cachev1alpha1.ReasonInvalidPatch
	} else if _, ok := errors.AsType[*render.InvalidParameterError](o.RenderErr); ok {
		reason = cachev1alpha1.ReasonInvalidParameter
	}
	return &evaluation{stalled, reason, sanitize.Message(o.RenderErr)}
}

// objectsRejected reports objects that cannot be applied until a user changes something.
func objectsRejected(o Observation) *evaluation {
	var messages []string
	reason := ""
	for _, result := range o.Results {
		if result.Err == nil || !apply.IsTerminal(result.Err) {
			continue
		}
		messages = append(messages, sanitize.Message(result.Err))
		if _, ok := errors.AsType[*apply.OwnershipConflictError](result.Err); ok {
			reason = cachev1alpha1.ReasonOwnershipConflict
		} else if reason == "" {
			reason = cachev1alpha1.ReasonInvalidObject
		}
	}
	if len(messages) == 0 {
		return nil
	}
	return &evaluation{stalled, reason, strings.Join(messages, "; ")}
}

// applyingFailed reports writes that failed and are retried.
func applyingFailed(o Observation) *evaluation {
	var messages []string
	reason := ""
	for _, result := range o.Results {
		if result.Action != apply.Failed {
			continue
		}
		messages = append(messages, sanitize.Message(result.Err))
		if _, contended := errors.AsType[*apply.ContentionError](result.Err); !contended {
			reason = cachev1alpha1.ReasonApplyFailed
		}
	}
	if len(messages) == 0 {
		return nil
	}
	return &evaluation{reconciling, cmp.Or(reason, cachev1alpha1.ReasonContended), strings.Join(messages, "; ")}
}

// waitingForDeletion reports the first object whose predecessor is still being deleted.
func waitingForDeletion(o Observation) *evaluation {
	for _, result := range o.Results {
		if result.Action == apply.Waiting {
			return &evaluation{reconciling, cachev1alpha1.ReasonWaitingForDeletion,
				fmt.Sprintf("waiting for an earlier %s %s to be deleted", result.Object.GetKind(), result.Object.GetName())}
		}
	}
	return nil
}

// pruningFailed reports a stale object that could not be deleted.
func pruningFailed(o Observation) *evaluation {
	if o.PruneErr == nil {
		return nil
	}
	reason := cachev1alpha1.ReasonApplyFailed
	if _, contended := errors.AsType[*apply.ContentionError](o.PruneErr); contended {
		reason = cachev1alpha1.ReasonContended
	}
	return &evaluation{reconciling, reason, sanitize.Message(o.PruneErr)}
}

// podCreationFailed reports why the ReplicaSet cannot create pods.
func podCreationFailed(o Observation) *evaluation {
	if o.Deployment == nil {
		return nil
	}
	if failure := replicaFailure(o.Deployment); failure != nil {
		return &evaluation{reconciling, cmp.Or(failure.Reason, "FailedCreate"), failure.Message}
	}
	return nil
}

// replicaFailure returns the condition of d that says why its pods cannot be created, or nil.
func replicaFailure(d *appsv1.Deployment) *appsv1.DeploymentCondition {
	for i, c := range d.Status.Conditions {
		if c.Type == appsv1.DeploymentReplicaFailure && c.Status == corev1.ConditionTrue {
			return &d.Status.Conditions[i]
		}
	}
	return nil
}

// podsNotRunning reports the first pod by name that has a reason for not running.
func podsNotRunning(o Observation) *evaluation {
	var found *evaluation
	first := ""
	for _, pod := range o.Pods {
		if !isActive(pod) || (found != nil && pod.Name > first) {
			continue
		}
		if reason, message := podProblem(o, pod); reason != "" {
			first = pod.Name
			found = &evaluation{reconciling, reason, fmt.Sprintf("pod %s: %s", pod.Name, message)}
		}
	}
	if found != nil && timedOut(o.Deployment) {
		found.state = stalled
	}
	return found
}

// progressDeadlineExceeded reports a rollout without progress.
func progressDeadlineExceeded(o Observation) *evaluation {
	if !timedOut(o.Deployment) {
		return nil
	}
	return &evaluation{stalled, "ProgressDeadlineExceeded", "the rollout has made no progress within its deadline: " + counts(o)}
}

// rollingOut reports a rollout in progress.
func rollingOut(o Observation) *evaluation {
	d := o.Deployment
	if d == nil {
		return nil
	}
	want := size(o)
	if want == 0 {
		// Without pods it does not matter whether the Deployment controller has observed
		// the generation.
		if d.Status.Replicas == 0 && len(podNames(o.Pods)) == 0 {
			return nil
		}
		return &evaluation{reconciling, cachev1alpha1.ReasonRollingOut, "scaling to zero"}
	}
	done := isRolledOut(d)
	if done && int32(len(podNames(o.Pods))) >= want { // the cache of pods may be behind, and status.nodes belongs to Ready
		return nil
	}
	return &evaluation{reconciling, cachev1alpha1.ReasonRollingOut, counts(o) + missing(o, done)}
}

// isRolledOut reports whether all pods of d are up to date and available.
func isRolledOut(d *appsv1.Deployment) bool {
	s, want := d.Status, ptr.Deref(d.Spec.Replicas, 1)
	return s.ObservedGeneration >= d.Generation && s.UpdatedReplicas == want && s.Replicas == want && s.AvailableReplicas == want
}

// othersRollingOut reports the first Deployment beside that of the memcached pods that is not rolled out.
func othersRollingOut(o Observation) *evaluation {
	for _, result := range o.Results {
		d, ok := result.Live.(*appsv1.Deployment)
		if !ok || d.Name == o.Memcached.Name || isRolledOut(d) {
			continue
		}
		text := fmt.Sprintf("Deployment %s: %d of %d pods are available", d.Name, d.Status.AvailableReplicas, ptr.Deref(d.Spec.Replicas, 1))
		if failure := replicaFailure(d); failure != nil {
			text += ": " + failure.Message
		}
		if timedOut(d) {
			return &evaluation{stalled, "ProgressDeadlineExceeded", text}
		}
		return &evaluation{reconciling, cachev1alpha1.ReasonRollingOut, text}
	}
	return nil
}

// missing returns what a roll-out waits for beyond the counts: its pods are counted as done, and their names are not known,
// or they are ready and not available yet, or there are too many.
func missing(o Observation, done bool) string {
	s, want := o.Deployment.Status, size(o)
	switch {
	case done:
		return fmt.Sprintf("; names of pods known: %d", len(podNames(o.Pods)))
	case s.ReadyReplicas >= want && s.UpdatedReplicas == want && s.AvailableReplicas < want:
		return fmt.Sprintf("; a pod is available once it has been ready for %d s", o.Deployment.Spec.MinReadySeconds)
	case s.Replicas > want && s.UpdatedReplicas >= want && s.AvailableReplicas >= want:
		return fmt.Sprintf("; surplus pods to remove: %d", s.Replicas-want)
	}
	return ""
}

// counts returns how many of the desired pods are up to date and ready. Surplus pods of a rollout
// are not counted.
func counts(o Observation) string {
	return fmt.Sprintf("%d of %d pods are up to date, %d ready", min(o.Deployment.Status.UpdatedReplicas, size(o)), size(o), readyPods(o))
}

// readyPods returns how many of the desired pods are ready.
func readyPods(o Observation) int32 {
	if o.Deployment == nil {
		return 0
	}
	return min(o.Deployment.Status.ReadyReplicas, size(o))
}

// timedOut reports whether the rollout has exceeded its progress deadline.
func timedOut(d *appsv1.Deployment) bool {
	return d != nil && d.Status.ObservedGeneration >= d.Generation &&
		slices.ContainsFunc(d.Status.Conditions, func(c appsv1.DeploymentCondition) bool {
			return c.Type == appsv1.DeploymentProgressing && c.Status == corev1.ConditionFalse && c.Reason == "ProgressDeadlineExceeded"
		})
}
