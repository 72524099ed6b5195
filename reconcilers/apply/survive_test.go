// SPDX-License-Identifier: Apache-2.0

package apply_test

import (
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/example/memcached-operator/reconcilers/apply"
)

// policy makes the API server change every Deployment of the env by expression, the
// mutation of a MutatingAdmissionPolicy, until the returned function takes it away.
func (w *env) policy(expression string, mutated func(created *unstructured.Unstructured) bool) (takeAway func()) {
	w.t.Helper()
	return suite.MutateDeployments(w.t, w.probe(), expression, mutated)
}

const (
	mirrored  = "mirror.example.com/memcached"
	setImage  = `[JSONPatch{op: "replace", path: "/spec/template/spec/containers/0/image", value: "` + mirrored + `"}]`
	imagePath = `spec.template.spec.containers[name="memcached"].image`
)

func isMirrored(created *unstructured.Unstructured) bool {
	return container(created)["image"] == mirrored
}

// mustSurvive applies object, in which the policy changes the image, and checks that this is reported
// and not tried again.
func (w *env) mustSurvive(when string, action apply.Action, object *unstructured.Unstructured) {
	w.t.Helper()
	result := w.apply(when, action, object)[0]
	w.requests.mustBe(w.t, when, "apply deployments/cache")
	if !strings.Contains(result.Mutation, imagePath) || strings.Contains(result.Mutation, "replicas") {
		w.t.Errorf("%s: what survived is %q, want the image", when, result.Mutation)
	}
	for _, then := range []string{"at once again", "once the cache knows", "and again"} {
		if result := w.apply(when+", "+then, apply.Unchanged, object)[0]; !strings.Contains(result.Mutation, imagePath) || result.NewMutation {
			w.t.Errorf("%s, %s: reported are %q, as news: %v", when, then, result.Mutation, result.NewMutation)
		}
		w.requests.mustBe(w.t, when+", "+then)
		w.settle(object)
	}
	if got := container(w.live(object))["image"]; got != mirrored {
		w.t.Errorf("%s: the image is %v", when, got)
	}
}

// What a policy makes of our objects is reported, as news once, and tried again only when something changes.
func TestApply_DoesNotFightPolicies(t *testing.T) {
	t.Parallel()
	w := newEnv(t)
	w.policy(setImage, isMirrored)
	object := w.deployment()
	w.mustSurvive("when it is made", apply.Created, object)

	w.updateStatus(object, func(live *unstructured.Unstructured) { live.Object["status"] = map[string]any{"replicas": int64(3)} })
	patched(`add /metadata/annotations/a "b"`)(w, object)
	w.settle(object)
	w.apply("when others change what is theirs", apply.Unchanged, object)
	w.requests.mustBe(t, "when others change what is theirs")

	set(t, object, int64(5), "spec", "replicas")
	w.mustSurvive("when something else is rendered", apply.Configured, object)

	container(object)["image"] = "memcached:1.6.46"
	w.mustSurvive("when another image is rendered", apply.Configured, object)

	patched("replace /spec/replicas 1")(w, object)
	w.settle(object)
	w.mustSurvive("when the Deployment is scaled", apply.Configured, object)

	patched(`replace /spec/template/spec/containers/0/image "memcached:other"`)(w, object)
	w.settle(object)
	w.mustSurvive("when another client sets the image, which the policy changes back", apply.Configured, object)

	w.restart()
	if result := w.apply("after a restart", apply.Unchanged, object)[0]; !result.UnknownMutation {
		t.Error("after a restart: what the policy changed is said to be known")
	}
	w.requests.mustBe(t, "after a restart")
}

// When the policy goes, what it changed stays until something else is rendered.
func TestApply_KeepsChangesOfPolicyUntilNextApply(t *testing.T) {
	t.Parallel()
	w := newEnv(t)
	takeAway := w.policy(setImage, isMirrored)
	object := w.deployment()
	w.applied(object)
	takeAway()
	w.apply("while nothing changes", apply.Unchanged, object)
	w.requests.mustBe(t, "while nothing changes")

	set(t, object, int64(5), "spec", "replicas")
	if result := w.apply("once something else is rendered", apply.Configured, object)[0]; result.Mutation != "" {
		t.Errorf("it is said that the server changed %s", result.Mutation)
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
		JSONPatch{op: "add", path: "/metadata/annotations", value: {"policy": "was here"}}]`, isMirrored)
	object := w.deployment()
	// Zero values are omitted where the API server stores an object, and are still ours. An empty text may be a default's.
	container(object)["stdin"] = false
	pod(object)["shareProcessNamespace"] = false
	pod(object)["schedulerName"] = ""
	result := w.apply("at first", apply.Created, object)[0]
	for _, want := range []string{imagePath, "readinessProbe", ".args", ".command", ".labelSelector", ".stdin", "shareProcessNamespace"} {
		if !strings.Contains(result.Mutation, want) {
			t.Errorf("%s is not reported: %s", want, result.Mutation)
		}
	}
	if strings.Contains(result.Mutation, "annotations.policy") || strings.Contains(result.Mutation, "schedulerName") {
		t.Errorf("what is not ours is reported: %s", result.Mutation)
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
	if result := w.apply("at first", apply.Created, object)[0]; result.Mutation != "" {
		t.Errorf("it is said that the server changed %s", result.Mutation)
	}
	if n := len(pod(w.live(object))["containers"].([]any)); n != 2 {
		t.Fatalf("there are %d containers: the policy does not work", n)
	}
	w.requests.take()
	w.mustHold("afterwards", object)
}
