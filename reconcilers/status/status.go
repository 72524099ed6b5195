// SPDX-License-Identifier: Apache-2.0

package status

import (
	"cmp"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
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
	"github.com/example/memcached-operator/internal/sanitize"
	"github.com/example/memcached-operator/reconcilers/apply"
	"github.com/example/memcached-operator/reconcilers/nodes"
)

// MainContainer is the name of the container that runs memcached, as in the operator-sdk tutorial.
const MainContainer = "memcached"

// proxySuffix follows the name of a Memcached in those of the Deployment and the Service of its proxies.
const proxySuffix = "-proxy"

// zonesSuffix follows it in the name of the Service of the proxies in all zones.
const zonesSuffix = "-zones"

// Observation is the input of a status.
type Observation struct {
	// Memcached is the custom resource as it was read, with its last status.
	Memcached *cachev1alpha1.Memcached
	// RenderErr is the error of rendering.
	RenderErr error
	// Results are the results of applying the rendered objects.
	Results []apply.Result
	// SkippedKinds are the rendered objects that were not applied since their kind is optional
	// and unavailable.
	SkippedKinds []SkippedKind
	// PruneErr is the error of pruning.
	PruneErr error
	// Deployment is the live Deployment of the Memcached; nil when there is none or it is not
	// known.
	Deployment *appsv1.Deployment
	// Pods are the memcached pods, including those that are being deleted.
	Pods []corev1.Pod
	// MovesUntil is until when the proxies move items from pods that go, or to new ones; the zero time without a hand-over.
	MovesUntil time.Time
	// RolloutNote says that the Memcached waits for its turn in a rollout of changed templates; it is empty
	// when it does not. The message of the Ready condition ends with it.
	RolloutNote string
	// Now is the transition time of conditions that change.
	Now time.Time
}

// SkippedKind is the kind of an object that was not applied.
type SkippedKind struct {
	Kind string
	// Reason is why the kind is unavailable, such as "not served by the API server".
	Reason string
}

// SkippedKindsNote returns which kinds of objects are skipped and why; it is empty when there are
// none. The message of the Ready condition ends with it.
func (o Observation) SkippedKindsNote() string {
	kinds := map[string][]string{}
	for _, object := range o.SkippedKinds {
		if !slices.Contains(kinds[object.Reason], object.Kind) {
			kinds[object.Reason] = append(kinds[object.Reason], object.Kind)
		}
	}
	var notes []string
	for _, reason := range slices.Sorted(maps.Keys(kinds)) {
		slices.Sort(kinds[reason])
		notes = append(notes, fmt.Sprintf("skipped %s: %s", strings.Join(kinds[reason], ", "), reason))
	}
	return sanitize.TextOf(strings.Join(notes, "; "), sanitize.MaxBytes/2)
}

// HandOverNote returns until when items are moved, for which a pod that is being deleted waits; it is empty without a hand-over.
// The message of the Ready condition ends with it.
func (o Observation) HandOverNote() string {
	if o.MovesUntil.IsZero() {
		return ""
	}
	return "the proxies move items to other pods until " + o.MovesUntil.Format(time.RFC3339)
}

// MutationNote returns which objects the API server modified when they were last applied; it is empty when
// there are none. The message of the Ready condition ends with it. Of an object that this process has not applied, it says what
// the message said before.
func (o Observation) MutationNote() string {
	const begin = "an admission policy or webhook modifies "
	before := ""
	if ready := meta.FindStatusCondition(o.Memcached.Status.Conditions, cachev1alpha1.ConditionReady); ready != nil {
		_, before, _ = strings.Cut(ready.Message, begin)
	}
	var modified []string
	for _, result := range o.Results {
		name := result.Object.GetKind() + " " + result.Object.GetName()
		mutation := result.Mutation
		if _, rest, ok := strings.Cut(before, name+" ("); ok && result.UnknownMutation {
			mutation, _, _ = strings.Cut(rest, ")")
		}
		if mutation != "" {
			modified = append(modified, name+" ("+mutation+")")
		}
	}
	if len(modified) == 0 {
		return ""
	}
	return sanitize.TextOf(begin+strings.Join(modified, ", "), sanitize.MaxBytes/2)
}

// RestartNote returns which pod's memcached was restarted last, why and when; it is empty when there is none. A restart
// empties the pod's part of the cache, which nothing else shows once the pod is ready again. The message of the Ready
// condition ends with it until the pod is replaced.
func (o Observation) RestartNote() string {
	var last *corev1.ContainerStateTerminated
	name := ""
	for _, pod := range o.Pods {
		if !isActive(pod) {
			continue
		}
		for _, container := range pod.Status.ContainerStatuses {
			ended := container.LastTerminationState.Terminated
			if container.Name != MainContainer || container.State.Waiting != nil || ended == nil || isWarm(o.Memcached, ended) {
				continue
			}
			if last == nil || last.FinishedAt.Before(&ended.FinishedAt) || last.FinishedAt.Equal(&ended.FinishedAt) && pod.Name < name {
				last, name = ended, pod.Name
			}
		}
	}
	if last == nil {
		return ""
	}
	return sanitize.TextOf(fmt.Sprintf("memcached in pod %s was restarted at %s (%s, exit code %d) and lost its part of the cache",
		name, last.FinishedAt.UTC().Format(time.RFC3339), cmp.Or(last.Reason, "Error"), last.ExitCode), sanitize.MaxBytes/2)
}

// isWarm reports whether the container that ended has left its cache to the next one.
func isWarm(mc *cachev1alpha1.Memcached, ended *corev1.ContainerStateTerminated) bool {
	return mc.Spec.WarmRestart != nil && ended.ExitCode == 0
}

// IsPaused reports whether spec.paused is true.
func IsPaused(mc *cachev1alpha1.Memcached) bool {
	return ptr.Deref(mc.Spec.Paused, false)
}

// Compute returns the status for o. It equals the last status if nothing changed.
func Compute(o Observation) cachev1alpha1.MemcachedStatus {
	mc := o.Memcached
	port := ptr.Deref(mc.Spec.ContainerPort, 11211)
	status := cachev1alpha1.MemcachedStatus{
		Nodes:              podNames(o.Pods),
		Replicas:           new(int32(0)),
		ReadyReplicas:      new(int32(0)),
		PodsReady:          fmt.Sprintf("%d/%d", readyPods(o), size(o)),
		Selector:           mc.Status.Selector,
		Endpoint:           fmt.Sprintf("%s.%s.svc:%d", mc.Name, mc.Namespace, port),
		Image:              mc.Status.Image,
		ObservedGeneration: mc.Generation,
	}
	if mc.Spec.Proxy != nil {
		suffix := proxySuffix
		if mc.Spec.Proxy.Zones != nil {
			suffix = zonesSuffix
		}
		status.Endpoint = fmt.Sprintf("%s.%s.svc:%d", mc.Name+suffix, mc.Namespace, port)
	}
	if mc.Spec.HasStableNames() {
		status.Servers = nodes.Servers(mc.Name, mc.Namespace, ptr.Deref(mc.Spec.Size, 1), port)
	}
	if d := o.Deployment; d != nil {
		status.Replicas = new(d.Status.Replicas)
		status.ReadyReplicas = new(d.Status.ReadyReplicas)
		status.Selector = ShippedSelector(d.Name)
		if d.Spec.Selector != nil {
			status.Selector = metav1.FormatLabelSelector(d.Spec.Selector)
		}
		for _, container := range d.Spec.Template.Spec.Containers {
			if container.Name == MainContainer {
				status.Image = sanitize.Text(container.Image)
			}
		}
	}
	status.Conditions = conditions(o, evaluate(o))
	status.LastReadySpec = mc.Status.LastReadySpec
	if WasReady(mc) || meta.IsStatusConditionTrue(status.Conditions, cachev1alpha1.ConditionReady) {
		status.LastReadySpec = specID(mc.Spec)
	}
	return status
}

// ShippedSelector returns the selector of the Deployment called name as the shipped templates have it. The cache holds no selector of
// a Deployment that has it.
func ShippedSelector(name string) string { return "app=memcached,memcached_cr=" + name }

// WasReady reports whether mc was ready with its present spec, apart from the size.
func WasReady(mc *cachev1alpha1.Memcached) bool {
	if mc.Status.LastReadySpec == "" { // An earlier release wrote the status.
		return mc.Status.ObservedGeneration == mc.Generation && meta.IsStatusConditionTrue(mc.Status.Conditions, cachev1alpha1.ConditionReady)
	}
	return mc.Status.LastReadySpec == specID(mc.Spec)
}

// specID identifies spec, apart from the size.
func specID(spec cachev1alpha1.MemcachedSpec) string {
	spec.Size = nil
	content, _ := json.Marshal(spec) // It was read from JSON.
	hash := sha256.Sum256(content)
	return base64.RawURLEncoding.EncodeToString(hash[:12])
}

// podNames returns the sorted names of the active pods.
func podNames(pods []corev1.Pod) []string {
	var names []string
	for _, pod := range pods {
		if isActive(pod) {
			names = append(names, pod.Name)
		}
	}
	slices.Sort(names)
	return names
}

// isActive reports whether pod is neither being deleted nor terminated, as an evicted pod is.
func isActive(pod corev1.Pod) bool {
	return pod.DeletionTimestamp == nil && pod.Status.Phase != corev1.PodFailed && pod.Status.Phase != corev1.PodSucceeded
}

// conditions returns the conditions for result. Those whose status does not change keep their
// transition time.
func conditions(o Observation, result evaluation) []metav1.Condition {
	isReady := condition(cachev1alpha1.ConditionReady, result.state == ready, result.reason, result.message)
	if result.state == paused {
		isReady.Status = metav1.ConditionUnknown
	}
	wanted := []metav1.Condition{isReady, available(o)}
	switch result.state {
	case ready, paused: // Neither Reconciling nor Stalled.
	case reconciling:
		wanted = append(wanted, condition(cachev1alpha1.ConditionReconciling, true, result.reason, result.message))
	case stalled:
		wanted = append(wanted, condition(cachev1alpha1.ConditionStalled, true, result.reason, result.message))
	}
	var conditions []metav1.Condition
	for _, c := range wanted {
		if last := meta.FindStatusCondition(o.Memcached.Status.Conditions, c.Type); last != nil {
			conditions = append(conditions, *last)
		}
		c.ObservedGeneration = o.Memcached.Generation
		c.LastTransitionTime = metav1.NewTime(o.Now.Truncate(time.Second))
		meta.SetStatusCondition(&conditions, c)
	}
	return conditions
}

// condition returns a condition that is True or False.
func condition(kind string, isTrue bool, reason, message string) metav1.Condition {
	status := metav1.ConditionFalse
	if isTrue {
		status = metav1.ConditionTrue
	}
	return metav1.Condition{Type: kind, Status: status, Reason: reason, Message: message}
}

// available returns the condition Available: whether at least half of the desired pods are ready, so that it does not depend
// on the settings of roll-outs. It is False at size 0, and while no proxy is ready of a Memcached with proxies.
func available(o Observation) metav1.Condition {
	switch {
	case size(o) == 0:
		return condition(cachev1alpha1.ConditionAvailable, false, cachev1alpha1.ReasonScaledToZero, "size is 0")
	case o.Memcached.Spec.Proxy != nil && !hasProxy(o):
		return condition(cachev1alpha1.ConditionAvailable, false, cachev1alpha1.ReasonTooFewPodsReady, "no proxy is ready to serve")
	case o.Deployment != nil && readyPods(o)*2 >= size(o):
		return condition(cachev1alpha1.ConditionAvailable, true, cachev1alpha1.ReasonMinimumPodsReady, "at least half of the pods are ready to serve")
	default:
		return condition(cachev1alpha1.ConditionAvailable, false, cachev1alpha1.ReasonTooFewPodsReady, "fewer than half of the pods are ready to serve")
	}
}

// hasProxy reports whether a proxy is ready.
func hasProxy(o Observation) bool {
	return slices.ContainsFunc(o.Results, func(result apply.Result) bool {
		d, ok := result.Live.(*appsv1.Deployment)
		return ok && d.Name == o.Memcached.Name+proxySuffix && d.Status.ReadyReplicas > 0
	})
}

// size returns the number of desired pods: that of the Deployment, which templates and patches can
// change, or of the Memcached when there is no Deployment. 1 is the default of the CRD.
func size(o Observation) int32 {
	if o.Deployment != nil {
		return ptr.Deref(o.Deployment.Spec.Replicas, 1)
	}
	return ptr.Deref(o.Memcached.Spec.Size, 1)
}
