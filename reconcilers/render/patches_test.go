// SPDX-License-Identifier: Apache-2.0

package render

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	cachev1alpha1 "github.com/example/memcached-operator/apis/v1alpha1"
	"github.com/example/memcached-operator/reconcilers/render/template"
)

func patchOf(kind, text string) cachev1alpha1.Patch {
	return cachev1alpha1.Patch{Target: cachev1alpha1.PatchTarget{Kind: kind}, Patch: text}
}

// rejectedPatches holds invalid patches and their errors after "spec.patches[1]: ".
var rejectedPatches = map[string]struct {
	patch cachev1alpha1.Patch
	want  string
}{
	"rejects a target that selects nothing": {
		patchOf("ConfigMap", "data: {a: b}"), "its target selects none of this Memcached's objects: Service sample, Deployment sample, PodDisruptionBudget sample",
	},
	"rejects another Memcached's object": {
		cachev1alpha1.Patch{Target: cachev1alpha1.PatchTarget{Kind: "Deployment", Name: new(cachev1alpha1.ObjectName("other"))}, Patch: "spec: {paused: true}"},
		"its target selects none of this Memcached's objects: Service sample, Deployment sample, PodDisruptionBudget sample",
	},
	"rejects another group": {
		cachev1alpha1.Patch{Target: cachev1alpha1.PatchTarget{Kind: "Deployment", Group: new("extensions")}, Patch: "spec: {paused: true}"},
		"its target selects none of this Memcached's objects: Service sample, Deployment sample, PodDisruptionBudget sample",
	},
	"rejects a regular expression as kind": {
		patchOf(".*", "spec: {paused: true}"), "its target selects none of this Memcached's objects: Service sample, Deployment sample, PodDisruptionBudget sample",
	},
	"rejects an anchor":                       {patchOf("Deployment", "spec: &a {paused: true}"), "line 1: anchors (&name) are refused; repeat the value"},
	"rejects text":                            {patchOf("Deployment", "hunter2"), "a patch is either a part of an object or a list of operations"},
	"rejects a number":                        {patchOf("Deployment", "1"), "a patch is either a part of an object or a list of operations"},
	"rejects another kind in the patch":       {patchOf("Deployment", "kind: StatefulSet"), "Deployment sample: kind of the patch differs from the target's, which is Deployment; correct or remove it"},
	"rejects another apiVersion in the patch": {patchOf("Deployment", "apiVersion: [a]"), "Deployment sample: apiVersion of the patch differs from the target's, which is apps/v1; correct or remove it"},

	"rejects another name":                           {patchOf("Deployment", "metadata: {name: hunter2}"), "Deployment sample: a patch may not change metadata.name"},
	"rejects another name by an operation":           {patchOf("Deployment", `[{op: replace, path: /metadata/name, value: hunter2}]`), "Deployment sample: a patch may not change metadata.name"},
	"rejects another namespace":                      {patchOf("Deployment", "metadata: {namespace: kube-system}"), "Deployment sample: a patch may not change metadata.namespace"},
	"rejects a finalizer":                            {patchOf("Deployment", "metadata: {finalizers: [a/b]}"), "Deployment sample: a patch may not change metadata.finalizers"},
	"rejects the removal of the owners":              {patchOf("Deployment", "metadata: {ownerReferences: null}"), "Deployment sample: a patch may not change metadata.ownerReferences"},
	"rejects one more owner":                         {patchOf("Deployment", `[{op: add, path: /metadata/ownerReferences/-, value: {apiVersion: v1, kind: Pod, name: a, uid: b}}]`), "Deployment sample: a patch may not change metadata.ownerReferences"},
	"rejects another uid of the owner":               {patchOf("Deployment", `[{op: replace, path: /metadata/ownerReferences/0/uid, value: b}]`), "Deployment sample: a patch may not change metadata.ownerReferences"},
	"rejects the removal of a label of the operator": {patchOf("Deployment", "metadata: {labels: {app.kubernetes.io/managed-by: null}}"), "Deployment sample: a patch may not change the label app.kubernetes.io/managed-by, which the operator manages"},
	"rejects the removal of all labels":              {patchOf("Service", `[{op: remove, path: /metadata/labels}]`), "Service sample: a patch may not change the label app, which the operator manages"},
	"rejects a label of the operator on the pods":    {patchOf("Deployment", "spec: {template: {metadata: {labels: {memcached_cr: other}}}}"), "Deployment sample: a patch may not change the label memcached_cr, which the operator manages"},
	"rejects a reserved label":                       {patchOf("Deployment", "metadata: {labels: {app.kubernetes.io/version: '1'}}"), "Deployment sample: a patch may not change the label app.kubernetes.io/version, which the operator manages"},
	"rejects a Deployment's selector":                {patchOf("Deployment", "spec: {selector: {matchLabels: {team: web}}}"), "Deployment sample: a patch may not change spec.selector"},
	"rejects a Service's selector":                   {patchOf("Service", `[{op: replace, path: /spec/selector, value: {app: other}}]`), "Service sample: a patch may not change spec.selector"},
	"rejects one key of a Service's selector":        {patchOf("Service", "spec: {selector: {memcached_cr: null}}"), "Service sample: a patch may not change spec.selector"},
	"rejects status":                                 {patchOf("Deployment", "status: {replicas: 3}"), "Deployment sample: a patch may not change status"},
	"rejects the removal of metadata":                {patchOf("Deployment", "metadata: null"), "Deployment sample: a patch may not change metadata.name"},
	"rejects the removal of an object":               {patchOf("PodDisruptionBudget", "$patch: delete"), "PodDisruptionBudget sample: a patch may not remove or replace an object as a whole"},
	"rejects another object":                         {patchOf("Deployment", "$patch: replace\nspec: {}"), "Deployment sample: a patch may not remove or replace an object as a whole"},

	"rejects an unknown field":           {patchOf("Deployment", "spec: {template: {spec: {hostnetwork: hunter2}}}"), "Deployment sample: spec.template.spec.hostnetwork: unknown field"},
	"rejects text for a number":          {patchOf("Deployment", "spec: {minReadySeconds: hunter2}"), "Deployment sample: spec.minReadySeconds: expected a number"},
	"rejects a number for text":          {patchOf("Deployment", "metadata: {annotations: {a: 8675309}}"), "Deployment sample: metadata.annotations.a: expected a string"},
	"rejects on for text":                {patchOf("Deployment", "metadata: {annotations: {a: on}}"), "Deployment sample: metadata.annotations.a: expected a string"},
	"rejects a map for a list":           {patchOf("Deployment", "spec: {template: {spec: {containers: {hunter2: b}}}}"), "Deployment sample: spec.template.spec.containers: expected a list"},
	"rejects a list for a map":           {patchOf("Deployment", "spec: {template: [hunter2]}"), "Deployment sample: spec.template: expected a map"},
	"rejects a number above 32 bits":     {patchOf("Deployment", "spec: {minReadySeconds: 4294967299}"), "Deployment sample: spec.minReadySeconds: the number exceeds a signed 32-bit integer"},
	"rejects a port above 32 bits":       {patchOf("Service", `[{op: replace, path: /spec/ports/0/targetPort, value: 4294967299}]`), "Service sample: spec.ports[0].targetPort: the number exceeds a signed 32-bit integer"},
	"rejects a malformed quantity":       {patchOf("Deployment", "spec: {template: {spec: {containers: [{name: memcached, resources: {limits: {cpu: hunter2}}}]}}}"), "Deployment sample: spec.template.spec.containers[0].resources.limits.cpu: not a quantity; write a number, optionally with a unit, such as 500m or 64Mi"},
	"rejects a map for a number":         {patchOf("Deployment", "spec: {minReadySeconds: {hunter2: b}}"), "Deployment sample: spec.minReadySeconds: expected a single value"},
	"rejects an element without its key": {patchOf("Deployment", "spec: {template: {spec: {containers: [{image: hunter2}]}}}"), "Deployment sample: spec.template.spec.containers[0]: name is missing; elements of this list are merged by it"},
	"rejects an element that is text":    {patchOf("Deployment", "spec: {template: {spec: {containers: [{name: a}, hunter2]}}}"), "Deployment sample: spec.template.spec.containers[1]: expected a map"},
	"rejects an unknown directive":       {patchOf("Deployment", "spec: {template: {spec: {$patch: hunter2}}}"), "Deployment sample: spec.template.spec: $patch must be delete or replace"},
	"rejects other directives":           {patchOf("Deployment", "spec: {strategy: {$retainKeys: [type]}}"), `Deployment sample: spec.strategy: the directive "$retainKeys" is not supported; use $patch: delete or replace, or a list of operations`},
	"rejects a directive in a list that is replaced": {
		patchOf("Deployment", "spec: {template: {spec: {tolerations: [{$patch: delete, key: a}]}}}"),
		"Deployment sample: spec.template.spec.tolerations[0]: $patch is not allowed in a list that is replaced as a whole",
	},
	"names a key with dots in brackets": {patchOf("Deployment", "metadata: {annotations: {example.com/a: {b: c}}}"), "Deployment sample: metadata.annotations.example.com/a: expected a string"},

	"rejects the replacement of the whole":   {patchOf("Deployment", `[{op: replace, path: "", value: {}}]`), "operation 0: path must be a string that starts with /, such as /spec/replicas"},
	"rejects an operation on nothing":        {patchOf("Deployment", `[{op: test, path: /spec/replicas, value: 3}, {op: replace, path: /spec/nothing/here, value: hunter2}]`), "Deployment sample: operation 1: /spec/nothing/here does not exist"},
	"rejects a removal of nothing":           {patchOf("Deployment", `[{op: remove, path: /spec/nothing}]`), "Deployment sample: operation 0: /spec/nothing does not exist"},
	"rejects a move of nothing":              {patchOf("Deployment", `[{op: move, from: /spec/a~1b, path: /spec/revisionHistoryLimit}]`), "Deployment sample: operation 0: /spec/a~1b does not exist"},
	"rejects a place behind the end":         {patchOf("Deployment", `[{op: add, path: /spec/template/spec/containers/2, value: {name: a}}]`), "Deployment sample: operation 0: /spec/template/spec/containers/2 is not an index of a list of 1 elements"},
	"rejects a place from the end":           {patchOf("Deployment", `[{op: remove, path: /spec/template/spec/containers/-1}]`), "Deployment sample: operation 0: /spec/template/spec/containers/-1 does not exist"},
	"rejects a test that fails":              {patchOf("Deployment", `[{op: test, path: /spec/replicas, value: 99}]`), "Deployment sample: operation 0: /spec/replicas is not what the test expects"},
	"rejects a test of what is not there":    {patchOf("Deployment", `[{op: test, path: /spec/revisionHistoryLimit, value: true}]`), "Deployment sample: operation 0: /spec/revisionHistoryLimit does not exist"},
	"rejects an unknown operation":           {patchOf("Deployment", `[{op: hunter2, path: /spec, value: 1}]`), "operation 0: op must be add, remove, replace, move or test"},
	"rejects an operation without op":        {patchOf("Deployment", `[{path: /spec, value: 1}]`), "operation 0: op must be add, remove, replace, move or test"},
	"rejects a misspelt operation field":     {patchOf("Deployment", `[{op: add, pfad: /spec, value: 1}]`), `operation 0: unknown field "pfad"; add takes path and value`},
	"rejects an operation without its value": {patchOf("Deployment", `[{op: remove, path: /spec/replicas}, {op: add, path: /spec}]`), "operation 1: value is missing; add takes path and value"},
	"rejects null as a value":                {patchOf("Deployment", `[{op: add, path: /spec/revisionHistoryLimit, value: null}]`), "operation 0: value is null; use remove"},
	"rejects a path that is no text":         {patchOf("Deployment", `[{op: remove, path: 5}]`), "operation 0: path must be a string that starts with /, such as /spec/replicas"},
	"rejects copies, which could grow":       {patchOf("Deployment", `[{op: copy, from: /spec, path: /metadata/annotations/a}]`), "operation 0: copy is not supported, since repeated copies could create an object of any size; repeat the value"},
	"rejects a list of text":                 {patchOf("Deployment", "[hunter2, b]"), "operation 0: expected a map with op and path"},
}

func TestPatches_AreRejected(t *testing.T) {
	t.Parallel()
	r := mustNew(t, shipped(t), Defaults{AllowPrivilegedFields: true})
	for name, test := range rejectedPatches {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			mc := plain()
			fine := patchOf("Deployment", "metadata: {annotations: {first: fine}}")
			mc.Spec.Patches = []cachev1alpha1.Patch{fine, test.patch, fine}
			objects, err := r.Render(mc)
			if err == nil {
				t.Fatalf("it is accepted: %s", asJSON(t, objects))
			}
			if want := "spec.patches[1]: " + test.want; err.Error() != want {
				t.Errorf("the error is\n%s, want\n%s", err, want)
			}
			if invalid, ok := errors.AsType[*InvalidPatchError](err); !ok || invalid.Index != 1 {
				t.Errorf("expected an InvalidPatchError of patch 1: %#v", err)
			}
		})
	}
}

// Values of a patch are applied unchanged, including large integers and a null in a test.
func TestPatches_KeepValues(t *testing.T) {
	t.Parallel()
	r := mustNew(t, shipped(t), Defaults{AllowPrivilegedFields: true})
	user := []any{"spec", "template", "spec", "securityContext", "runAsUser"}
	for name, test := range map[string]struct {
		patch string
		path  []any
		want  any
	}{
		"merges a large number":      {"spec: {template: {spec: {securityContext: {runAsUser: 1000650000}}}}", user, int64(1000650000)},
		"replaces a large number":    {"[{op: replace, path: /spec/template/spec/securityContext/runAsUser, value: 1000650000}]", user, int64(1000650000)},
		"keeps the largest number":   {"spec: {template: {spec: {securityContext: {runAsUser: 9223372036854775807}}}}", user, int64(9223372036854775807)},
		"keeps zero":                 {"[{op: replace, path: /spec/minReadySeconds, value: 0}]", []any{"spec", "minReadySeconds"}, int64(0)},
		"keeps false":                {"[{op: add, path: /spec/paused, value: false}]", []any{"spec", "paused"}, false},
		"keeps an empty string":      {`[{op: add, path: /metadata/annotations, value: {a: ""}}]`, []any{"metadata", "annotations", "a"}, ""},
		"keeps the type of a string": {`metadata: {annotations: {a: "1e3", b: "true"}}`, []any{"metadata", "annotations", "a"}, "1e3"},
		"removes a field by null":    {"spec: {template: {spec: {securityContext: {runAsUser: null}}}}", user, nil},
		"tests for null":             {"[{op: test, path: /spec/revisionHistoryLimit, value: null}]", []any{"spec", "replicas"}, int64(3)},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			mc := plain()
			mc.Spec.Patches = []cachev1alpha1.Patch{patchOf("Deployment", test.patch)}
			if got := template.Lookup(find(t, mustRender(t, r, mc), "Deployment", "sample").Object, test.path); got != test.want {
				t.Errorf("got %v (%T), want %v", got, got, test.want)
			}
		})
	}
}

func TestPatches_RequireTheGroupOfAnAmbiguousKind(t *testing.T) {
	t.Parallel()
	other := "apiVersion: serving.example.com/v1\nkind: Service\nmetadata: {name: other}\n"
	e := inSite("resources: [other.yaml]\n")
	e["components/site/other.yaml"] = other
	r := mustNew(t, edited(t, e), Defaults{AllowPrivilegedFields: true})
	mc := plain()
	mc.Spec.Patches = []cachev1alpha1.Patch{{
		Target: cachev1alpha1.PatchTarget{Kind: "Service", Name: new(cachev1alpha1.ObjectName("sample-other"))},
		Patch:  "metadata: {annotations: {patched: 'yes'}}",
	}}
	if _, err := r.Render(mc); err == nil || !strings.Contains(err.Error(), "target.group") {
		t.Errorf("the error is %v", err)
	}
	mc.Spec.Patches[0].Target.Group = new("serving.example.com")
	if got := find(t, mustRender(t, r, mc), "Service", "sample-other").GetAnnotations()["patched"]; got != "yes" {
		t.Errorf("the annotation is %q", got)
	}
}

func TestPatches_ShareNoValues(t *testing.T) {
	t.Parallel()
	r := mustNew(t, shipped(t), Defaults{AllowPrivilegedFields: true})
	mc := plain()
	mc.Spec.Patches = []cachev1alpha1.Patch{
		patchOf("Deployment", "spec: {template: {metadata: {annotations: {patched: 'yes'}}, spec: {containers: [{name: a, args: [x], env: [{name: b}]}], tolerations: [{key: a}]}}}"),
		patchOf("Deployment", "[{op: add, path: /spec/template/spec/containers/0/args, value: [x, {b: [z]}]}, {op: remove, path: /spec/template/spec/containers/0/args/1}]"),
	}
	first := mustRender(t, r, mc)
	want := asJSON(t, first)
	for range 2 {
		again := mustRender(t, r, mc)
		if got := asJSON(t, again); got != want {
			t.Fatalf("rendered again it is %s, want %s", got, want)
		}
		for _, object := range slices.Concat(first, again) {
			scribble(object.Object)
		}
	}
}

// scribble changes every list and map within value.
func scribble(value any) {
	switch v := value.(type) {
	case map[string]any:
		for _, item := range v {
			scribble(item)
		}
		v["scribbled"] = "yes"
	case []any:
		for i, item := range v {
			scribble(item)
			v[i] = "scribbled"
		}
	}
}

// An alias bomb of 10 KB costs no more than other text of its length: it is not expanded.
func TestPatches_DoNotExpandAliases(t *testing.T) {
	r := mustNew(t, shipped(t), Defaults{AllowPrivilegedFields: true})
	mc := plain()
	bomb := "a0: &a0 [x]\n"
	for i := 1; i < 80; i++ {
		bomb += fmt.Sprintf("a%d: &a%d [%s]\n", i, i, strings.Repeat(fmt.Sprintf("*a%d, ", i-1), 9))
	}
	mc.Spec.Patches = []cachev1alpha1.Patch{patchOf("Deployment", bomb)}
	mustRender(t, r, plain())
	var err error
	used := allocated(func() { _, err = r.Render(mc) })
	if err == nil || !strings.Contains(err.Error(), "spec.patches[0]: line 1: anchors") {
		t.Errorf("the error is %v", err)
	}
	if used > 4<<20 {
		t.Errorf("it took %d bytes", used)
	}
}
