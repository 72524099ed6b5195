// SPDX-License-Identifier: Apache-2.0

package status

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	cachev1alpha1 "github.com/example/memcached-operator/apis/v1alpha1"
	"github.com/example/memcached-operator/internal/sanitize"
	"github.com/example/memcached-operator/reconcilers/apply"
	"github.com/example/memcached-operator/reconcilers/guarded"
	"github.com/example/memcached-operator/reconcilers/render"
)

// row is a test case: a given observation and the expected Ready condition and state.
type row struct {
	given     given
	state     state
	reason    string
	message   string
	available bool
}

func testRows(t *testing.T, table map[string]row) {
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
			if got := stateOf(t, got); got != row.state {
				t.Errorf("the state is %d, want %d", got, row.state)
			}
			if got := meta.IsStatusConditionTrue(got.Conditions, cachev1alpha1.ConditionAvailable); got != row.available {
				t.Errorf("Available is %t, want %t", got, row.available)
			}
		})
	}
}

// stateOf returns the state as kstatus computes it, and fails when conditions contradict each other.
func stateOf(t *testing.T, status cachev1alpha1.MemcachedStatus) state {
	t.Helper()
	isReady := meta.FindStatusCondition(status.Conditions, cachev1alpha1.ConditionReady)
	if isReady == nil || meta.FindStatusCondition(status.Conditions, cachev1alpha1.ConditionAvailable) == nil {
		t.Fatalf("Ready and Available have to be present always: %v", status.Conditions)
	}
	found := []state{}
	switch isReady.Status {
	case metav1.ConditionTrue:
		found = append(found, ready)
	case metav1.ConditionUnknown:
		found = append(found, paused)
	case metav1.ConditionFalse: // One of the others says why.
	}
	for kind, state := range map[string]state{cachev1alpha1.ConditionReconciling: reconciling, cachev1alpha1.ConditionStalled: stalled} {
		c := meta.FindStatusCondition(status.Conditions, kind)
		if c == nil {
			continue
		}
		found = append(found, state)
		if c.Status != metav1.ConditionTrue || c.Reason != isReady.Reason || c.Message != isReady.Message {
			t.Errorf("%s is present but is %v, while Ready is %v", kind, c, isReady)
		}
	}
	if len(found) != 1 {
		t.Fatalf("not exactly one of Ready, Reconciling and Stalled is True: %v", status.Conditions)
	}
	return found[0]
}

var evaluations = map[string]row{
	"is ready": {
		nil, ready, "Ready", "all pods are up to date and ready", true,
	},
	"is ready with its proxies": {
		proxies(2), ready, "Ready", "all pods are up to date and ready", true,
	},
	"is reconciling until all proxies are available": {
		proxies(1), reconciling, "RollingOut", "Deployment cache-proxy: 1 of 2 pods are available", true,
	},
	"is not available without a proxy": {
		proxies(0), reconciling, "RollingOut", "Deployment cache-proxy: 0 of 2 pods are available", false,
	},
	"says why no proxy can be created": {
		proxies(0, appsv1.DeploymentCondition{Type: appsv1.DeploymentReplicaFailure, Status: corev1.ConditionTrue, Message: "exceeded quota"}),
		reconciling, "RollingOut", "Deployment cache-proxy: 0 of 2 pods are available: exceeded quota", false,
	},
	"is stalled when the proxies make no progress": {
		proxies(1, appsv1.DeploymentCondition{Type: appsv1.DeploymentProgressing, Status: corev1.ConditionFalse, Reason: "ProgressDeadlineExceeded"}),
		stalled, "ProgressDeadlineExceeded", "Deployment cache-proxy: 1 of 2 pods are available", true,
	},
	"is ready without a Deployment once the objects exist": {
		noDeployment, ready, "Ready", "every object matches its template", false,
	},
	"stalls on a render error": {
		renderError("base/deployment.yaml: replicas: no such field"), stalled, "RenderFailed", "base/deployment.yaml: replicas: no such field", true,
	},
	"stalls with InvalidPatch on an invalid patch": {
		func(o *Observation) {
			o.RenderErr = &render.InvalidPatchError{Index: 2, Err: errors.New("line 1: a\tb")}
		},
		stalled, "InvalidPatch", `spec.patches[2]: line 1: a\tb`, true,
	},
	"stalls with InvalidParameter on an unknown parameter": {
		func(o *Observation) {
			o.RenderErr = fmt.Errorf("rendering: %w", &render.InvalidParameterError{Name: "zone", Message: "unknown parameter"})
		},
		stalled, "InvalidParameter", "rendering: spec.parameters.zone: unknown parameter", true,
	},
	"stalls with LimitExceeded on a spec that is too large": {
		func(o *Observation) { o.RenderErr = &render.LimitError{Message: "spec.size is 5000"} }, stalled, "LimitExceeded", "spec.size is 5000", true,
	},
	"stalls with LimitExceeded on a patch that is too large": {
		func(o *Observation) {
			o.RenderErr = &render.InvalidPatchError{Err: &render.LimitError{Message: "too long"}}
		},
		stalled, "LimitExceeded", "spec.patches[0]: too long", true,
	},
	"stalls with PrivilegedField on a privileged field": {
		func(o *Observation) {
			o.RenderErr = fmt.Errorf("rendering: %w", &guarded.Error{Fields: guarded.Fields[:1]})
		},
		stalled, "PrivilegedField", "rendering: " + (&guarded.Error{Fields: guarded.Fields[:1]}).Error(), true,
	},
	"is Unknown while paused": {
		isToPause(true), paused, "Paused", pausedText, true,
	},
	"reports nothing else while paused": {
		all(isToPause(true), foreign("Service"), counted(3, 1, 1, 1)), paused, "Paused", pausedText, false,
	},
	"is not paused by paused: false": {
		isToPause(false), ready, "Ready", "all pods are up to date and ready", true,
	},
	"what admission modified": {
		applied(apply.Result{Mutation: "spec.replicas, metadata.labels.a"}), ready, "Ready",
		"all pods are up to date and ready; an admission policy or webhook modifies Deployment cache (spec.replicas, metadata.labels.a)", true,
	},
	"what admission modified before a restart": {
		all(applied(apply.Result{UnknownMutation: true}), lasted(metav1.Condition{Type: "Ready", Message: "a; an admission policy or webhook modifies Deployment cache (spec.replicas); b"})), ready, "Ready",
		"all pods are up to date and ready; an admission policy or webhook modifies Deployment cache (spec.replicas)", true,
	},
	"what admission modifies no more": {
		all(applied(apply.Result{}), lasted(metav1.Condition{Type: "Ready", Message: "a; an admission policy or webhook modifies Deployment cache (spec.replicas); b"})), ready, "Ready",
		"all pods are up to date and ready", true,
	},
	"is ready during a hand-over, and says until when it goes on": {
		func(o *Observation) { o.MovesUntil = time.Unix(1764270070, 0).UTC() }, ready, "Ready",
		"all pods are up to date and ready; the proxies move items to other pods until 2025-11-27T19:01:10Z", true,
	},
	"is ready with a skipped kind, and names it": {
		skipped("ServiceMonitor", "not served"), ready, "Ready",
		"all pods are up to date and ready; skipped ServiceMonitor: not served", true,
	},
	"names skipped kinds once, sorted": {
		all(skipped("ServiceMonitor", "not served"), skipped("PrometheusRule", "not served"), skipped("ServiceMonitor", "not served")),
		ready, "Ready", "all pods are up to date and ready; skipped PrometheusRule, ServiceMonitor: not served", true,
	},
	"names each reason for skipping": {
		all(skipped("ServiceMonitor", "b"), skipped("PrometheusRule", "a")), ready, "Ready",
		"all pods are up to date and ready; skipped PrometheusRule: a; skipped ServiceMonitor: b", true,
	},
	"names skipped kinds when it is not ready": {
		all(failing("Service", "the server is busy"), skipped("ServiceMonitor", "not served")), reconciling, "ApplyFailed",
		"the server is busy; skipped ServiceMonitor: not served", true,
	},
	"truncates the message before the skipped kinds": {
		all(failing("Service", strings.Repeat("x", 2000)), skipped("ServiceMonitor", "not served")), reconciling, "ApplyFailed",
		strings.Repeat("x", sanitize.MaxBytes-len("…; skipped ServiceMonitor: not served")) + "…; skipped ServiceMonitor: not served", true,
	},
	"stalls on an object of another owner and names it": {
		foreign("Service"), stalled, "OwnershipConflict", foreignText("Service"), true,
	},
	"names all objects of other owners": {
		all(foreign("Service"), foreign("PodDisruptionBudget")), stalled, "OwnershipConflict",
		foreignText("Service") + "; " + foreignText("PodDisruptionBudget"), true,
	},
	"stalls on an invalid object with the API server's message": {
		invalid("Deployment", "spec", "must be a number"), stalled, "InvalidObject",
		`Deployment "cache" is invalid: spec: Invalid value: must be a number`, true,
	},
	"stalls on an object that does not match its schema": {
		result("Service", apply.Failed, &apply.SchemaError{Kind: "Service", Name: "cache", Err: errors.New(".spec.port: no such field")}),
		stalled, "InvalidObject", "Service cache does not match its schema: .spec.port: no such field", true,
	},
	"prefers OwnershipConflict to an earlier InvalidObject": {
		all(invalid("Service", "spec", "bad"), foreign("PodDisruptionBudget")), stalled, "OwnershipConflict",
		`Service "cache" is invalid: spec: Invalid value: bad; ` + foreignText("PodDisruptionBudget"), true,
	},
	"prefers OwnershipConflict to a later InvalidObject": {
		all(foreign("Service"), invalid("PodDisruptionBudget", "spec", "bad")), stalled, "OwnershipConflict",
		foreignText("Service") + `; PodDisruptionBudget "cache" is invalid: spec: Invalid value: bad`, true,
	},
	"retries a failed write": {
		failing("Service", "the server is busy"), reconciling, "ApplyFailed", "the server is busy", true,
	},
	"names all failed writes": {
		all(failing("Service", "busy"), failing("Deployment", "too busy")), reconciling, "ApplyFailed", "busy; too busy", true,
	},
	"waits for an object that is being deleted": {
		waiting("Deployment"), reconciling, "WaitingForDeletion", "waiting for an earlier Deployment cache to be deleted", true,
	},
	"retries to prune a stale object": {
		pruneError("deleting ConfigMap cache: timeout"), reconciling, "ApplyFailed", "deleting ConfigMap cache: timeout", true,
	},
}

func TestCompute_Evaluation(t *testing.T) { testRows(t, evaluations) }

// inOrder lists the checks in the order of precedence.
var inOrder = []struct {
	name   string
	given  given
	reason string
}{
	{"render error", func(o *Observation) { renderError("x")(o) }, "RenderFailed"},
	{"foreign object", foreign("Service"), "OwnershipConflict"},
	{"failed write", failing("Deployment", "x"), "ApplyFailed"},
	{"waiting", waiting("PodDisruptionBudget"), "WaitingForDeletion"},
	{"failed prune", pruneError("x"), "ApplyFailed"},
	{"pods not created", deploymentSays("ReplicaFailure", corev1.ConditionTrue, "FailedCreate", "x"), "FailedCreate"},
	{"pod not running", waits("cache-a", "ErrImagePull", "x"), "ErrImagePull"},
	{"deadline", deadlinePassed, "ProgressDeadlineExceeded"},
	{"rollout", counted(3, 2, 2, 2), "RollingOut"},
}

func TestCompute_ReportsFirstResultInOrder(t *testing.T) {
	t.Parallel()
	for i, first := range inOrder {
		for _, second := range inOrder[i+1:] {
			// The render error comes last here: it leaves no results to speak of.
			got := Compute(observed(all(second.given, first.given)))
			if c := meta.FindStatusCondition(got.Conditions, cachev1alpha1.ConditionReady); c.Reason != first.reason {
				t.Errorf("%s and %s: the reason is %s, want %s", first.name, second.name, c.Reason, first.reason)
			}
			stateOf(t, got)
		}
	}
}
