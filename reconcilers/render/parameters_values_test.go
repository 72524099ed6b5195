// SPDX-License-Identifier: Apache-2.0

package render

import (
	"errors"
	"reflect"
	"slices"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	cachev1alpha1 "github.com/example/memcached-operator/apis/v1alpha1"
)

// withText declares text, which becomes an annotation, a variable of memcached and a part of an argument.
func withText() edits {
	return edits{
		ParametersFile: declarationHeader + "- {name: text, description: Any text., example: a}\n",
		"components/parameters.text/kustomization.yaml": `apiVersion: kustomize.config.k8s.io/v1alpha1
kind: Component
patches:
- patch: |-
    apiVersion: apps/v1
    kind: Deployment
    metadata: {name: memcached}
    spec: {template: {spec: {containers: [{name: memcached, env: [{name: TEXT, value: ""}, {name: PART, value: before=text=after}]}]}}}
replacements:
- source: {kind: Memcached, fieldPath: spec.parameters.text}
  targets:
  - select: {kind: Deployment, name: memcached}
    fieldPaths: [metadata.annotations.text]
    options: {create: true}
  - select: {kind: Deployment, name: memcached}
    fieldPaths: ["spec.template.spec.containers.[name=memcached].env.[name=TEXT].value"]
  - select: {kind: Deployment, name: memcached}
    fieldPaths: ["spec.template.spec.containers.[name=memcached].env.[name=PART].value"]
    options: {delimiter: "=", index: 1}
`,
	}
}

func deploymentIn(t *testing.T, objects []*unstructured.Unstructured) *unstructured.Unstructured {
	t.Helper()
	i := slices.IndexFunc(objects, func(o *unstructured.Unstructured) bool { return o.GetKind() == "Deployment" })
	if i < 0 {
		t.Fatal("there is no Deployment")
	}
	return objects[i]
}

// variable returns the value of a variable of memcached, or nil.
func variable(t *testing.T, deployment *unstructured.Unstructured, name string) any {
	t.Helper()
	containers, _, err := unstructured.NestedSlice(deployment.Object, "spec", "template", "spec", "containers")
	if err != nil {
		t.Fatal(err)
	}
	for _, entry := range containers[0].(map[string]any)["env"].([]any) {
		if entry := entry.(map[string]any); entry["name"] == name {
			return entry["value"]
		}
	}
	return nil
}

func TestRender_CopiesValuesOfParametersUnchanged(t *testing.T) {
	buildsTemplates(t)
	t.Parallel()
	r := mustNew(t, edited(t, withText()), Defaults{})
	for name, value := range map[string]string{
		"a boolean":                       "true",
		"a boolean of YAML 1.1":           "yes",
		"a number":                        "1",
		"an exponent":                     "1e3",
		"a hexadecimal number":            "0x1F",
		"a date":                          "2026-11-24",
		"null":                            "null",
		"a tilde":                         "~",
		"a map":                           "{a: b}",
		"a list":                          "[a, b]",
		"a key and a value":               "a: b",
		"an item and a document":          "x\n- y\n---\nz: 1\n",
		"a block scalar":                  "|-\n  a",
		"an anchor, an alias and a tag":   "&a *a !!int 1",
		"a comment":                       "a # b",
		"double quotes":                   `a"b\"`,
		"single quotes":                   "a'b",
		"newlines":                        "a\r\nb\n\n",
		"a tab and spaces":                " \ta ",
		"a reference to a variable":       "$(POD_NAME) $$(A) ${A}",
		"the delimiter":                   "=a=b=",
		"a path":                          "../../etc/passwd",
		"a template":                      "{{ .Values }} %s %d",
		"Unicode":                         "žluťoučký 🐎 \u2028 \u202e",
		"one character":                   "a",
		"the maximum number of bytes":     strings.Repeat("🐎", 1024),
		"the maximum number of newlines":  strings.Repeat("\n", 1024),
		"the name of a template":          "memcached",
		"the example of the declaration":  "a",
		"the example with a letter added": "aa",
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			mc := withValues(cachev1alpha1.Parameters{"text": cachev1alpha1.ParameterValue(value)})
			objects, err := r.Render(mc)
			if err != nil {
				t.Fatal(err)
			}
			deployment := deploymentIn(t, objects)
			annotation, _, err := unstructured.NestedString(deployment.Object, "metadata", "annotations", "text")
			if err != nil || annotation != value {
				t.Errorf("the annotation is %q (%v)", annotation, err)
			}
			if got := variable(t, deployment, "TEXT"); got != value {
				t.Errorf("the variable is %q", got)
			}
			if got := variable(t, deployment, "PART"); got != "before="+value+"=after" {
				t.Errorf("the variable with the value as a part is %q", got)
			}
			if want, _ := mustFullBuild(t, r, mc); !reflect.DeepEqual(objects, want) {
				t.Error("a kustomize build differs")
			}
		})
	}
}

func TestRender_RejectsNamesOfParametersThatAreNotDeclared(t *testing.T) {
	buildsTemplates(t)
	t.Parallel()
	r := mustNew(t, edited(t, withText()), Defaults{})
	for _, name := range []string{"", ".", "..", "../text", "../../base", "a.b", "text.", "text/", "Text", "spec", "textual"} {
		_, err := r.Render(withValues(cachev1alpha1.Parameters{"text": "a", name: "hunter2"}))
		invalid, ok := errors.AsType[*InvalidParameterError](err)
		if !ok || invalid.Name != name || !strings.HasSuffix(err.Error(), ": unknown parameter; known are text (Any text.)") {
			t.Errorf("%q: %v", name, err)
		}
	}
}

// A value stays a string, so that 1 and true can be annotations.
func TestNew_RejectsAParameterForANumber(t *testing.T) {
	buildsTemplates(t)
	t.Parallel()
	e := withText()
	const file = "components/parameters.text/kustomization.yaml"
	e[file] = strings.Replace(zoneComponent, "spec.template.spec.nodeSelector.zone", "spec.minReadySeconds", 1)
	e[file] = strings.Replace(e[file], "spec.parameters.zone", "spec.parameters.text", 1)
	const want = "memcached: a replacement copies a string to a field of type int; a string of a Memcached, such as one of " +
		"spec.parameters, cannot become another type, so choose another target (with component parameters.text)"
	for _, example := range []string{"'7'", "a"} {
		e[ParametersFile] = declarationHeader + "- {name: text, description: Any text., example: " + example + "}\n"
		_, err := New(few(t, e), Defaults{})
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("the example %s: error %v", example, err)
		}
	}
}

// Names that the CRD rejects are rejected as well where an older one has accepted them.
func TestRender_RejectsNamesOfParametersThatAreNoNames(t *testing.T) {
	buildsTemplates(t)
	t.Parallel()
	r := mustNew(t, edited(t, withText()), Defaults{})
	for _, name := range []string{"text\n", "text\x00", "*", "žluť"} {
		if _, err := r.Render(withValues(cachev1alpha1.Parameters{"text": "a", name: "hunter2"})); err == nil || !strings.HasPrefix(err.Error(), "spec.parameters: invalid key ") {
			t.Errorf("%q: %v", name, err)
		}
	}
}

func TestRender_RemovedParameterRemovesWhatItAdded(t *testing.T) {
	buildsTemplates(t)
	t.Parallel()
	r := mustNew(t, edited(t, withText()), Defaults{})
	plainly := mustRender(t, r, withValues(nil))
	for name, values := range map[string]cachev1alpha1.Parameters{"removed": {}, "absent": nil} {
		mustRender(t, r, withValues(cachev1alpha1.Parameters{"text": "a"}))
		if got := mustRender(t, r, withValues(values)); !reflect.DeepEqual(got, plainly) {
			t.Errorf("%s: %v", name, got)
		}
	}
	if got := variable(t, deploymentIn(t, plainly), "TEXT"); got != nil {
		t.Errorf("the variable is %v without the parameter", got)
	}
}
