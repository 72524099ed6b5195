// SPDX-License-Identifier: Apache-2.0

package apply_test

import (
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/example/memcached-operator/reconcilers/apply"
)

var keepsFieldsOfOtherManagersTests = map[string]func(w *env, object *unstructured.Unstructured){
	"a sidecar is injected": updated(func(live *unstructured.Unstructured) {
		pod(live)["containers"] = append(pod(live)["containers"].([]any), map[string]any{"name": "proxy", "image": "proxy"})
	}),
	"a sidecar is injected in front": updated(func(live *unstructured.Unstructured) {
		pod(live)["containers"] = append([]any{map[string]any{"name": "proxy", "image": "proxy"}}, pod(live)["containers"].([]any)...)
	}),
	"an environment variable is added": updated(func(live *unstructured.Unstructured) {
		container(live)["env"] = append(container(live)["env"].([]any), map[string]any{"name": "MORE", "value": "1"})
	}),
	"an environment variable is added twice": updated(func(live *unstructured.Unstructured) {
		more := map[string]any{"name": "MORE", "value": "1"}
		container(live)["env"] = append(container(live)["env"].([]any), more, more)
	}),
	"a CPU limit is added": updated(func(live *unstructured.Unstructured) {
		container(live)["resources"].(map[string]any)["limits"].(map[string]any)["cpu"] = "2"
	}),
	"an annotation is added": updated(func(live *unstructured.Unstructured) {
		live.SetAnnotations(map[string]string{"deployment.kubernetes.io/revision": "7"})
	}),
	"a label is added": updated(func(live *unstructured.Unstructured) {
		relabel(live, "team", "web")
	}),
	"the pods are restarted by an annotation": updated(func(live *unstructured.Unstructured) {
		metadata := live.Object["spec"].(map[string]any)["template"].(map[string]any)["metadata"].(map[string]any)
		metadata["annotations"] = map[string]any{"kubectl.kubernetes.io/restartedAt": "2026-01-01T00:00:00Z"}
	}),
	"a field that is not rendered is set": updated(func(live *unstructured.Unstructured) {
		live.Object["spec"].(map[string]any)["revisionHistoryLimit"] = int64(2)
	}),
	"a toleration is added": updated(func(live *unstructured.Unstructured) {
		pod(live)["tolerations"] = []any{map[string]any{"operator": "Exists"}}
	}),
	"a progress deadline is set": updated(func(live *unstructured.Unstructured) {
		live.Object["spec"].(map[string]any)["progressDeadlineSeconds"] = int64(900)
	}),
	"a finalizer is added": updated(func(live *unstructured.Unstructured) {
		live.SetFinalizers([]string{"example.com/wait"})
	}),
	"a second owner is added": updated(func(live *unstructured.Unstructured) {
		reference := metav1.OwnerReference{APIVersion: "v1", Kind: "ConfigMap", Name: "a", UID: "a"}
		live.SetOwnerReferences(append(live.GetOwnerReferences(), reference))
	}),
	"another client applies the same values, and owns them too": func(w *env, object *unstructured.Unstructured) {
		w.applyAs("someone", object, `{apiVersion: apps/v1, kind: Deployment, spec: {replicas: 3, template: {spec: {containers: [{name: memcached, image: "memcached:1.6.45"}]}}}}`)
	},
	"the status changes": func(w *env, object *unstructured.Unstructured) {
		w.updateStatus(object, func(live *unstructured.Unstructured) {
			live.Object["status"] = map[string]any{"replicas": int64(3), "observedGeneration": int64(1)}
		})
	},
}

// What others add to our objects, in fields that we do not render, is theirs: it
// stays, and costs no request.
func TestApply_KeepsFieldsOfOtherManagers(t *testing.T) {
	t.Parallel()
	for sentence, change := range keepsFieldsOfOtherManagersTests {
		t.Run(sentence, func(t *testing.T) {
			t.Parallel()
			w := newEnv(t)
			object := w.deployment()
			w.applied(object)
			change(w, object)
			live := w.live(object)
			w.settle(object)
			w.mustHold("once it changed", object)
			w.mustBeUntouched(live)
			w.requests.take()

			// A change of ours leaves theirs.
			resized := object.DeepCopy()
			set(t, resized, int64(5), "spec", "replicas")
			w.apply("resized", apply.Configured, resized)
			w.requests.mustBe(t, "resized", "apply deployments/cache")
			set(t, live, int64(5), "spec", "replicas")
			mustBeSame(t, essence(w.live(object)), essence(live))
			w.mustHold("resized", resized)
		})
	}
}

// A map that is rendered empty is no claim on what others put into it. It costs one
// apply, since the server takes the empty map for a value that they changed, and one after a
// restart.
func TestApply_KeepsEntriesOfOthersInEmptyMap(t *testing.T) {
	t.Parallel()
	w := newEnv(t)
	object := w.made(podTemplate(`{containers: [{name: a, image: a, resources: {limits: {memory: 1024Mi}}}], securityContext: {}}`))
	object.Object["metadata"].(map[string]any)["annotations"] = map[string]any{}
	w.applied(object)
	w.update("someone", object, func(live *unstructured.Unstructured) {
		live.SetAnnotations(map[string]string{"example.com/note": "keep"})
		pod(live)["securityContext"] = map[string]any{"runAsUser": int64(1)}
	})
	live := w.live(object)
	w.settle(object)
	for _, when := range []string{"once others put something into it", "after a restart"} {
		if result := w.apply(when, apply.Configured, object)[0]; result.Drift != "" {
			t.Errorf("%s: it is said that the server changed %s", when, result.Drift)
		}
		w.requests.mustBe(t, when, "apply deployments/cache")
		mustBeSame(t, essence(w.live(object)), essence(live))
		w.settle(object)
		w.apply(when+", again", apply.Unchanged, object)
		w.requests.mustBe(t, when+", again")
		w.restart()
	}
}

var removesFieldsNoLongerRenderedTests = map[string]struct {
	before, theirs, after, want string
}{
	"a label and an annotation": {
		before: `{apiVersion: v1, kind: ConfigMap, metadata: {labels: {a: "1", b: "2"}, annotations: {a: "1"}}}`,
		theirs: `{apiVersion: v1, kind: ConfigMap, metadata: {labels: {c: "3"}, annotations: {c: "3"}}}`,
		after:  `{apiVersion: v1, kind: ConfigMap, metadata: {labels: {b: "2"}}}`,
		want:   `{apiVersion: v1, kind: ConfigMap, metadata: {labels: {b: "2", c: "3"}, annotations: {c: "3"}}}`,
	},
	"a key of a ConfigMap": {
		before: `{apiVersion: v1, kind: ConfigMap, data: {a: "1", b: "2"}}`,
		theirs: `{apiVersion: v1, kind: ConfigMap, data: {c: "3"}}`,
		after:  `{apiVersion: v1, kind: ConfigMap, data: {b: "2"}}`,
		want:   `{apiVersion: v1, kind: ConfigMap, data: {b: "2", c: "3"}}`,
	},
	"all of our keys": {
		before: `{apiVersion: v1, kind: ConfigMap, data: {a: "1"}}`,
		theirs: `{apiVersion: v1, kind: ConfigMap, data: {c: "3"}}`,
		after:  `{apiVersion: v1, kind: ConfigMap}`,
		want:   `{apiVersion: v1, kind: ConfigMap, data: {c: "3"}}`,
	},
	"removes a key that another client applied too": {
		before: `{apiVersion: v1, kind: ConfigMap, data: {a: "1", b: "2"}}`,
		theirs: `{apiVersion: v1, kind: ConfigMap, data: {a: "1"}}`,
		after:  `{apiVersion: v1, kind: ConfigMap, data: {b: "2"}}`,
		want:   `{apiVersion: v1, kind: ConfigMap, data: {a: "1", b: "2"}}`,
	},
	"an item of a custom resource's list-map": {
		before: `{apiVersion: test.example.com/v1, kind: Widget, spec: {size: 1, ports: [{name: a, port: 1}, {name: b, port: 2}]}}`,
		theirs: `{apiVersion: test.example.com/v1, kind: Widget, spec: {ports: [{name: c, port: 3}]}}`,
		after:  `{apiVersion: test.example.com/v1, kind: Widget, spec: {ports: [{name: b, port: 2}]}}`,
		want:   `{apiVersion: test.example.com/v1, kind: Widget, spec: {color: red, ports: [{name: b, port: 2, protocol: TCP}, {name: c, port: 3, protocol: TCP}]}}`,
	},
	"sets a field of a custom resource without a schema": {
		before: `{apiVersion: loose.example.com/v1, kind: Gadget, spec: {a: 1, b: 2}}`,
		theirs: `{apiVersion: loose.example.com/v1, kind: Gadget, spec: {c: 3}}`,
		after:  `{apiVersion: loose.example.com/v1, kind: Gadget, spec: {b: 2}}`,
		want:   `{apiVersion: loose.example.com/v1, kind: Gadget, spec: {b: 2, c: 3}}`,
	},
}

// Every field of a CR's templates that goes is taken off the server, and nothing else.
func TestApply_RemovesFieldsNoLongerRendered(t *testing.T) {
	t.Parallel()
	for sentence, test := range removesFieldsNoLongerRenderedTests {
		t.Run(sentence, func(t *testing.T) {
			t.Parallel()
			w := newEnv(t)
			object := w.made(test.before)
			w.applied(object)
			w.applyAs("someone", object, test.theirs)
			w.settle(object)
			w.apply("before it goes", apply.Unchanged, object)
			w.requests.mustBe(t, "before it goes")

			object = w.made(test.after)
			w.apply("once it is no longer rendered", apply.Configured, object)
			if sent := w.requests.take(); len(sent) != 1 {
				t.Errorf("sent %v, want one apply", sent)
			}
			mustBeSame(t, essence(w.live(object)), w.made(test.want).Object)
			w.mustHold("afterwards", object)
		})
	}
}
