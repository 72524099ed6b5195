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

	cachev1alpha1 "github.com/example/memcached-operator/apis/v1alpha1"
	"github.com/example/memcached-operator/reconcilers/apply"
	"github.com/example/memcached-operator/reconcilers/guarded"
	"github.com/example/memcached-operator/reconcilers/render"
	"github.com/example/memcached-operator/reconcilers/sanitize"
)

type outcome int

const (
	ready outcome = iota
	reconciling
	stalled
	// paused: nobody says whether it is ready, since nothing is compared.
	paused
)

// verdict is the state in one sentence.
type verdict struct {
	outcome outcome
	reason  string
	message string
}

// judge returns the verdict, and behind it what had to be omitted and what the server
// changes.
func judge(o Observation) verdict {
	v := firstVerdict(o)
	for _, note := range []string{o.LeftOutNote(), o.DriftNote()} {
		if note != "" {
			note = "; " + note
			v.message = sanitize.TextOf(v.message, max(0, sanitize.MaxBytes-len(note))) + note
		}
	}
	return v
}

// firstVerdict returns the first verdict that a check has, in this order.
func firstVerdict(o Observation) verdict {
	checks := []func(Observation) *verdict{
		isPaused,          // nothing is done: nothing else is judged
		renderFailed,      // no objects: nothing else can be said
		objectsRefused,    // somebody has to act
		objectsFailed,     // a write failed and is tried again
		objectsWaiting,    // an old object has to go first
		pruneFailed,       // a leftover could not be deleted
		podsNotMade,       // quota, Pod Security: the server's words
		podsNotRunning,    // image pull, scheduling, crash loop: the kubelet's words
		rollOutTimedOut,   // the deadline passed and no pod says why
		rollOutUnfinished, // still under way
	}
	for _, check := range checks {
		if v := check(o); v != nil {
			return v.sanitize()
		}
	}
	switch {
	case o.Deployment == nil:
		return verdict{ready, cachev1alpha1.ReasonReady, "every object is as the templates say"}
	case size(o) == 0:
		return verdict{ready, cachev1alpha1.ReasonReady, "scaled to zero"}
	default:
		return verdict{ready, cachev1alpha1.ReasonReady, "all pods are up to date and ready"}
	}
}

// reasonForm is what the API takes as a condition's reason.
var reasonForm = regexp.MustCompile(`^[A-Za-z]([A-Za-z0-9_,:]*[A-Za-z0-9_])?$`)

// sanitize puts words of others into the form that the API takes: a status that it
// rejects would never be written.
func (v verdict) sanitize() verdict {
	if !reasonForm.MatchString(v.reason) {
		v.reason, v.message = cachev1alpha1.ReasonRollingOut, v.reason+": "+v.message
	}
	v.message = sanitize.Text(v.message)
	return v
}

func isPaused(o Observation) *verdict {
	if !IsPaused(o.Memcached) {
		return nil
	}
	return &verdict{paused, cachev1alpha1.ReasonPaused,
		"spec.paused is true: nothing is applied, changed back or pruned, and a change of the spec waits, until it is false or removed"}
}

func renderFailed(o Observation) *verdict {
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
	}
	return &verdict{stalled, reason, sanitize.Message(o.RenderErr)}
}

func objectsRefused(o Observation) *verdict {
	var messages []string
	reason := ""
	for _, result := range o.Results {
		if result.Err == nil || !apply.IsTerminal(result.Err) {
			continue
		}
		messages = append(messages, sanitize.Message(result.Err))
		if _, ok := errors.AsType[*apply.ForeignError](result.Err); ok {
			reason = cachev1alpha1.ReasonForeignObject
		} else if reason == "" {
			reason = cachev1alpha1.ReasonInvalidObject
		}
	}
	if len(messages) == 0 {
		return nil
	}
	return &verdict{stalled, reason, strings.Join(messages, "; ")}
}

func objectsFailed(o Observation) *verdict {
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
	return &verdict{reconciling, cmp.Or(reason, cachev1alpha1.ReasonContended), strings.Join(messages, "; ")}
}

func objectsWaiting(o Observation) *verdict {
	for _, result := range o.Results {
		if result.Action == apply.Waiting {
			return &verdict{reconciling, cachev1alpha1.ReasonWaitingForDeletion,
				fmt.Sprintf("waiting for an earlier %s %s to be deleted", result.Object.GetKind(), result.Object.GetName())}
		}
	}
	return nil
}

func pruneFailed(o Observation) *verdict {
	if o.PruneErr == nil {
		return nil
	}
	return &verdict{reconciling, cachev1alpha1.ReasonApplyFailed, sanitize.Message(o.PruneErr)}
}

func podsNotMade(o Observation) *verdict {
	if o.Deployment == nil {
		return nil
	}
	for _, c := range o.Deployment.Status.Conditions {
		if c.Type == appsv1.DeploymentReplicaFailure && c.Status == corev1.ConditionTrue {
			return &verdict{reconciling, cmp.Or(c.Reason, "FailedCreate"), c.Message}
		}
	}
	return nil
}

// podsNotRunning speaks of the first pod, by name, that says what stops it.
func podsNotRunning(o Observation) *verdict {
	var found *verdict
	first := ""
	for _, pod := range o.Pods {
		if !isActive(pod) || (found != nil && pod.Name > first) {
			continue
		}
		if reason, message := podProblem(pod); reason != "" {
			first = pod.Name
			found = &verdict{reconciling, reason, fmt.Sprintf("pod %s: %s", pod.Name, message)}
		}
	}
	if found != nil && timedOut(o) {
		found.outcome = stalled
	}
	return found
}

func rollOutTimedOut(o Observation) *verdict {
	if !timedOut(o) {
		return nil
	}
	return &verdict{stalled, "ProgressDeadlineExceeded", "the roll-out has made no progress within its deadline: " + counts(o)}
}

func rollOutUnfinished(o Observation) *verdict {
	d := o.Deployment
	if d == nil {
		return nil
	}
	want := size(o)
	if want == 0 {
		// Nothing has to start: whether the Deployment's controller has looked yet
		// makes no difference once no pod is left.
		if d.Status.Replicas == 0 && len(nodes(o.Pods)) == 0 {
			return nil
		}
		return &verdict{reconciling, cachev1alpha1.ReasonRollingOut, "scaling to zero"}
	}
	s := d.Status
	if s.ObservedGeneration >= d.Generation && s.UpdatedReplicas == want && s.Replicas == want && s.AvailableReplicas == want {
		return nil
	}
	message := counts(o)
	if s.ReadyReplicas >= want && s.UpdatedReplicas == want && s.AvailableReplicas < want {
		message += fmt.Sprintf("; each counts once it has been ready for %d s", d.Spec.MinReadySeconds)
	}
	return &verdict{reconciling, cachev1alpha1.ReasonRollingOut, message}
}

func counts(o Observation) string {
	s := o.Deployment.Status
	return fmt.Sprintf("%d of %d pods are up to date, %d ready", min(s.UpdatedReplicas, size(o)), size(o), s.ReadyReplicas)
}

func timedOut(o Observation) bool {
	return o.Deployment != nil && o.Deployment.Status.ObservedGeneration >= o.Deployment.Generation &&
		slices.ContainsFunc(o.Deployment.Status.Conditions, func(c appsv1.DeploymentCondition) bool {
			return c.Type == appsv1.DeploymentProgressing && c.Status == corev1.ConditionFalse && c.Reason == "ProgressDeadlineExceeded"
		})
}

// podProblem says, in the kubelet's or the scheduler's words, what stops pod; the
// empty reason says that nothing does.
func podProblem(pod corev1.Pod) (reason, message string) {
	for _, c := range pod.Status.Conditions {
		if c.Type == corev1.PodScheduled && c.Status == corev1.ConditionFalse {
			return cmp.Or(c.Reason, corev1.PodReasonUnschedulable), c.Message
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
	return "", ""
}
