// SPDX-License-Identifier: Apache-2.0

package render

import (
	"strings"
	"testing"

	cachev1alpha1 "github.com/example/memcached-operator/apis/v1alpha1"
)

func patch(kind, text string) cachev1alpha1.Patch {
	return cachev1alpha1.Patch{Target: cachev1alpha1.PatchTarget{Kind: kind}, Patch: text}
}

func TestPatchesThatAreRefused(t *testing.T) {
	t.Parallel()
	r := mustNew(t, shipped(t), Defaults{AllowPrivilegedFields: true})
	for sentence, test := range map[string]struct {
		patch cachev1alpha1.Patch
		want  []string
	}{
		"a target that selects nothing": {
			patch("ConfigMap", "data: {a: b}"), []string{"selects none", "Deployment sample", "Service sample"},
		},
		"another Memcached's object": {
			cachev1alpha1.Patch{Target: cachev1alpha1.PatchTarget{Kind: "Deployment", Name: new(cachev1alpha1.ObjectName("other"))}, Patch: "spec: {paused: true}"},
			[]string{"selects none"},
		},
		"another group": {
			cachev1alpha1.Patch{Target: cachev1alpha1.PatchTarget{Kind: "Deployment", Group: new("extensions")}, Patch: "spec: {paused: true}"},
			[]string{"selects none"},
		},
		"a regular expression is no kind":  {patch(".*", "spec: {paused: true}"), []string{"selects none"}},
		"another kind in the patch":        {patch("Deployment", "kind: StatefulSet"), []string{"StatefulSet", "Deployment"}},
		"another apiVersion in the patch":  {patch("Deployment", "apiVersion: apps/v2"), []string{"apps/v2", "apps/v1"}},
		"another name":                     {patch("Deployment", "metadata: {name: other}"), []string{"metadata.name"}},
		"another name, by an operation":    {patch("Deployment", `[{op: replace, path: /metadata/name, value: other}]`), []string{"metadata.name"}},
		"another namespace":                {patch("Deployment", "metadata: {namespace: kube-system}"), []string{"metadata.namespace"}},
		"a finalizer":                      {patch("Deployment", "metadata: {finalizers: [a/b]}"), []string{"metadata.finalizers"}},
		"no owner":                         {patch("Deployment", "metadata: {ownerReferences: null}"), []string{"metadata.ownerReferences"}},
		"one more owner":                   {patch("Deployment", `[{op: add, path: /metadata/ownerReferences/-, value: {apiVersion: v1, kind: Pod, name: a, uid: b}}]`), []string{"metadata.ownerReferences"}},
		"an owner's uid":                   {patch("Deployment", `[{op: replace, path: /metadata/ownerReferences/0/uid, value: b}]`), []string{"metadata.ownerReferences"}},
		"our label taken away":             {patch("Deployment", "metadata: {labels: {app.kubernetes.io/managed-by: null}}"), []string{"app.kubernetes.io/managed-by"}},
		"all labels taken away":            {patch("Service", `[{op: remove, path: /metadata/labels}]`), []string{"label app"}},
		"our label on the pods":            {patch("Deployment", "spec: {template: {metadata: {labels: {memcached_cr: other}}}}"), []string{"memcached_cr"}},
		"a reserved label that is not set": {patch("Deployment", "metadata: {labels: {app.kubernetes.io/version: '1'}}"), []string{"app.kubernetes.io/version"}},
		"a Deployment's selector":          {patch("Deployment", "spec: {selector: {matchLabels: {team: web}}}"), []string{"spec.selector"}},
		"a Service's selector":             {patch("Service", `[{op: replace, path: /spec/selector, value: {app: other}}]`), []string{"spec.selector"}},
		"a Service's selector, one key":    {patch("Service", "spec: {selector: {memcached_cr: null}}"), []string{"spec.selector"}},
		"the object itself, by directive":  {patch("PodDisruptionBudget", "$patch: delete"), []string{"may not remove"}},
		"the object itself, replaced":      {patch("Deployment", "$patch: replace\nspec: {}"), []string{"may not"}},
		"the whole, by an operation":       {patch("Deployment", `[{op: replace, path: "", value: {}}]`), nil},
		"status":                           {patch("Deployment", "status: {replicas: 3}"), []string{"status"}},
		"an unknown field":                 {patch("Deployment", "spec: {template: {spec: {hostnetwork: true}}}"), []string{"hostnetwork"}},
		"a value of the wrong type":        {patch("Deployment", "spec: {minReadySeconds: soon}"), []string{"minReadySeconds"}},
		"an operation on what is not there": {
			patch("Deployment", `[{op: replace, path: /spec/nothing/here, value: 1}]`), []string{"nothing"},
		},
		"a test that fails":          {patch("Deployment", `[{op: test, path: /spec/replicas, value: 99}]`), []string{"replicas"}},
		"an operation of that name":  {patch("Deployment", `[{op: exchange, path: /spec, value: 1}]`), []string{"exchange"}},
		"a misspelt operation field": {patch("Deployment", `[{op: add, pfad: /spec, value: 1}]`), []string{"pfad"}},
		"copies, which could grow":   {patch("Deployment", `[{op: copy, from: /spec, path: /metadata/annotations/a}]`), []string{"copy is refused"}},
		"text":                       {patch("Deployment", "hello"), []string{"a patch is either"}},
		"a number":                   {patch("Deployment", "1"), []string{"a patch is either"}},
		"no YAML":                    {patch("Deployment", "a: [b"), []string{"yaml"}},
		"a key twice":                {patch("Deployment", "spec: {paused: true}\nspec: {}"), []string{"already"}},
		"a list of text":             {patch("Deployment", "[a, b]"), nil},
	} {
		t.Run(sentence, func(t *testing.T) {
			t.Parallel()
			mc := plain()
			mc.Spec.Patches = []cachev1alpha1.Patch{patch("Deployment", "metadata: {annotations: {first: fine}}"), test.patch}
			objects, err := r.Render(mc)
			if err == nil {
				t.Fatalf("it is accepted: %s", asJSON(t, objects))
			}
			for _, want := range append(test.want, "spec.patches[1]: ") {
				if !strings.Contains(err.Error(), want) {
					t.Errorf("the error does not say %q: %v", want, err)
				}
			}
		})
	}
}

// What a patch says arrives as it was written: numbers as numbers that a field of whole
// numbers takes, however large, and a null that an operation tests for.
func TestPatchesKeepTheirValues(t *testing.T) {
	t.Parallel()
	r := mustNew(t, shipped(t), Defaults{AllowPrivilegedFields: true})
	user := []any{"spec", "template", "spec", "securityContext", "runAsUser"}
	for sentence, test := range map[string]struct {
		patch string
		path  []any
		want  any
	}{
		"a large number, merged":      {"spec: {template: {spec: {securityContext: {runAsUser: 1000650000}}}}", user, int64(1000650000)},
		"a large number, replaced":    {"[{op: replace, path: /spec/template/spec/securityContext/runAsUser, value: 1000650000}]", user, int64(1000650000)},
		"the largest number":          {"spec: {template: {spec: {securityContext: {runAsUser: 9223372036854775807}}}}", user, int64(9223372036854775807)},
		"zero":                        {"[{op: replace, path: /spec/minReadySeconds, value: 0}]", []any{"spec", "minReadySeconds"}, int64(0)},
		"false":                       {"[{op: add, path: /spec/paused, value: false}]", []any{"spec", "paused"}, false},
		"an empty text":               {`[{op: add, path: /metadata/annotations, value: {a: ""}}]`, []any{"metadata", "annotations", "a"}, ""},
		"a text that looks otherwise": {`metadata: {annotations: {a: "1e3", b: "true"}}`, []any{"metadata", "annotations", "a"}, "1e3"},
		"a null takes away":           {"spec: {template: {spec: {securityContext: {runAsUser: null}}}}", user, nil},
		"a null is tested for":        {"[{op: test, path: /spec/paused, value: null}]", []any{"spec", "replicas"}, int64(3)},
	} {
		t.Run(sentence, func(t *testing.T) {
			t.Parallel()
			mc := plain()
			mc.Spec.Patches = []cachev1alpha1.Patch{patch("Deployment", test.patch)}
			if got := lookup(find(t, mustRender(t, r, mc), "Deployment", "sample").Object, test.path); got != test.want {
				t.Errorf("got %v (%T), want %v", got, got, test.want)
			}
		})
	}
}

func TestAPatchOfAKindInTwoGroupsNamesTheGroup(t *testing.T) {
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

func TestWhatAPatchCameToIsRememberedAndNotShared(t *testing.T) {
	t.Parallel()
	r := mustNew(t, shipped(t), Defaults{AllowPrivilegedFields: true})
	mc := plain()
	mc.Spec.Patches = []cachev1alpha1.Patch{patch("Deployment", "metadata: {annotations: {patched: 'yes'}}")}
	first := mustRender(t, r, mc)
	want := asJSON(t, first)
	for range 2 {
		again := mustRender(t, r, mc)
		if got := asJSON(t, again); got != want {
			t.Fatalf("rendered again it is %s, want %s", got, want)
		}
		find(t, again, "Deployment", "sample").SetAnnotations(nil)
		find(t, first, "Deployment", "sample").SetAnnotations(nil)
	}
	mc.Spec.Size = new(int32(7))
	if got := lookup(find(t, mustRender(t, r, mc), "Deployment", "sample").Object, []any{"spec", "replicas"}); got != int64(7) {
		t.Errorf("replicas is %v after a change of size", got)
	}
}

func TestPatchesMayOnlyBeginWithJSON(t *testing.T) {
	t.Parallel()
	r := mustNew(t, shipped(t), Defaults{AllowPrivilegedFields: true})
	mc := plain()
	// An anchor that doubles nine times over is small text and a large patch.
	bomb := "a: &a [x, x, x, x, x, x, x, x, x]\n"
	for previous, next := 'a', 'b'; next <= 'i'; previous, next = next, next+1 {
		bomb += string(next) + ": &" + string(next) + " [" + strings.Repeat("*"+string(previous)+", ", 8) + "*" + string(previous) + "]\n"
	}
	mc.Spec.Patches = []cachev1alpha1.Patch{patch("Deployment", bomb)}
	if _, err := r.Render(mc); err == nil || !strings.Contains(err.Error(), "spec.patches[0]: ") {
		t.Errorf("the error is %v", err)
	}
}
