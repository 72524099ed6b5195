// SPDX-License-Identifier: Apache-2.0

package program_test

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	cachev1alpha1 "github.com/example/memcached-operator/apis/v1alpha1"
	"github.com/example/memcached-operator/test/testenv"
)

// patched returns a Memcached with a patch of its Deployment.
func (w *webhook) patched(name, patch string) *cachev1alpha1.Memcached {
	mc := testenv.Memcached(w.namespace, name, 1)
	mc.Spec.Patches = []cachev1alpha1.Patch{{Target: cachev1alpha1.PatchTarget{Kind: "Deployment"}, Patch: patch}}
	return mc
}

// TestWebhook_RejectsWhatWouldBecomeStalled compares the messages with those of the condition Stalled, which Memcacheds get
// that are created while the webhook is down.
func TestWebhook_RejectsWhatWouldBecomeStalled(t *testing.T) {
	t.Parallel()
	for sentence, test := range map[string]struct {
		args  []string
		patch string
	}{
		"a field that needs a flag":   {nil, "{spec: {template: {spec: {hostNetwork: true}}}}"},
		"an unknown field":            {[]string{"--allow-privileged-fields"}, "{spec: {replica: 2}}"},
		"a value of the wrong type":   {[]string{"--allow-privileged-fields"}, "{spec: {replicas: two}}"},
		"a patch that exceeds limits": {[]string{"--allow-privileged-fields"}, "a: [" + strings.Repeat("x,", 1000) + "]"},
	} {
		t.Run(sentence, func(t *testing.T) {
			t.Parallel()
			w := startWebhook(t, test.args...)
			err := w.client.Create(t.Context(), w.patched("rejected", test.patch))
			if err == nil {
				t.Fatal("it is created")
			}
			update := testenv.Memcached(w.namespace, "updated", 1)
			suite.Create(t, update)
			changed := update.DeepCopy()
			changed.Spec.Patches = w.patched("", test.patch).Spec.Patches
			errUpdate := w.client.Patch(t.Context(), changed, client.MergeFrom(update))
			stalled := w.whileDown(test.args, w.patched("stalled", test.patch))
			for action, err := range map[string]error{"create": err, "update": errUpdate} {
				want := strings.Replace(stalled, "Deployment stalled:", map[string]string{"create": "Deployment rejected:", "update": "Deployment updated:"}[action], 1)
				if err == nil || !strings.HasSuffix(err.Error(), want) {
					t.Errorf("%s: %v, want the message of Stalled: %s", action, err, want)
				}
			}
			// What is stalled already can be changed, with a warning.
			testenv.NoError(t, w.client.Patch(t.Context(), testenv.Memcached(w.namespace, "stalled", 1), client.RawPatch(types.MergePatchType, []byte(`{"spec": {"size": 2}}`))))
			if got := w.warnings.take(); got != stalled {
				t.Errorf("the warning is %s, want %s", got, stalled)
			}
			// Also if another fault is left.
			testenv.NoError(t, w.client.Patch(t.Context(), testenv.Memcached(w.namespace, "stalled", 1), client.RawPatch(types.MergePatchType,
				[]byte(`{"spec": {"patches": [{"target": {"kind": "Deployment"}, "patch": "spec: {minReadySeconds: soon}"}]}}`))))
			if got := w.warnings.take(); got == "" {
				t.Error("there is no warning of another fault")
			}
		})
	}
}

// whileDown creates mc while the operator is down, starts the operator, and returns the message of its condition Stalled.
func (w *webhook) whileDown(args []string, mc *cachev1alpha1.Memcached) string {
	w.t.Helper()
	w.operator.Kill()
	testenv.NoError(w.t, w.client.Create(w.t.Context(), mc)) // The webhook is down and does not block it.
	w.startOperator(args...)
	testenv.EventuallyObject(w.t, &suite, mc, "it should become stalled", func(mc *cachev1alpha1.Memcached) bool {
		return testenv.HasCondition(mc, cachev1alpha1.ConditionStalled, metav1.ConditionTrue, "")
	})
	w.eventuallyServes()
	return meta.FindStatusCondition(mc.Status.Conditions, cachev1alpha1.ConditionStalled).Message
}

func TestWebhook_Warns(t *testing.T) {
	t.Parallel()
	w := startWebhook(t, "--allow-privileged-fields")
	mc := testenv.Memcached(w.namespace, "cache", 5)
	testenv.NoError(t, w.client.Create(t.Context(), mc))
	if got := w.warnings.take(); got != "" {
		t.Errorf("a new one is warned of: %s", got)
	}
	for _, test := range []struct{ sentence, patch, want string }{
		{"a change of the pods", `{"spec": {"threads": 2}}`, "replaces all 5 pods one by one; their cached data is lost"},
		{"the same again", `{"spec": {"threads": 2}}`, ""},
		{"a change of the size", `{"spec": {"size": 3}}`, ""},
		{"a change that replaces no pod", `{"spec": {"minReadySeconds": 3}}`, ""},
		{"a change of metadata", `{"metadata": {"labels": {"a": "b"}}}`, ""},
		{"an old image", `{"spec": {"image": "memcached:1.6.43-alpine"}}`,
			"image memcached:1.6.43-alpine is older than memcached 1.6.44, before which the reload of users has known faults\nreplaces all 3 pods one by one; their cached data is lost"},
		{"the tutorial's image", `{"spec": {"image": "memcached:1.4.36-alpine"}}`,
			"image memcached:1.4.36-alpine is older than memcached 1.6.0, the first that knows the options of the templates: its pods do not start\nreplaces all 3 pods one by one; their cached data is lost"},
		{"an image without what proxies need", `{"spec": {"image": "memcached:1.6.38", "proxy": {}}}`,
			"image memcached:1.6.38 is older than memcached 1.6.40, the first with what proxies need: they may not start\nreplaces all 3 pods one by one; their cached data is lost"},
		{"another image", `{"spec": {"image": "memcached:1.6.45", "proxy": null}}`, "replaces all 3 pods one by one; their cached data is lost"},
		{"a roll-out of its own", `{"spec": {"rollout": {"maxUnavailable": 2}, "threads": 3}}`, "replaces all 3 pods as spec.rollout allows; their cached data is lost"},
		{"a kind that is not served", `{"spec": {"metrics": {"serviceMonitor": {}}}}`,
			"ServiceMonitor is skipped: not served by the API server\nreplaces all 3 pods as spec.rollout allows; their cached data is lost"},
		{"a scale-down", `{"spec": {"size": 1}}`, "ServiceMonitor is skipped: not served by the API server"},
		{"a change of the only pod", `{"spec": {"threads": 5}}`, "ServiceMonitor is skipped: not served by the API server\nreplaces the only pod; its cached data is lost"},
		{"a change while it is paused", `{"spec": {"paused": true, "threads": 4}}`, "ServiceMonitor is skipped: not served by the API server"},
		{"a memory limit that is too small for all connections", `{"spec": {"resources": {"limits": {"memory": "90Mi"}}}}`,
			"ServiceMonitor is skipped: not served by the API server\nmemory limit 90Mi: with a cache of 64Mi, 1024 connections and 4 threads memcached takes up to 143Mi, and the kernel kills it beyond the limit"},
		{"a memory limit of its own that suffices", `{"spec": {"resources": {"limits": {"memory": "143Mi"}}}}`, "ServiceMonitor is skipped: not served by the API server"},
		{"warm restarts", `{"spec": {"warmRestart": {}, "memory": "256Mi", "resources": null, "size": 2, "paused": null}}`,
			"ServiceMonitor is skipped: not served by the API server\nreplaces the only pod; its cached data is lost"},
		{"another image with warm restarts", `{"spec": {"image": "memcached:1.6.44"}}`,
			"ServiceMonitor is skipped: not served by the API server\nrestarts memcached in its pods one by one; they keep their cached data"},
		{"another image and another setting", `{"spec": {"image": "memcached:1.6.45", "threads": 3}}`,
			"ServiceMonitor is skipped: not served by the API server\nreplaces all 2 pods as spec.rollout allows; their cached data is lost"},
		{"no warm restarts", `{"spec": {"warmRestart": null, "memory": null, "size": 1}}`,
			"ServiceMonitor is skipped: not served by the API server\nreplaces all 2 pods as spec.rollout allows; their cached data is lost"},
		{"a hand-over", `{"spec": {"proxy": {"handoverSeconds": 60}, "metrics": null}}`, "replaces the only pod; its cached data is lost"},
		{"a change with a hand-over", `{"spec": {"threads": 4, "size": 2}}`, "replaces the only pod; its cached data is handed over"},
		{"a change of some pods with a hand-over", `{"spec": {"threads": 5}}`, "replaces all 2 pods as spec.rollout allows; their cached data is handed over"},
		{"the end of hand-overs", `{"spec": {"proxy": {"handoverSeconds": null}}}`, "replaces all 2 pods as spec.rollout allows; their cached data is lost"},
	} {
		if got := w.patch(mc, test.patch); got != test.want {
			t.Errorf("%s: the warnings are\n%s\nwant\n%s", test.sentence, got, test.want)
		}
	}
}

// patch patches the Memcached mc and returns the warnings. The patch names the resourceVersion: the API server tries one without
// it on the object of its cache first, which may be an older one, and returns the warnings of that too.
func (w *webhook) patch(mc *cachev1alpha1.Memcached, patch string) string {
	w.t.Helper()
	var content unstructured.Unstructured
	testenv.NoError(w.t, json.Unmarshal([]byte(patch), &content.Object))
	for {
		suite.Get(w.t, mc)
		content.SetResourceVersion(mc.ResourceVersion)
		text, err := json.Marshal(content.Object)
		testenv.NoError(w.t, err)
		err = w.client.Patch(w.t.Context(), mc, client.RawPatch(types.MergePatchType, text))
		if warnings := w.warnings.take(); !apierrors.IsConflict(err) {
			testenv.NoError(w.t, err)
			return warnings
		}
	}
}

// TestWebhook_WaitsForItsCertificate: without one the operator reconciles, and writes of Memcacheds are not blocked.
func TestWebhook_WaitsForItsCertificate(t *testing.T) {
	t.Parallel()
	w := startWebhook(t)
	w.operator.Terminate(t)
	w.certDir = t.TempDir()
	w.startOperator()
	mc := testenv.Memcached(w.namespace, "cache", 0)
	testenv.NoError(t, w.client.Create(t.Context(), mc))
	suite.EventuallyReady(t, mc)
	w.writeCertificate()
	w.eventuallyServes()
}

// TestWebhook_AnswersUnderLoad creates and changes Memcacheds while the webhook is on, off and on again: each write
// succeeds. The times of the answers are logged.
func TestWebhook_AnswersUnderLoad(t *testing.T) {
	t.Parallel()
	const memcacheds = 100
	w := startWebhook(t)
	var served []time.Duration
	write := func(i int) {
		t.Helper()
		began := time.Now()
		mc := testenv.Memcached(w.namespace, fmt.Sprintf("cache-%03d", i), 0)
		testenv.NoError(t, w.client.Create(t.Context(), mc))
		testenv.NoError(t, w.client.Patch(t.Context(), mc, client.RawPatch(types.MergePatchType, []byte(`{"spec": {"threads": 2}}`))))
		served = append(served, time.Since(began)/2)
	}
	for i := range memcacheds {
		write(i)
	}
	slices.Sort(served)
	t.Logf("a write takes p50 %s, p99 %s with the webhook", served[len(served)/2], served[len(served)*99/100])
	w.operator.Kill()
	for i := range memcacheds {
		write(memcacheds + i)
	}
	w.startOperator()
	for i := range memcacheds {
		write(2*memcacheds + i)
	}
	w.eventuallyServes()
}
