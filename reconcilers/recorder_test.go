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
		"names the fields that changed, up to five": {
			results: []apply.Result{
				{Object: objectOf("Deployment", "a"), Action: apply.Configured, Fields: []string{"spec.replicas"}},
				{Object: objectOf("Service", "a"), Action: apply.Configured, Fields: []string{"a", "b", "c", "d", "e", "f", "g"}},
			},
			want: []string{"Normal Configured/Configure: Configured Deployment a (spec.replicas), Service a (a, b, c, d, e, 2 more)"},
		},
		"warns of objects that were modified by admission": {
			results: []apply.Result{{Object: objectOf("Deployment", "a"), Action: apply.Configured, Mutation: "spec.image", NewMutation: true}},
			want: []string{
				"Normal Configured/Configure: Configured Deployment a",
				"Warning ModifiedByAdmission/Apply: a mutating admission policy or webhook modified fields of applied objects, which are left as they are: Deployment a (spec.image)",
			},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			events := &recordedEvents{}
			observed := status.Observation{Memcached: &cachev1alpha1.Memcached{}, Results: test.results}
			newRecorder(events).record(t.Context(), observed, test.pruned, statusOf("", "", ""))
			if !slices.Equal(*events, test.want) {
				t.Errorf("the events are %q, want %q", *events, test.want)
			}
		})
	}
}

type statuses = []cachev1alpha1.MemcachedStatus

var (
	isReady       = statusOf("", "", "")
	isRollingOut  = statusOf("Reconciling", "RollingOut", "why")
	isFailing     = statusOf("Reconciling", "ApplyFailed", "why")
	isUnscheduled = statusOf("Reconciling", "Unschedulable", "why")
	isPulling     = statusOf("Reconciling", "ErrImagePull", "why")
	isBackingOff  = statusOf("Reconciling", "ImagePullBackOff", "why")
)

// warningTests are the statuses that a Memcached has one after another, and the events of them.
var warningTests = map[string]struct {
	statuses statuses
	want     []string
}{
	"emits nothing during a rollout": {
		statuses{isRollingOut, statusOf("Reconciling", "WaitingForDeletion", "why"), isReady}, nil,
	},
	"warns of a failed write once": {
		statuses{isReady, isFailing, isFailing, isFailing}, []string{"Warning ApplyFailed/Reconcile: why"},
	},
	"warns of each new reason": {
		statuses{isFailing, isUnscheduled}, []string{"Warning ApplyFailed/Reconcile: why", "Warning Unschedulable/Reconcile: why"},
	},
	"does not repeat alternating reasons": {
		statuses{isPulling, isBackingOff, isRollingOut, isPulling, isBackingOff},
		[]string{"Warning ErrImagePull/Reconcile: why", "Warning ImagePullBackOff/Reconcile: why"},
	},
	"warns again after the Memcached was ready": {
		statuses{isUnscheduled, isReady, isUnscheduled}, []string{"Warning Unschedulable/Reconcile: why", "Warning Unschedulable/Reconcile: why"},
	},
	"warns of each message of a stalled Memcached": {
		statuses{statusOf("Stalled", "InvalidObject", "a"), statusOf("Stalled", "InvalidObject", "a"), statusOf("Stalled", "InvalidObject", "b")},
		[]string{"Warning InvalidObject/Reconcile: a", "Warning InvalidObject/Reconcile: b"},
	},
	"warns when a failing rollout stalls": {
		statuses{isBackingOff, statusOf("Stalled", "ImagePullBackOff", "why")},
		[]string{"Warning ImagePullBackOff/Reconcile: why", "Warning ImagePullBackOff/Reconcile: why"},
	},
}

func TestRecorder_WarnsOncePerReason(t *testing.T) {
	t.Parallel()
	for name, test := range warningTests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			events := &recordedEvents{}
			r, last := newRecorder(events), cachev1alpha1.MemcachedStatus{}
			for _, next := range test.statuses {
				r.record(t.Context(), observationOf(last), nil, next)
				last = next
			}
			if !slices.Equal(*events, test.want) {
				t.Errorf("the events are %q, want %q", *events, test.want)
			}
		})
	}
}

// observationOf returns an observation of a Memcached with status.
func observationOf(last cachev1alpha1.MemcachedStatus) status.Observation {
	mc := &cachev1alpha1.Memcached{ObjectMeta: metav1.ObjectMeta{UID: "u"}, Status: last}
	return status.Observation{Memcached: mc}
}

func TestRecorder_DoesNotRepeatWarningAfterRestart(t *testing.T) {
	t.Parallel()
	events := &recordedEvents{}
	newRecorder(events).record(t.Context(), observationOf(isUnscheduled), nil, isUnscheduled)
	if len(*events) > 0 {
		t.Errorf("the events are %q", *events)
	}
}
