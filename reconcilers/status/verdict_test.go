// SPDX-License-Identifier: Apache-2.0

package status

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	cachev1alpha1 "github.com/example/memcached-operator/apis/v1alpha1"
	"github.com/example/memcached-operator/reconcilers/apply"
	"github.com/example/memcached-operator/reconcilers/guarded"
	"github.com/example/memcached-operator/reconcilers/render"
	"github.com/example/memcached-operator/reconcilers/sanitize"
)

// row is one line of a table: of what is given follows one verdict.
type row struct {
	given     given
	outcome   outcome
	reason    string
	message   string
	available bool
}

func testVerdicts(t *testing.T, table map[string]row) {
	t.Parallel()
	for sentence, row := range table {
		t.Run(sentence, func(t *testing.T) {
			t.Parallel()
			got := Compute(observed(row.given))
			c := meta.FindStatusCondition(got.Conditions, cachev1alpha1.ConditionReady)
			if c == nil {
				t.Fatal("there is no condition Ready")
			}
			if c.Reason != row.reason || c.Message != row.message {
				t.Errorf("Ready says\n%s: %q, want\n%s: %q", c.Reason, c.Message, row.reason, row.message)
			}
			if got := outcomeOf(t, got); got != row.outcome {
				t.Errorf("the outcome is %d, want %d", got, row.outcome)
			}
			if got := meta.IsStatusConditionTrue(got.Conditions, cachev1alpha1.ConditionAvailable); got != row.available {
				t.Errorf("Available is %t, want %t", got, row.available)
			}
		})
	}
}

// outcomeOf reads the conditions as kstatus does, and fails when they contradict.
func outcomeOf(t *testing.T, status cachev1alpha1.MemcachedStatus) outcome {
	t.Helper()
	isReady := meta.FindStatusCondition(status.Conditions, cachev1alpha1.ConditionReady)
	if isReady == nil || meta.FindStatusCondition(status.Conditions, cachev1alpha1.ConditionAvailable) == nil {
		t.Fatalf("Ready and Available have to be present always: %v", status.Conditions)
	}
	found := []outcome{}
	switch isReady.Status {
	case metav1.ConditionTrue:
		found = append(found, ready)
	case metav1.ConditionUnknown:
		found = append(found, paused)
	case metav1.ConditionFalse: // One of the others says why.
	}
	for kind, outcome := range map[string]outcome{cachev1alpha1.ConditionReconciling: reconciling, cachev1alpha1.ConditionStalled: stalled} {
		c := meta.FindStatusCondition(status.Conditions, kind)
		if c == nil {
			continue
		}
		found = append(found, outcome)
		if c.Status != metav1.ConditionTrue || c.Reason != isReady.Reason || c.Message != isReady.Message {
			t.Errorf("%s is present but is %v, while Ready is %v", kind, c, isReady)
		}
	}
	if len(found) != 1 {
		t.Fatalf("not exactly one of Ready, Reconciling and Stalled is True: %v", status.Conditions)
	}
	return found[0]
}

var verdicts = map[string]row{
	"everything is as asked": {
		nil, ready, "Ready", "all pods are up to date and ready", true,
	},
	"templates without a Deployment are ready once their objects are there": {
		noDeployment, ready, "Ready", "every object is as the templates say", false,
	},
	"a template that gives no objects stalls": {
		renderError("base/deployment.yaml: replicas: no such field"), stalled, "RenderFailed", "base/deployment.yaml: replicas: no such field", true,
	},
	"a patch that cannot be applied stalls with a reason of its own": {
		func(o *Observation) {
			o.RenderErr = &render.InvalidPatchError{Index: 2, Err: errors.New("line 1: a\tb")}
		},
		stalled, "InvalidPatch", `spec.patches[2]: line 1: a\tb`, true,
	},
	"a spec that is too large stalls with a reason of its own": {
		func(o *Observation) { o.RenderErr = &render.LimitError{Message: "spec.size is 5000"} }, stalled, "LimitExceeded", "spec.size is 5000", true,
	},
	"a patch that is too large stalls with the same reason": {
		func(o *Observation) {
			o.RenderErr = &render.InvalidPatchError{Err: &render.LimitError{Message: "too long"}}
		},
		stalled, "LimitExceeded", "spec.patches[0]: too long", true,
	},
	"a field that needs the right stalls with a reason of its own": {
		func(o *Observation) {
			o.RenderErr = fmt.Errorf("rendering: %w", &guarded.Error{Fields: guarded.Fields[:1]})
		},
		stalled, "PrivilegedField", "rendering: " + (&guarded.Error{Fields: guarded.Fields[:1]}).Error(), true,
	},
	"a paused Memcached is neither ready nor not": {
		isToPause(true), paused, "Paused", pausedText, true,
	},
	"nothing else is said of a paused Memcached": {
		all(isToPause(true), foreign("Service"), counted(3, 1, 1, 1)), paused, "Paused", pausedText, true,
	},
	"paused: false pauses nothing": {
		isToPause(false), ready, "Ready", "all pods are up to date and ready", true,
	},
	"what is left out is said, and no reason not to be ready": {
		leftOut("ServiceMonitor", "it is not served"), ready, "Ready",
		"all pods are up to date and ready; left out, since it is not served: ServiceMonitor", true,
	},
	"a kind that is left out is named once, sorted": {
		all(leftOut("ServiceMonitor", "it is not served"), leftOut("PrometheusRule", "it is not served"), leftOut("ServiceMonitor", "it is not served")),
		ready, "Ready", "all pods are up to date and ready; left out, since it is not served: PrometheusRule, ServiceMonitor", true,
	},
	"each why is said": {
		all(leftOut("ServiceMonitor", "b"), leftOut("PrometheusRule", "a")), ready, "Ready",
		"all pods are up to date and ready; left out, since a: PrometheusRule; left out, since b: ServiceMonitor", true,
	},
	"what is left out is said of a Memcached that is not ready too": {
		all(failing("Service", "the server is busy"), leftOut("ServiceMonitor", "it is not served")), reconciling, "ApplyFailed",
		"the server is busy; left out, since it is not served: ServiceMonitor", true,
	},
	"what is left out is said behind a message that is too long": {
		all(failing("Service", strings.Repeat("x", 2000)), leftOut("ServiceMonitor", "it is not served")), reconciling, "ApplyFailed",
		strings.Repeat("x", sanitize.MaxBytes-len("…; left out, since it is not served: ServiceMonitor")) + "…; left out, since it is not served: ServiceMonitor", true,
	},
	"somebody else's object stalls and is named": {
		foreign("Service"), stalled, "ForeignObject", foreignText("Service"), true,
	},
	"somebody else's objects are all named": {
		all(foreign("Service"), foreign("PodDisruptionBudget")), stalled, "ForeignObject",
		foreignText("Service") + "; " + foreignText("PodDisruptionBudget"), true,
	},
	"an object that the server calls invalid stalls with its words": {
		invalid("Deployment", "spec", "must be a number"), stalled, "InvalidObject",
		`Deployment "cache" is invalid: spec: Invalid value: must be a number`, true,
	},
	"an object that does not fit its schema stalls": {
		result("Service", apply.Failed, &apply.SchemaError{Kind: "Service", Name: "cache", Err: errors.New(".spec.port: no such field")}),
		stalled, "InvalidObject", "Service cache does not fit its schema: .spec.port: no such field", true,
	},
	"a foreign object gives the reason also after an invalid one": {
		all(invalid("Service", "spec", "bad"), foreign("PodDisruptionBudget")), stalled, "ForeignObject",
		`Service "cache" is invalid: spec: Invalid value: bad; ` + foreignText("PodDisruptionBudget"), true,
	},
	"a foreign object gives the reason also before an invalid one": {
		all(foreign("Service"), invalid("PodDisruptionBudget", "spec", "bad")), stalled, "ForeignObject",
		foreignText("Service") + `; PodDisruptionBudget "cache" is invalid: spec: Invalid value: bad`, true,
	},
	"a write that failed is tried again": {
		failing("Service", "the server is busy"), reconciling, "ApplyFailed", "the server is busy", true,
	},
	"all writes that failed are named": {
		all(failing("Service", "busy"), failing("Deployment", "too busy")), reconciling, "ApplyFailed", "busy; too busy", true,
	},
	"an earlier object that is being deleted is waited for": {
		waiting("Deployment"), reconciling, "WaitingForDeletion", "waiting for an earlier Deployment cache to be deleted", true,
	},
	"a leftover that could not be deleted is tried again": {
		pruneError("deleting ConfigMap cache: timeout"), reconciling, "ApplyFailed", "deleting ConfigMap cache: timeout", true,
	},
}

func TestVerdicts(t *testing.T) { testVerdicts(t, verdicts) }

// inOrder are causes of a verdict, the one that wins first.
var inOrder = []struct {
	name   string
	given  given
	reason string
}{
	{"render error", func(o *Observation) { renderError("x")(o) }, "RenderFailed"},
	{"foreign object", foreign("Service"), "ForeignObject"},
	{"failed write", failing("Deployment", "x"), "ApplyFailed"},
	{"waiting", waiting("PodDisruptionBudget"), "WaitingForDeletion"},
	{"failed prune", pruneError("x"), "ApplyFailed"},
	{"pods not made", deploymentSays("ReplicaFailure", corev1.ConditionTrue, "FailedCreate", "x"), "FailedCreate"},
	{"pod not running", waits("cache-a", "ErrImagePull", "x"), "ErrImagePull"},
	{"deadline", deadlinePassed, "ProgressDeadlineExceeded"},
	{"roll-out", counted(3, 2, 2, 2), "RollingOut"},
}

func TestTheFirstCauseInOrderGivesTheVerdict(t *testing.T) {
	t.Parallel()
	for i, first := range inOrder {
		for _, second := range inOrder[i+1:] {
			// The render error comes last here: it leaves no results to speak of.
			got := Compute(observed(all(second.given, first.given)))
			if c := meta.FindStatusCondition(got.Conditions, cachev1alpha1.ConditionReady); c.Reason != first.reason {
				t.Errorf("%s and %s: the reason is %s, want %s", first.name, second.name, c.Reason, first.reason)
			}
			outcomeOf(t, got)
		}
	}
}
