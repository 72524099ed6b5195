// SPDX-License-Identifier: Apache-2.0

package apply_test

import (
	"slices"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/example/memcached-operator/reconcilers/apply"
)

// additions are changes by others in fields of the Deployment that we do not render.
var additions = map[string]change{
	"a sidecar is injected":                  patched(`add /spec/template/spec/containers/- {"name": "proxy", "image": "proxy"}`),
	"a sidecar is injected in front":         patched(`add /spec/template/spec/containers/0 {"name": "proxy", "image": "proxy"}`),
	"an environment variable is added":       patched(`add /spec/template/spec/containers/0/env/- {"name": "MORE", "value": "1"}`),
	"an environment variable is added twice": patched(`add /spec/template/spec/containers/0/env/- {"name": "MORE", "value": "1"}`, `add /spec/template/spec/containers/0/env/- {"name": "MORE", "value": "1"}`),
	"a CPU limit is added":                   patched(`add /spec/template/spec/containers/0/resources/limits/cpu "2"`),
	"an annotation is added":                 patched(`add /metadata/annotations/deployment.kubernetes.io~1revision "7"`),
	"a label is added":                       patched(`add /metadata/labels/team "web"`),
	"the pods are restarted by kubectl":      patched(`add /spec/template/metadata/annotations {"kubectl.kubernetes.io/restartedAt": "2026-01-01T00:00:00Z"}`),
	"a field that is not rendered is set":    patched("replace /spec/revisionHistoryLimit 2"),
	"a toleration is added":                  patched(`add /spec/template/spec/tolerations [{"operator": "Exists"}]`),
	"a progress deadline is set":             patched("replace /spec/progressDeadlineSeconds 900"),
	"a finalizer is added":                   patched(`add /metadata/finalizers ["example.com/wait"]`),
	"a second owner is added":                patched(`add /metadata/ownerReferences/- {"apiVersion": "v1", "kind": "ConfigMap", "name": "a", "uid": "a"}`),
	"another client applies the same values, and owns them too": func(w *env, object *unstructured.Unstructured) {
		w.applyAs("someone", object, `{apiVersion: apps/v1, kind: Deployment, spec: {replicas: 3, template: {spec: {containers: [{name: memcached, image: "docker.io/library/memcached:1.6.45"}]}}}}`)
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
	for sentence, change := range additions {
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

// A map that is rendered empty is no claim on what others put into it.
func TestApply_KeepsEntriesOfOthersInEmptyMap(t *testing.T) {
	t.Parallel()
	w := newEnv(t)
	object := w.made(podTemplate(`{containers: [{name: a, image: a, resources: {limits: {memory: 1024Mi}}}], securityContext: {}}`))
	object.Object["metadata"].(map[string]any)["annotations"] = map[string]any{}
	w.applied(object)
	patched(`add /metadata/annotations/example.com~1note "keep"`, `add /spec/template/spec/securityContext {"runAsUser": 1}`)(w, object)
	live := w.live(object)
	w.settle(object)
	w.mustHold("once others put something into it", object)
	w.mustBeUntouched(live)
}

// besideInvalid are objects that we apply before, while and after the API server rejects a part of them, what another client
// applies beside it, and what is left then.
var besideInvalid = map[string]struct {
	before, theirs, invalid, after, want string
}{
	"an entry of a map": {
		before:  `{apiVersion: v1, kind: ConfigMap, metadata: {labels: {a: "1"}}}`,
		theirs:  `{apiVersion: v1, kind: ConfigMap, metadata: {labels: {c: "3"}}}`,
		invalid: `{apiVersion: v1, kind: ConfigMap, metadata: {labels: {a: "1", b: "not valid!"}}}`,
		after:   `{apiVersion: v1, kind: ConfigMap, metadata: {labels: {a: "1", b: "2"}}}`,
		want:    `{apiVersion: v1, kind: ConfigMap, metadata: {labels: {a: "1", b: "2", c: "3"}}}`,
	},
	"an item of a list": {
		before:  service(`{name: a, port: 1}`),
		theirs:  service(`{name: c, port: 3}`),
		invalid: service(`{name: a, port: 1}, {name: b, port: 2000000}`),
		after:   service(`{name: a, port: 1}, {name: b, port: 2}`),
		want:    service(`{name: a, port: 1, protocol: TCP, targetPort: 1}, {name: c, port: 3, protocol: TCP, targetPort: 3}, {name: b, port: 2, protocol: TCP, targetPort: 2}`),
	},
}

// service returns a Service with ports.
func service(ports string) string {
	return `{apiVersion: v1, kind: Service, spec: {ports: [` + ports + `]}}`
}

// What the API server rejects of ours is no claim on what others have beside it.
func TestApply_KeepsFieldsOfOthersBesideInvalidOnes(t *testing.T) {
	t.Parallel()
	for sentence, test := range besideInvalid {
		t.Run(sentence, func(t *testing.T) {
			t.Parallel()
			w := newEnv(t)
			object := w.made(test.before)
			w.applied(object)
			w.applyAs("someone", object, test.theirs)
			w.settle(object)
			w.apply("invalid", apply.Failed, w.made(test.invalid))
			w.apply("corrected", apply.Configured, w.made(test.after))
			live, want := essence(w.live(object)), w.made(test.want).Object
			if spec, ok := live["spec"].(map[string]any); ok { // without the API server's defaults
				live["spec"] = map[string]any{"ports": spec["ports"]}
			}
			mustBeSame(t, live, want)
		})
	}
}

// removals are objects that we apply before and after fields are removed, what another client applies,
// and what is left then.
var removals = map[string]struct {
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
	"a key that another client applied too": {
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
	"a field of a custom resource without a schema": {
		before: `{apiVersion: loose.example.com/v1, kind: Gadget, spec: {a: 1, b: 2}}`,
		theirs: `{apiVersion: loose.example.com/v1, kind: Gadget, spec: {c: 3}}`,
		after:  `{apiVersion: loose.example.com/v1, kind: Gadget, spec: {b: 2}}`,
		want:   `{apiVersion: loose.example.com/v1, kind: Gadget, spec: {b: 2, c: 3}}`,
	},
}

// Every field of a CR's templates that goes is taken off the server, and nothing else.
func TestApply_RemovesFieldsNoLongerRendered(t *testing.T) {
	t.Parallel()
	for sentence, test := range removals {
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

// The fields are those of ours: what another client has in the object besides is not named.
func TestApply_NamesTheFieldsThatItChanged(t *testing.T) {
	t.Parallel()
	for sentence, test := range map[string]struct {
		before func(w *env, object *unstructured.Unstructured)
		render func(object *unstructured.Unstructured)
		want   []string
	}{
		"another value is rendered": {
			render: func(object *unstructured.Unstructured) { container(object)["image"] = "memcached:1.6.46" },
			want:   []string{imagePath},
		},
		"a field is rendered no longer": {
			render: func(object *unstructured.Unstructured) { delete(container(object), "lifecycle") },
			want:   []string{`spec.template.spec.containers[name="memcached"].lifecycle.preStop.sleep.seconds`},
		},
		"others changed a field of ours, and added one": {
			before: patched("replace /spec/replicas 7", `add /metadata/annotations/a "b"`),
			want:   []string{"spec.replicas"},
		},
	} {
		t.Run(sentence, func(t *testing.T) {
			t.Parallel()
			w := newEnv(t)
			object := w.deployment()
			w.applied(object)
			if test.before != nil {
				test.before(w, object)
				w.settle(object)
			}
			if test.render != nil {
				test.render(object)
			}
			if got := w.apply(sentence, apply.Configured, object)[0].Fields; !slices.Equal(got, test.want) {
				t.Errorf("the fields are %q, want %q", got, test.want)
			}
		})
	}
}
