// SPDX-License-Identifier: Apache-2.0

package render

import (
	"strings"
	"testing"

	"github.com/example/memcached-operator/reconcilers/render/template"
)

// unsupportedFields are fields of a kustomization that are refused, with values.
var unsupportedFields = map[string]string{
	"openapi":               "{path: schema.json}",
	"generators":            "[generator.yaml]",
	"transformers":          `["{apiVersion: builtin, kind: PrefixTransformer, metadata: {name: x}, prefix: x-}"]`,
	"validators":            "[validator.yaml]",
	"helmCharts":            "[{name: memcached, repo: https://charts.example.com}]",
	"helmGlobals":           "{chartHome: charts}",
	"crds":                  "[crd.yaml]",
	"configurations":        "[names.yaml]",
	"vars":                  "[{name: X, objref: {kind: Service, name: memcached, apiVersion: v1}}]",
	"bases":                 "[../other]",
	"commonLabels":          "{team: web}",
	"namespace":             "default",
	"namePrefix":            "x-",
	"nameSuffix":            "-x",
	"secretGenerator":       "[{name: s, literals: [a=b]}]",
	"patchesStrategicMerge": "[patch.yaml]",
	"patchesJson6902":       "[{path: patch.yaml, target: {kind: Deployment, version: v1, name: memcached}}]",
	"imageTags":             "[{name: memcached, newTag: latest}]",
	"sortOptions":           "{order: fifo}",
	"buildMetadata":         "[originAnnotations]",
}

func TestNew_RejectsUnsupportedFieldsOfKustomizations(t *testing.T) {
	buildsTemplates(t)
	refusals := map[string]refusal{
		"a kustomization that is not YAML": {
			edits{baseFile: "resources: [\n"},
			[]string{baseFile + ": invalid YAML: "},
		},
		"an unknown field": {
			inSite("resource: []\n"),
			[]string{siteFile, `"resource"`},
		},
		"an unknown field further down": {
			inFile(t, baseFile, "fieldPaths:", "fieldpaths:"),
			[]string{baseFile, `"replacements[0].targets[0].fieldpaths"`},
		},
		"a refused field in another case, which kustomize would take": {
			inSite("OpenAPI: {path: schema.json}\n"),
			[]string{siteFile, `"OpenAPI"`},
		},
		"a field written twice": {
			inSite("resources: []\nresources: []\n"),
			[]string{siteFile, `"resources"`, "already set"},
		},
		"labels that reach selectors": {
			inSite("labels: [{pairs: {a: b}, includeSelectors: true}]\n"),
			[]string{siteFile, "labels[0].includeSelectors"},
		},
	}
	for field, value := range unsupportedFields {
		refusals["field "+field] = refusal{inSite(field + ": " + value + "\n"), []string{siteFile, `field "` + field + `" is refused`}}
	}
	testRefusals(t, refusals)
}

func TestNew_RejectsUnsupportedKustomizations(t *testing.T) {
	buildsTemplates(t)
	testRefusals(t, map[string]refusal{
		"two kustomization files in one directory": {
			edits{"base/kustomization.yml": "resources: []\n"},
			[]string{"base/kustomization.yml", "second kustomization file"},
		},
		"no kustomization in base": {
			edits{baseFile: ""},
			[]string{baseFile, "no such file"},
		},
		"a base that lists nothing": {
			edits{baseFile: "resources: []\n"},
			[]string{baseFile, "builds no object"},
		},
		"a base of inputs alone": {
			edits{baseFile: "resources: [memcached.yaml, values.yaml]\n"},
			[]string{baseFile, "builds no object"},
		},
		"a component that no field turns on": {
			edits{"components/unknown/kustomization.yaml": component + "resources: []\n"},
			[]string{"components/unknown", "spec.unknown", template.MemcachedFile, template.ValuesFile},
		},
		"a component without a kustomization": {
			edits{imageFile: "", "components/image/patch.yaml": "spec: {}\n"},
			[]string{imageFile},
		},
		"directories that list each other": {
			listed(t, "../base", nil),
			[]string{baseFile, "cycle"},
		},
		"a component that lists itself": {
			inSite("components: [../site]\n"),
			[]string{siteFile, "cycle"},
		},
	})
}

func TestNew_RejectsFilesOutsideOfTheTree(t *testing.T) {
	buildsTemplates(t)
	configMap := "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: more}\n"
	refusals := map[string]refusal{
		"a directory with the name of a repository, which kustomize would fetch": {
			listed(t, "github.com/example/more", edits{
				"base/github.com/example/more/kustomization.yaml": "resources: [more.yaml]\n",
				"base/github.com/example/more/more.yaml":          configMap,
			}),
			[]string{baseFile, `resources: "github.com/example/more"`},
		},
		"a file of another directory": {
			listed(t, "../components/site/more.yaml", edits{"components/site/more.yaml": configMap}),
			[]string{baseFile, "../components/site/more.yaml", "not in or below"},
		},
		"a remote component": {
			inSite("components: [\"https://github.com/example/more//x?ref=v1\"]\n"),
			[]string{siteFile, "components: "},
		},
		"a remote patch": {
			inSite("patches: [{path: https://example.com/patch.yaml}]\n"),
			[]string{siteFile, "patches[0].path"},
		},
		"a remote replacement": {
			inSite("replacements: [{path: https://example.com/replacement.yaml}]\n"),
			[]string{siteFile, "replacements[0].path"},
		},
		"a generator that reads a remote file": {
			inSite("configMapGenerator: [{name: x, files: [key=https://example.com/x]}]\n"),
			[]string{siteFile, "configMapGenerator[0]"},
		},
		"a generator that reads a file outside": {
			inSite("configMapGenerator: [{name: x, envs: [../../../etc/environment]}]\n"),
			[]string{siteFile, "configMapGenerator[0]"},
		},
		"a file that is missing": {
			listed(t, "more.yaml", nil),
			[]string{baseFile, `resources: "more.yaml"`},
		},
	}
	for name, entry := range map[string]string{
		"a URL":                    "https://example.com/more.yaml",
		"a repository by URL":      "https://github.com/example/more//base?ref=v1",
		"a repository without URL": "github.com/example/more",
		"a repository by git@":     "git@github.com:example/more.git",
		"a repository by ssh":      "ssh://git@example.com/more.git",
		"a repository by git::":    "git::https://example.com/more.git",
		"a repository in a file":   "file:///srv/more.git",
		"an absolute path":         "/base/deployment.yaml",
		"a path out of the tree":   "../../etc/passwd",
	} {
		refusals[name] = refusal{listed(t, entry, nil), []string{baseFile, `resources: "` + entry + `"`, "remote and absolute"}}
	}
	testRefusals(t, refusals)
}

func TestNew_RejectsInvalidReplacements(t *testing.T) {
	buildsTemplates(t)
	target := "targets: [{select: {kind: Deployment}, fieldPaths: [spec.nope]}]"
	testRefusals(t, map[string]refusal{
		"a replacement to nowhere, in the base": {
			inFile(t, baseFile, "- spec.replicas", "- spec.replicaz"),
			[]string{baseFile + ": replacements[1]", `"spec.replicaz"`},
		},
		"a replacement to nowhere, in a component": {
			inFile(t, imageFile, "].image\n", "].picture\n"),
			[]string{"component image", imageFile + ": replacements[0]", "].picture"},
		},
		"a replacement to nowhere, in a file of its own": {
			edits{siteFile: component + "replacements: [{path: size.yaml}]\n",
				"components/site/size.yaml": "source: {kind: Memcached, fieldPath: spec.size}\n" + target + "\n"},
			[]string{"components/site/size.yaml", `"spec.nope"`},
		},
		"a replacement to an object that is nowhere": {
			inFile(t, baseFile, "select: {kind: Service, name: memcached}", "select: {kind: Service, name: nope}"),
			[]string{baseFile + ": replacements[0]", "Service nope"},
		},
		"a replacement from a field that is absent": {
			inFile(t, baseFile, "fieldPath: spec.size", "fieldPath: spec.sise"),
			[]string{baseFile + ": replacements[1]", "spec.sise", template.MemcachedFile},
		},
		"a replacement from an object that is absent": {
			inFile(t, baseFile, "{kind: Memcached, fieldPath: spec.size}", "{kind: Memcache, fieldPath: spec.size}"),
			[]string{baseFile + ": replacements[1]", "Memcache"},
		},
		"a replacement without a source": {
			inSite("replacements: [{" + target + "}]\n"),
			[]string{siteFile + ": replacements[0]", "source"},
		},
		"a replacement that is empty, which kustomize would panic at": {
			inSite("replacements:\n- source: {kind: Memcached, fieldPath: spec.size}\n  targets:\n  -\n"),
			[]string{siteFile + ": replacements[0]", "target is empty"},
		},
		"a replacement with a target that selects nothing": {
			inSite("replacements:\n- source: {kind: Memcached, fieldPath: spec.size}\n  targets: [{fieldPaths: [spec.replicas]}]\n"),
			[]string{siteFile + ": replacements[0]", "select"},
		},
		"a replacement with a pattern that is none": {
			inSite("replacements:\n- source: {kind: Memcached, fieldPath: spec.size}\n  targets: [{select: {kind: \"(\"}, fieldPaths: [spec.replicas]}]\n"),
			[]string{siteFile + ": replacements[0]", "("},
		},
		"a replacement with an unknown field, in a file of its own": {
			edits{siteFile: component + "replacements: [{path: size.yaml}]\n",
				"components/site/size.yaml": "- source: {kind: Memcached, fieldpath: spec.size}\n  " + target + "\n"},
			[]string{"components/site/size.yaml", "fieldpath"},
		},
		"a replacement that changes a name": {
			inSite("replacements:\n- source: {kind: Memcached, fieldPath: metadata.name}\n  targets: [{select: {kind: Service}, fieldPaths: [metadata.name]}]\n"),
			[]string{"Service", "must not change kinds or names"},
		},
		"a replacement that leads to a value of the wrong type": {
			inSite("replacements:\n- source: {kind: Memcached, fieldPath: spec.size}\n  targets: [{select: {kind: Service}, fieldPaths: [metadata.labels]}]\n"),
			[]string{siteFile + ": Service memcached: metadata.labels: expected a map (in the object of " + serviceFile + ")"},
		},
	})
}

// New rejects the empty target on which kustomize panics here; other input on which it
// panics must not end the operator either.
func TestBuild_ReturnsAPanicAsAnError(t *testing.T) {
	buildsTemplates(t)
	t.Parallel()
	tree := edited(t, inSite("replacements:\n- source: {kind: Memcached, fieldPath: spec.size}\n  targets:\n  -\n"))
	_, err := template.Build(tree, "resources: [base]\ncomponents: [components/site]\n")
	if err == nil || !strings.Contains(err.Error(), "panicked") {
		t.Errorf("want an error that says that kustomize panicked: %v", err)
	}
}
