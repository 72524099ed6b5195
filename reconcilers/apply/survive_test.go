// SPDX-License-Identifier: Apache-2.0

package apply_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/example/memcached-operator/reconcilers/apply"
)

// policy makes the API server change every Deployment of the env by expression, the
// mutation of a MutatingAdmissionPolicy, until the returned function takes it away.
// It has begun when a Deployment comes out mutated.
func (w *env) policy(expression string, mutated func(created *unstructured.Unstructured) bool) (takeAway func()) {
	w.t.Helper()
	suite.plane.SkipUnlessServed(w.t, "MutatingAdmissionPolicy.v1.admissionregistration.k8s.io")
	name := w.namespace
	policy := parse(w.t, fmt.Sprintf(`
apiVersion: admissionregistration.k8s.io/v1
kind: MutatingAdmissionPolicy
metadata: {name: %[1]s}
spec:
  reinvocationPolicy: Never
  failurePolicy: Fail
  matchConstraints:
    namespaceSelector: {matchLabels: {kubernetes.io/metadata.name: %[1]s}}
    resourceRules:
    - {apiGroups: [apps], apiVersions: [v1], operations: [CREATE, UPDATE], resources: [deployments]}
  mutations:
  - patchType: JSONPatch
    jsonPatch: {expression: %[2]q}
`, name, expression))
	binding := parse(w.t, fmt.Sprintf(`
apiVersion: admissionregistration.k8s.io/v1
kind: MutatingAdmissionPolicyBinding
metadata: {name: %[1]s}
spec: {policyName: %[1]s}
`, name))
	must(w.t, suite.plane.Apply(w.t.Context(), policy))
	must(w.t, suite.plane.Apply(w.t.Context(), binding))
	w.awaitAdmission(func(created *unstructured.Unstructured, err error) bool {
		return err == nil && mutated(created)
	})
	return func() {
		w.t.Helper()
		w.delete(binding)
		w.delete(policy)
		w.awaitAdmission(func(created *unstructured.Unstructured, err error) bool {
			return err == nil && !mutated(created)
		})
	}
}

const (
	mirrored  = "mirror.example.com/memcached"
	setImage  = `[JSONPatch{op: "replace", path: "/spec/template/spec/containers/0/image", value: "` + mirrored + `"}]`
	imagePath = `.spec.template.spec.containers[name="memcached"].image`
)

func isMirrored(created *unstructured.Unstructured) bool {
	return container(created)["image"] == mirrored
}

// What a policy makes of our objects is reported, as news once, and tried again only when
// something changes or after some time.
func TestApply_DoesNotRetryUnresolvedDrift(t *testing.T) {
	t.Parallel()
	w := newEnv(t)
	w.policy(setImage, isMirrored)
	object := w.deployment()

	mustSurvive := func(when string, action apply.Action) {
		t.Helper()
		result := w.apply(when, action, object)[0]
		w.requests.mustBe(t, when, "apply deployments/cache")
		if !strings.Contains(result.Drift, imagePath) || strings.Contains(result.Drift, "replicas") {
			t.Errorf("%s: what survived is %q, want the image", when, result.Drift)
		}
		quiet := func(when string) {
			t.Helper()
			if result := w.apply(when, apply.Unchanged, object)[0]; !strings.Contains(result.Drift, imagePath) || result.NewDrift {
				t.Errorf("%s: reported are %q, as news: %v", when, result.Drift, result.NewDrift)
			}
			w.requests.mustBe(t, when)
		}
		quiet(when + ", at once again")
		w.settle(object)
		quiet(when + ", once the cache knows")
		quiet(when + ", and again")
		if got := container(w.live(object))["image"]; got != mirrored {
			t.Errorf("%s: the image is %v", when, got)
		}
	}
	mustSurvive("when it is made", apply.Created)

	w.updateStatus(object, func(live *unstructured.Unstructured) { live.Object["status"] = map[string]any{"replicas": int64(3)} })
	w.update("someone", object, func(live *unstructured.Unstructured) { live.SetAnnotations(map[string]string{"a": "b"}) })
	w.settle(object)
	w.apply("when others change what is theirs", apply.Unchanged, object)
	w.requests.mustBe(t, "when others change what is theirs")

	set(t, object, int64(5), "spec", "replicas")
	mustSurvive("when something else is rendered", apply.Configured)

	container(object)["image"] = "memcached:1.6.46"
	mustSurvive("when another image is rendered", apply.Configured)

	w.update("someone", object, func(live *unstructured.Unstructured) { set(t, live, int64(1), "spec", "replicas") })
	w.settle(object)
	mustSurvive("when the Deployment is scaled", apply.Configured)

	w.update("someone", object, func(live *unstructured.Unstructured) { container(live)["image"] = "memcached:other" })
	w.settle(object)
	mustSurvive("when another client sets the image, which the policy changes back", apply.Configured)

	w.clock.advance(time.Minute)
	mustSurvive("after a minute", apply.Configured)

	w.restart()
	mustSurvive("after a restart", apply.Configured)
}

// When the policy goes, what it changed is reverted.
func TestApply_RetriesAfterMutatingPolicyRemoved(t *testing.T) {
	t.Parallel()
	w := newEnv(t)
	takeAway := w.policy(setImage, isMirrored)
	object := w.deployment()
	w.applied(object)
	takeAway()
	w.apply("while nothing changes", apply.Unchanged, object)
	w.requests.mustBe(t, "while nothing changes")

	w.clock.advance(time.Minute)
	if result := w.apply("after a minute", apply.Configured, object)[0]; result.Drift != "" {
		t.Errorf("it is said that the server changed %s", result.Drift)
	}
	if got, want := container(w.live(object))["image"], container(object)["image"]; got != want {
		t.Errorf("the image is %v, want %v", got, want)
	}
	w.requests.take()
	w.mustHold("afterwards", object)
}

// Whatever a policy changes is named, whether it removes, adds to or replaces what we
// render, and nothing else is.
func TestApply_ReportsEveryFieldModifiedByPolicy(t *testing.T) {
	t.Parallel()
	w := newEnv(t)
	w.policy(`[JSONPatch{op: "replace", path: "/spec/template/spec/containers/0/image", value: "`+mirrored+`"},
		JSONPatch{op: "remove", path: "/spec/template/spec/containers/0/readinessProbe"},
		JSONPatch{op: "add", path: "/spec/template/spec/containers/0/args/-", value: "--verbose"},
		JSONPatch{op: "replace", path: "/spec/template/spec/containers/0/command/0", value: "other"},
		JSONPatch{op: "replace", path: "/spec/template/spec/topologySpreadConstraints/0/labelSelector/matchLabels/app", value: "other"},
		JSONPatch{op: "add", path: "/spec/template/spec/containers/0/stdin", value: true},
		JSONPatch{op: "add", path: "/spec/template/spec/shareProcessNamespace", value: true},
		JSONPatch{op: "add", path: "/spec/template/spec/containers/0/env/0/value", value: "other"},
		JSONPatch{op: "add", path: "/metadata/annotations", value: {"policy": "was here"}}]`, isMirrored)
	object := w.deployment()
	// Zero values are omitted where the API server stores an object, and are still ours.
	container(object)["stdin"] = false
	pod(object)["shareProcessNamespace"] = false
	container(object)["env"].([]any)[0].(map[string]any)["value"] = ""
	result := w.apply("at first", apply.Created, object)[0]
	for _, want := range []string{imagePath, "readinessProbe", ".args", ".command", ".labelSelector", ".stdin", "shareProcessNamespace", ".value"} {
		if !strings.Contains(result.Drift, want) {
			t.Errorf("%s is not reported: %s", want, result.Drift)
		}
	}
	if strings.Contains(result.Drift, "annotations") {
		t.Errorf("what we do not render is reported: %s", result.Drift)
	}
	w.requests.take()
	w.settle(object)
	w.apply("again", apply.Unchanged, object)
	w.requests.mustBe(t, "again")
}

// A policy that only adds what we do not render is nobody's business.
func TestApply_KeepsFieldsAddedByPolicy(t *testing.T) {
	t.Parallel()
	w := newEnv(t)
	w.policy(`[JSONPatch{op: "add", path: "/spec/template/spec/containers/-", value: {"name": "proxy", "image": "proxy"}},
		JSONPatch{op: "add", path: "/spec/template/spec/priorityClassName", value: "high"},
		JSONPatch{op: "replace", path: "/spec/template/spec/containers/0/terminationMessagePolicy", value: "FallbackToLogsOnError"}]`, func(created *unstructured.Unstructured) bool {
		return len(pod(created)["containers"].([]any)) == 2
	})
	object := w.deployment()
	if result := w.apply("at first", apply.Created, object)[0]; result.Drift != "" {
		t.Errorf("it is said that the server changed %s", result.Drift)
	}
	if n := len(pod(w.live(object))["containers"].([]any)); n != 2 {
		t.Fatalf("there are %d containers: the policy does not work", n)
	}
	w.requests.take()
	w.mustHold("afterwards", object)
}
