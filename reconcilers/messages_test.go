// SPDX-License-Identifier: Apache-2.0

package reconcilers_test

import (
	"fmt"
	"strings"
	"testing"
	"unicode/utf8"

	eventsv1 "k8s.io/api/events/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	cachev1alpha1 "github.com/example/memcached-operator/apis/v1alpha1"
	"github.com/example/memcached-operator/test/testenv"
)

// secret is in every value of hostilePatches, which nobody may read elsewhere.
const secret = "hunter2"

// hostilePatches are patches that the operator or the API server rejects, with the
// reason of the condition and a passage of its message.
var hostilePatches = map[string]struct{ patch, reason, words string }{
	"bomb":          {"a: &hunter2 [x, x]\nb: [*hunter2, *hunter2]", cachev1alpha1.ReasonInvalidPatch, "spec.patches[0]: line 1: anchors (&name) are refused"},
	"large":         {"a: [" + strings.Repeat("hunter2,", 1000) + "]", cachev1alpha1.ReasonLimitExceeded, "spec.patches[0]: the patch has 100"},
	"control":       {`"\u001b[2J\nfield\u202e": hunter2`, cachev1alpha1.ReasonInvalidPatch, `\u001b[2J\nfield\u202e: unknown field`},
	"endless-field": {"a" + strings.Repeat("b", 900) + ": hunter2", cachev1alpha1.ReasonInvalidPatch, "unknown field"},
	"endless-word":  {"metadata: {annotations: {" + strings.Repeat("b", 1000) + ": [hunter2]}}", cachev1alpha1.ReasonInvalidPatch, "bbb…"},
	"wrong-type":    {"spec: {replicas: hunter2}", cachev1alpha1.ReasonInvalidPatch, "spec.replicas: expected a number"},
	"failed-test":   {"[{op: test, path: /spec/replicas, value: hunter2}]", cachev1alpha1.ReasonInvalidPatch, "operation 0: /spec/replicas is not what the test expects"},
	"label":         {`metadata: {labels: {a: "hunter2\u0007 !"}}`, cachev1alpha1.ReasonInvalidObject, "metadata.labels: Invalid value: a valid label must be"},
	"env":           {`spec: {template: {spec: {containers: [{name: memcached, env: [{name: "=", value: hunter2, valueFrom: {fieldRef: {fieldPath: hunter2}}}]}]}}}`, cachev1alpha1.ReasonInvalidObject, "valueFrom"},
	"policy":        {"spec: {template: {spec: {restartPolicy: hunter2}}}", cachev1alpha1.ReasonInvalidObject, "restartPolicy: Unsupported value"},
	"quantity":      {"spec: {template: {spec: {containers: [{name: memcached, resources: {limits: {cpu: hunter2}}}]}}}", cachev1alpha1.ReasonInvalidPatch, "limits.cpu: not a quantity"},
}

func TestReconcile_LeaksNoValuesOfSpec(t *testing.T) {
	t.Parallel()
	namespace, log := suite.NewNamespace(t), &testenv.Log{}
	startWith(t, &suite, namespace, testenv.ManagerOptions{Logger: log.Logger()})
	for name, test := range hostilePatches {
		mc := memcached(namespace, name)
		mc.Spec.Patches = []cachev1alpha1.Patch{{Target: cachev1alpha1.PatchTarget{Kind: "Deployment"}, Patch: test.patch}}
		suite.Create(t, mc)
	}
	for name, test := range hostilePatches {
		mc := memcached(namespace, name)
		eventuallyIs(t, mc, cachev1alpha1.ConditionStalled, test.reason)
		if message := messageOf(mc, cachev1alpha1.ConditionStalled); !strings.Contains(message, test.words) {
			t.Errorf("%s: the message lacks %q: %s", name, test.words, message)
		}
		mustBeClean(t, "the status of "+name, fmt.Sprint(mc.Status.Image))
		for _, c := range mc.Status.Conditions {
			mustBeClean(t, "the condition of "+name, c.Message)
		}
	}
	testenv.Eventually(t, "an event each", func() bool {
		stalled := map[string]bool{}
		for _, event := range warnings(t, namespace, "") {
			stalled[event.Regarding.Name] = true
		}
		return len(stalled) == len(hostilePatches)
	})
	events := &eventsv1.EventList{}
	testenv.NoError(t, suite.Client.List(t.Context(), events, client.InNamespace(namespace)))
	for _, e := range events.Items {
		mustBeClean(t, "an event of "+e.Regarding.Name, e.Note)
	}
	if count := strings.Count(log.String(), "\n"); count < len(hostilePatches) {
		t.Errorf("only %d lines are logged", count)
	}
	for line := range strings.Lines(log.String()) {
		// The values beside the message, such as the Memcached's name, come on top.
		if len(line) > 2048 || strings.Contains(line, secret) || strings.ContainsAny(line, "\u202e\x1b") {
			t.Errorf("the log has a line of %d bytes: %.300q", len(line), line)
		}
	}
}

func mustBeClean(t *testing.T, what, text string) {
	t.Helper()
	if len(text) > 1024 || !utf8.ValidString(text) || strings.ContainsAny(text, "\n\x1b\x07\u202e") || strings.Contains(text, secret) ||
		strings.Contains(text, "<nil>") || strings.Contains(text, "&value") {
		t.Errorf("%s has %d bytes: %.300q", what, len(text), text)
	}
}
