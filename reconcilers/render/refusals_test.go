// SPDX-License-Identifier: Apache-2.0

package render

import (
	"maps"
	"regexp"
	"strings"
	"testing"

	"github.com/example/memcached-operator/reconcilers/render/template"
)

const (
	deploymentFile = "base/deployment.yaml"
	serviceFile    = "base/service.yaml"
	baseFile       = "base/kustomization.yaml"
	siteFile       = "components/site/kustomization.yaml"
	imageFile      = "components/image/kustomization.yaml"

	component = "apiVersion: kustomize.config.k8s.io/v1alpha1\nkind: Component\n"
)

// refusal is an edit that New must reject with an error that contains every text of want:
// the file and the field.
type refusal struct {
	edits edits
	want  []string
}

func testRefusals(t *testing.T, refusals map[string]refusal) {
	t.Parallel()
	for name, refusal := range refusals {
		t.Run("rejects "+name, func(t *testing.T) {
			t.Parallel()
			_, err := New(few(t, refusal.edits), Defaults{})
			if err == nil {
				t.Fatal("New accepts the templates")
			}
			text := lineNumber.ReplaceAllString(err.Error(), ": ")
			for _, want := range refusal.want {
				if !strings.Contains(text, want) {
					t.Errorf("the error does not say %q:\n%v", want, err)
				}
			}
			if strings.Contains(err.Error(), "panicked") {
				t.Errorf("kustomize panicked: %v", err)
			}
		})
	}
}

// lineNumber matches the number of a line, which TestNew_ReportsTheWholeText pins.
var lineNumber = regexp.MustCompile(`:[0-9]+: `)

// inFile returns edits that replace one passage of a shipped file.
func inFile(t *testing.T, file, passage, by string) edits {
	t.Helper()
	return edits{file: replaced(t, file, passage, by)}
}

// listed returns edits that add an entry to the resources of the base.
func listed(t *testing.T, entry string, more edits) edits {
	t.Helper()
	result := inFile(t, baseFile, "- service.yaml\n", "- service.yaml\n- "+entry+"\n")
	maps.Copy(result, more)
	return result
}

// inSite returns edits with the site component of fields.
func inSite(fields string) edits {
	return edits{siteFile: component + fields}
}

func TestNew_RejectsInvalidObjects(t *testing.T) {
	buildsTemplates(t)
	testRefusals(t, map[string]refusal{
		"a tab in a template": {
			edits{deploymentFile: "apiVersion: apps/v1\n\tkind: Deployment\n"},
			[]string{deploymentFile + ": invalid YAML: ", "tab"},
		},
		"a field written twice": {
			edits{serviceFile: string(shipped(t)[serviceFile]) + "spec: {}\n"},
			[]string{serviceFile, `"spec"`, "already set"},
		},
		"a template without an object": {
			edits{serviceFile: "# nothing\n"},
			[]string{serviceFile + ": contains no object"},
		},
		"a template without a kind": {
			inFile(t, serviceFile, "kind: Service\n", ""),
			[]string{serviceFile + ": kind is missing"},
		},
		"a template without a name": {
			inFile(t, serviceFile, "  name: memcached\n", ""),
			[]string{serviceFile + ": Service: metadata.name is missing"},
		},
		"a field of a Deployment in the wrong case": {
			inFile(t, deploymentFile, "  replicas: 1\n", "  Replicas: 1\n"),
			[]string{deploymentFile + ": Deployment memcached: spec.Replicas"},
		},
		"a field of a container in the wrong case": {
			inFile(t, deploymentFile, "        command:", "        imagepullpolicy: Always\n        command:"),
			[]string{deploymentFile, `spec.template.spec.containers[name="memcached"].imagepullpolicy`},
		},
		"a value of the wrong type": {
			inFile(t, deploymentFile, "minReadySeconds: 0", "minReadySeconds: five"),
			[]string{deploymentFile, "spec.minReadySeconds", "expected a number"},
		},
		"an object that exceeds the limit for every Memcached": {
			listed(t, "more.yaml", edits{"base/more.yaml": "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: more}\ndata: {a: " + strings.Repeat("x", 300_000) + "}\n"}),
			[]string{"base/more.yaml: ConfigMap more: every Memcached would exceed a limit", "has 300"},
		},
		"a memory limit below the cache": {
			inFile(t, deploymentFile, "value: \"64\"", "value: \"1024\""),
			[]string{deploymentFile + ": no Memcached could be rendered: Deployment memcached-operator-dry-run: the memory limit of container memcached, 143Mi, is less than 1.1 times its cache of 1024Mi"},
		},
		"a replacement by an item of a list that not every Memcached has": {
			inSite("replacements: [{source: {kind: Memcached, fieldPath: spec.extraArgs.0}, targets: [{select: {kind: Deployment}, fieldPaths: [metadata.annotations.x], options: {create: true}}]}]\n"),
			[]string{siteFile + ": replacements[0]: Memcached.spec.extraArgs.0 is required by the templates and not set"},
		},
		"a date where a string belongs": {
			listed(t, "more.yaml", edits{"base/more.yaml": "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: more}\ndata: {since: 2026-01-01}\n"}),
			[]string{"base/more.yaml", "data: since", "quoted string"},
		},
	})
}

func TestNew_RejectsObjectsAndFieldsOfTheOperator(t *testing.T) {
	buildsTemplates(t)
	metadata := func(field string) edits {
		return inFile(t, serviceFile, "  name: memcached\n", "  name: memcached\n  "+field+"\n")
	}
	testRefusals(t, map[string]refusal{
		"a namespace": {
			metadata("namespace: default"),
			[]string{serviceFile, "metadata.namespace"},
		},
		"an owner": {
			metadata("ownerReferences: [{name: x}]"),
			[]string{serviceFile, "metadata.ownerReferences"},
		},
		"a finalizer": {
			metadata("finalizers: [example.com/x]"),
			[]string{serviceFile, "metadata.finalizers"},
		},
		"a status": {
			edits{serviceFile: string(shipped(t)[serviceFile]) + "status: {}\n"},
			[]string{serviceFile, "status is managed by the server"},
		},
		"a Secret": {
			listed(t, "secret.yaml", edits{"base/secret.yaml": "apiVersion: v1\nkind: Secret\nmetadata: {name: s}\n"}),
			[]string{"base/secret.yaml: Secret s", "does not manage Secrets"},
		},
		"a Secret in a list": {
			listed(t, "list.yaml", edits{"base/list.yaml": "apiVersion: v1\nkind: List\nitems:\n- {apiVersion: v1, kind: Secret, metadata: {name: s}}\n"}),
			[]string{"base/list.yaml", "Secret s", "does not manage Secrets"},
		},
		"a Memcached among the templates": {
			listed(t, "more.yaml", edits{"base/more.yaml": "apiVersion: cache.example.com/v1alpha1\nkind: Memcached\nmetadata: {name: more}\nspec: {}\n"}),
			[]string{"base/more.yaml: Memcached more", "own API group"},
		},
	})
}

func TestNew_RejectsInvalidExamples(t *testing.T) {
	buildsTemplates(t)
	testRefusals(t, map[string]refusal{
		"a misspelt field in the example Memcached": {
			inFile(t, template.MemcachedFile, "size: 3", "sise: 3"),
			[]string{template.MemcachedFile, `"spec.sise"`},
		},
		"a field of the example Memcached in the wrong case": {
			inFile(t, template.MemcachedFile, "size: 3", "Size: 3"),
			[]string{template.MemcachedFile, `"spec.Size"`},
		},
		"a value of the wrong type in the example Memcached": {
			inFile(t, template.MemcachedFile, "size: 3", "size: three"),
			[]string{template.MemcachedFile, "spec.size"},
		},
		"an example Memcached that is not YAML": {
			edits{template.MemcachedFile: "spec: [\n"},
			[]string{template.MemcachedFile + ": invalid YAML: "},
		},
		"an example Memcached without a name": {
			inFile(t, template.MemcachedFile, "  name: example\n", ""),
			[]string{template.MemcachedFile, "metadata.name"},
		},
		"a field of Values that Go does not compute": {
			inFile(t, template.ValuesFile, "image:", "memory: 1\nimage:"),
			[]string{template.ValuesFile, `"memory"`},
		},
	})
}

func TestNew_RejectsInvalidPatches(t *testing.T) {
	buildsTemplates(t)
	patch := "apiVersion: apps/v1\nkind: Deployment\nmetadata: {name: memcached}\nspec: {Paused: true}\n"
	testRefusals(t, map[string]refusal{
		"an unknown field in a patch file of the site": {
			edits{siteFile: component + "patches: [{path: pause.yaml}]\n", "components/site/pause.yaml": patch},
			[]string{"components/site/pause.yaml: Deployment memcached: spec.Paused"},
		},
		"an unknown field in a patch within a kustomization": {
			inSite("patches:\n- patch: |-\n    " + strings.ReplaceAll(patch, "\n", "\n    ")),
			[]string{siteFile + ": patches[0]: Deployment memcached: spec.Paused"},
		},
		"an unknown field from a JSON patch": {
			inSite("patches:\n- target: {kind: Deployment}\n  patch: |-\n    - {op: add, path: /spec/Paused, value: true}\n"),
			[]string{siteFile + ": Deployment memcached: spec.Paused: unknown field (in the object of " + deploymentFile + ")"},
		},
		"a JSON patch of a field that is not there": {
			inSite("patches:\n- target: {kind: Deployment}\n  patch: |-\n    - {op: replace, path: /spec/nope/x, value: true}\n"),
			[]string{siteFile, "/spec/nope/x"},
		},
		"a patch of an object that is not there": {
			inSite("patches:\n- patch: |-\n    {apiVersion: apps/v1, kind: Deployment, metadata: {name: nope}}\n"),
			[]string{siteFile, "nope"},
		},
		"a patch file that is not YAML": {
			edits{siteFile: component + "patches: [{path: pause.yaml}]\n", "components/site/pause.yaml": "spec: [\n"},
			[]string{"components/site/pause.yaml: invalid YAML: "},
		},
		"a patch that is neither a merge nor a JSON patch": {
			inSite("patches:\n- target: {kind: Deployment}\n  patch: nonsense\n"),
			[]string{siteFile, "nonsense"},
		},
	})
}
