// SPDX-License-Identifier: Apache-2.0

package reconcilers_test

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"testing"
	"unicode/utf8"

	"github.com/go-logr/logr"
	"github.com/go-logr/logr/funcr"
	eventsv1 "k8s.io/api/events/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	cachev1alpha1 "github.com/example/memcached-operator/apis/v1alpha1"
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
	"quantity":      {"spec: {template: {spec: {containers: [{name: memcached, resources: {limits: {cpu: hunter2}}}]}}}", cachev1alpha1.ReasonInvalidObject, "a quantity is malformed"},
}

// lines collects what an operator logs.
type lines struct {
	mu  sync.Mutex
	all []string
}

func (l *lines) logger() logr.Logger {
	return funcr.New(func(_, args string) {
		l.mu.Lock()
		defer l.mu.Unlock()
		l.all = append(l.all, args)
	}, funcr.Options{})
}

func TestReconcile_LeaksNoValuesOfSpec(t *testing.T) {
	t.Parallel()
	namespace := newNamespace(t)
	logged := &lines{}
	setUp{logger: logged.logger()}.start(t, suite.operator, namespace)
	for name, test := range hostilePatches {
		mc := &cachev1alpha1.Memcached{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name}}
		mc.Spec.Patches = []cachev1alpha1.Patch{{Target: cachev1alpha1.PatchTarget{Kind: "Deployment"}, Patch: test.patch}}
		fatal(t, suite.Client.Create(t.Context(), mc))
	}
	for name, test := range hostilePatches {
		mc := &cachev1alpha1.Memcached{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name}}
		eventually(t, mc, name+" is stalled", func(mc *cachev1alpha1.Memcached) bool {
			return is(mc, cachev1alpha1.ConditionStalled, metav1.ConditionTrue, test.reason)
		})
		message := meta.FindStatusCondition(mc.Status.Conditions, cachev1alpha1.ConditionStalled).Message
		if !strings.Contains(message, test.words) {
			t.Errorf("%s: the message lacks %q: %s", name, test.words, message)
		}
		mustBeClean(t, "the status of "+name, fmt.Sprint(mc.Status.Image))
		for _, c := range mc.Status.Conditions {
			mustBeClean(t, "the condition of "+name, c.Message)
		}
	}
	events := &eventsv1.EventList{}
	eventually(t, &cachev1alpha1.Memcached{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "bomb"}}, "an event each", func(*cachev1alpha1.Memcached) bool {
		fatal(t, suite.Client.List(t.Context(), events, client.InNamespace(namespace)))
		stalled := map[string]bool{}
		for _, e := range events.Items {
			if e.Regarding.Kind == "Memcached" && e.Type == "Warning" {
				stalled[e.Regarding.Name] = true
			}
		}
		return len(stalled) == len(hostilePatches)
	})
	for _, e := range events.Items {
		mustBeClean(t, "an event of "+e.Regarding.Name, e.Note)
	}
	logged.mu.Lock()
	defer logged.mu.Unlock()
	if len(logged.all) < len(hostilePatches) {
		t.Errorf("only %d lines are logged", len(logged.all))
	}
	for _, line := range logged.all {
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

// A bound that is new in the CRD does not touch what runs: admission lets unchanged
// fields through, and the operator reports instead of applying.
func TestReconcile_ReportsSpecThatOlderCRDAccepted(t *testing.T) {
	namespace := newNamespace(t)
	o := startOperator(t, suite.operator, namespace, nil)
	mc := newMemcached(t, namespace, "older", 1)
	ready(t, mc)
	before := deploymentNow(t, namespace, "older")
	o.stop()

	setMaximumOfThreads(t, 1000)
	patch(t, mc, `{"spec":{"threads":100,"size":2}}`)
	setMaximumOfThreads(t, 64)
	startOperator(t, suite.operator, namespace, nil)
	eventually(t, mc, "stalled", func(mc *cachev1alpha1.Memcached) bool {
		return is(mc, cachev1alpha1.ConditionStalled, metav1.ConditionTrue, cachev1alpha1.ReasonLimitExceeded)
	})
	const want = "spec.threads is 100, which is more than the maximum of 64; lower it"
	if got := meta.FindStatusCondition(mc.Status.Conditions, cachev1alpha1.ConditionReady).Message; got != want {
		t.Errorf("the message is %q, want %q", got, want)
	}
	if !is(mc, cachev1alpha1.ConditionAvailable, metav1.ConditionTrue, "") || *mc.Status.ReadyReplicas != 1 {
		t.Errorf("it does not run on: %+v", mc.Status)
	}
	if after := deploymentNow(t, namespace, "older"); after.Generation != before.Generation || after.UID != before.UID {
		t.Errorf("the Deployment was changed: generation %d", after.Generation)
	}
	fatal(t, suite.Client.Delete(t.Context(), mc))
	gone(t, mc)
	gone(t, before)
}

// setMaximumOfThreads changes the CRD as it is served, and waits until that counts.
func setMaximumOfThreads(t *testing.T, maximum int32) {
	t.Helper()
	crd := &unstructured.Unstructured{}
	crd.SetAPIVersion("apiextensions.k8s.io/v1")
	crd.SetKind("CustomResourceDefinition")
	crd.SetName("memcacheds.cache.example.com")
	path := "/spec/versions/0/schema/openAPIV3Schema/properties/spec/properties/threads/maximum"
	patch := fmt.Appendf(nil, `[{"op":"replace","path":%q,"value":%d}]`, path, maximum)
	fatal(t, suite.Client.Patch(t.Context(), crd, client.RawPatch(types.JSONPatchType, patch)))
	poll(t, "the API server checks by the new CRD", func(ctx context.Context) (bool, error) {
		accepts := func(threads int32) bool {
			mc := &cachev1alpha1.Memcached{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "probe"}}
			mc.Spec.Threads = &threads
			return suite.Client.Create(ctx, mc, client.DryRunAll) == nil
		}
		return accepts(maximum) && !accepts(maximum+1), nil
	})
}
