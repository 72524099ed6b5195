// SPDX-License-Identifier: Apache-2.0

package reconcilers

import (
	"fmt"
	"slices"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	cachev1alpha1 "github.com/example/memcached-operator/apis/v1alpha1"
	"github.com/example/memcached-operator/reconcilers/apply"
	"github.com/example/memcached-operator/reconcilers/status"
)

// recordedEvents is an events.EventRecorder that keeps the events as "type reason/action: note".
type recordedEvents []string

func (r *recordedEvents) Eventf(_, _ runtime.Object, eventType, reason, action, note string, args ...any) {
	*r = append(*r, fmt.Sprintf("%s %s/%s: ", eventType, reason, action)+fmt.Sprintf(note, args...))
}

func objectOf(kind, name string) *unstructured.Unstructured {
	object := &unstructured.Unstructured{}
	object.SetKind(kind)
	object.SetName(name)
	return object
}

func resultOf(kind, name string, action apply.Action) apply.Result {
	return apply.Result{Object: objectOf(kind, name), Action: action}
}

// statusOf returns a status with Ready=False and a condition of type kind, or Ready=True when kind
// is empty.
func statusOf(kind, reason, message string) cachev1alpha1.MemcachedStatus {
	if kind == "" {
		return cachev1alpha1.MemcachedStatus{Conditions: []metav1.Condition{{Type: "Ready", Status: metav1.ConditionTrue, Reason: "Ready"}}}
	}
	return cachev1alpha1.MemcachedStatus{Conditions: []metav1.Condition{
		{Type: "Ready", Status: metav1.ConditionFalse, Reason: reason, Message: message},
		{Type: kind, Status: metav1.ConditionTrue, Reason: reason, Message: message},
	}}
}

func TestRecorder_EmitsAnEventForEachAction(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		results []apply.Result
		pruned  []client.Object
		want    []string
	}{
		"emits nothing for unchanged objects": {results: []apply.Result{resultOf("Service", "a", apply.Unchanged), resultOf("Deployment", "a", apply.Waiting)}},
		"emits one event for all created objects": {
			results: []apply.Result{resultOf("Service", "a", apply.Created), resultOf("Deployment", "a", apply.Created)},
			want:    []string{"Normal Created/Create: Created Service a, Deployment a"},
		},
		"keeps created, configured and pruned objects apart": {
			results: []apply.Result{resultOf("ConfigMap", "a-new", apply.Created), resultOf("Deployment", "a", apply.Configured), resultOf("Service", "a", apply.Unchanged)},
			pruned:  []client.Object{objectOf("ConfigMap", "a-old")},
			want: []string{
				"Normal Created/Create: Created ConfigMap a-new",
				"Normal Configured/Configure: Configured Deployment a",
				"Normal Pruned/Prune: Pruned ConfigMap a-old",
			},
		},
		"warns of objects that were modified by admission": {
			results: []apply.Result{{Object: objectOf("Deployment", "a"), Action: apply.Configured, Drift: "spec\n.image", NewDrift: true}},
			want: []string{
				"Normal Configured/Configure: Configured Deployment a",
				"Warning ModifiedByAdmission/Apply: a mutating admission policy or webhook modified fields of applied objects; they are applied again every 1 to 5 minutes: Deployment a (spec .image)",
			},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			events := &recordedEvents{}
			observed := &observation{Observation: status.Observation{Memcached: &cachev1alpha1.Memcached{}, Results: test.results}, pruned: test.pruned}
			newRecorder(events).record(t.Context(), observed, statusOf("", "", ""))
			if !slices.Equal(*events, test.want) {
				t.Errorf("the events are %q, want %q", *events, test.want)
			}
		})
	}
}

func TestRecorder_WarnsOncePerReason(t *testing.T) {
	t.Parallel()
	reconciling := func(reason string) cachev1alpha1.MemcachedStatus { return statusOf("Reconciling", reason, "why") }
	stalled := func(message string) cachev1alpha1.MemcachedStatus {
		return statusOf("Stalled", "InvalidObject", message)
	}
	ready, warn := statusOf("", "", ""), func(reason string) string { return "Warning " + reason + "/Reconcile: why" }
	for name, test := range map[string]struct {
		statuses []cachev1alpha1.MemcachedStatus
		want     []string
	}{
		"emits nothing during a rollout": {
			statuses: []cachev1alpha1.MemcachedStatus{reconciling("RollingOut"), reconciling("WaitingForDeletion"), ready},
		},
		"warns of a failed write once": {
			statuses: []cachev1alpha1.MemcachedStatus{ready, reconciling("ApplyFailed"), reconciling("ApplyFailed"), reconciling("ApplyFailed")},
			want:     []string{warn("ApplyFailed")},
		},
		"warns of each new reason": {
			statuses: []cachev1alpha1.MemcachedStatus{reconciling("FailedCreate"), reconciling("Unschedulable")},
			want:     []string{warn("FailedCreate"), warn("Unschedulable")},
		},
		"does not repeat alternating reasons": {
			statuses: []cachev1alpha1.MemcachedStatus{
				reconciling("ErrImagePull"), reconciling("ImagePullBackOff"), reconciling("RollingOut"), reconciling("ErrImagePull"), reconciling("ImagePullBackOff"),
			},
			want: []string{warn("ErrImagePull"), warn("ImagePullBackOff")},
		},
		"warns again after the Memcached was ready": {
			statuses: []cachev1alpha1.MemcachedStatus{reconciling("Unschedulable"), ready, reconciling("Unschedulable")},
			want:     []string{warn("Unschedulable"), warn("Unschedulable")},
		},
		"warns of each message of a stalled Memcached": {
			statuses: []cachev1alpha1.MemcachedStatus{stalled("a"), stalled("a"), stalled("b")},
			want:     []string{"Warning InvalidObject/Reconcile: a", "Warning InvalidObject/Reconcile: b"},
		},
		"warns when a failing rollout stalls": {
			statuses: []cachev1alpha1.MemcachedStatus{reconciling("ImagePullBackOff"), statusOf("Stalled", "ImagePullBackOff", "why")},
			want:     []string{warn("ImagePullBackOff"), warn("ImagePullBackOff")},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			events := &recordedEvents{}
			r, last := newRecorder(events), cachev1alpha1.MemcachedStatus{}
			for _, next := range test.statuses {
				mc := &cachev1alpha1.Memcached{ObjectMeta: metav1.ObjectMeta{UID: "u"}, Status: last}
				r.record(t.Context(), &observation{Observation: status.Observation{Memcached: mc}}, next)
				last = next
			}
			if !slices.Equal(*events, test.want) {
				t.Errorf("the events are %q, want %q", *events, test.want)
			}
		})
	}
}

func TestRecorder_DoesNotRepeatWarningAfterRestart(t *testing.T) {
	t.Parallel()
	events := &recordedEvents{}
	failing := statusOf("Reconciling", "Unschedulable", "why")
	mc := &cachev1alpha1.Memcached{ObjectMeta: metav1.ObjectMeta{UID: "u"}, Status: failing}
	newRecorder(events).record(t.Context(), &observation{Observation: status.Observation{Memcached: mc}}, failing)
	if len(*events) > 0 {
		t.Errorf("the events are %q", *events)
	}
}
