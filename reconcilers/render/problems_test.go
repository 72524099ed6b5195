// SPDX-License-Identifier: Apache-2.0

package render

import (
	"strings"
	"testing"

	"github.com/example/memcached-operator/reconcilers/render/template"
)

// more returns edits that add the file more.yaml to the site, which lists it.
func more(text string) edits {
	return edits{siteFile: component + "resources:\n- more.yaml\n", "components/site/more.yaml": text}
}

// inService returns edits with a JSON patch of the Service, whose second operation is operation.
func inService(operation string) edits {
	return inSite("patches:\n- target: {kind: Service}\n  patch: |-\n    - {op: add, path: /metadata/annotations, value: {}}\n    - " + operation + "\n")
}

// mistake is an edit and the message of New.
type mistake struct {
	edits edits
	want  string
}

// mistakes returns the mistakes that are made most, by what is wrong.
func mistakes(t *testing.T) map[string]mistake {
	t.Helper()
	return map[string]mistake{
		"a field of the wrong indentation": {inFile(t, deploymentFile, "  minReadySeconds: 0\n", "   minReadySeconds: 0\n"), `base/deployment.yaml:18: invalid YAML: did not find expected key`},
		"a tab":                            {more("apiVersion: v1\nkind: ConfigMap\nmetadata:\n\tname: more\n"), `components/site/more.yaml:4: invalid YAML: found character that cannot start any token`},
		"a tab in the second document":     {more("apiVersion: v1\nkind: ConfigMap\nmetadata: {name: more}\n---\nkind: ConfigMap\nmetadata:\n\tname: other\n"), `components/site/more.yaml:7: invalid YAML: found character that cannot start any token`},
		"a field written twice":            {more("apiVersion: v1\nkind: ConfigMap\nmetadata: {name: more}\ndata: {}\ndata: {}\n"), `components/site/more.yaml:5: invalid YAML: key "data" already set in map`},
		"a file that is not there":         {inSite("resources:\n- networkpolicy.yml\n"), `components/site/kustomization.yaml:4: resources: "networkpolicy.yml" does not exist in the templates; correct the path or add the file (remote and absolute paths are not supported)`},
		"a component that no field enables": {
			edits{"components/metric/kustomization.yaml": component + "resources: []\n"}, `components/metric: no field enables this component: set spec.metric in base/memcached.yaml or metric in base/values.yaml`,
		},
		"a component of another kind":         {edits{siteFile: "apiVersion: kustomize.config.k8s.io/v1beta1\nkind: Kustomization\nresources: []\n"}, `components/site/kustomization.yaml:2: kind is Kustomization; a component has kind Component and apiVersion kustomize.config.k8s.io/v1alpha1`},
		"a field that kustomize deprecates":   {inSite("commonLabels: {team: web}\n"), `components/site/kustomization.yaml:3: field "commonLabels" is refused: it changes selectors, which are immutable; use labels`},
		"a misspelt field of a kustomization": {inSite("patches: []\nresource:\n- more.yaml\n"), `components/site/kustomization.yaml:4: unknown field "resource"; correct its name or its indentation, or remove it`},
		"an unknown field of an object":       {inFile(t, deploymentFile, "        ports:\n", "        prots:\n"), `base/deployment.yaml:98: Deployment memcached: spec.template.spec.containers[name="memcached"].prots: unknown field; correct its name or its indentation, or remove it`},
		"a field in the wrong case":           {inFile(t, deploymentFile, "  replicas: 1\n", "  Replicas: 1\n"), `base/deployment.yaml:13: Deployment memcached: spec.Replicas: unknown field; correct its name or its indentation, or remove it`},
		"a quantity with two units":           {inFile(t, deploymentFile, "memory: 104Mi", "memory: 104MiB"), `base/deployment.yaml:72: Deployment memcached: spec.template.spec.containers[0].resources.requests.memory: not a quantity; write a number, optionally with a unit, such as 500m or 64Mi`},
		"an API version of the past":          {more("apiVersion: extensions/v1beta1\nkind: Ingress\nmetadata: {name: more}\n"), `components/site/more.yaml:1: Ingress more: apiVersion: extensions/v1beta1 was removed in Kubernetes 1.22; use networking.k8s.io/v1`},
		"a list as a kustomization":           {edits{siteFile: "- resources: []\n"}, `components/site/kustomization.yaml:1: expected a map, not a list`},
		"a boolean as an annotation":          {inSite("commonAnnotations: {a: yes}\n"), `components/site/kustomization.yaml:3: commonAnnotations: expected a string, not true or false; quote it`},
		"a map that is copied to a value":     {inSite("commonAnnotations: {a: b}\nreplacements: [{source: {kind: Memcached, fieldPath: spec}, targets: [{select: {kind: Deployment}, fieldPaths: [metadata.annotations.a]}]}]\n"), `components/site/kustomization.yaml:4: replacements[0]: it copies a map, Memcached.spec, to metadata.annotations.a, which holds a single value and would become empty; copy one of its fields, or name another target`},
		"a component called as each object's": {edits{"components/kind/kustomization.yaml": component + "resources: []\n"}, `components/kind: every Memcached has the field kind, so this component would always be active; rename it, or move it to components/site`},
		"a value of the wrong type":           {inFile(t, deploymentFile, "minReadySeconds: 0", "minReadySeconds: five"), `base/deployment.yaml:19: Deployment memcached: spec.minReadySeconds: expected a number`},
		"an object without a name":            {more("apiVersion: v1\nkind: ConfigMap\ndata: {}\n"), `components/site/more.yaml:2: ConfigMap: metadata.name is missing`},
		"an object without a kind":            {more("apiVersion: v1\nmetadata: {name: more}\n"), `components/site/more.yaml:1: kind is missing`},
		"an object with a namespace":          {more("apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: more\n  namespace: default\n"), `components/site/more.yaml:5: ConfigMap more: metadata.namespace is managed by the operator; remove it from the template`},
		"an object of the same kind and name": {more("apiVersion: v1\nkind: Service\nmetadata: {name: memcached}\nspec: {}\n"), `components/site/kustomization.yaml:4: more.yaml: another file has a Service called memcached too; give this one another metadata.name, or change the other one by a patch`},
		"a Secret":                            {more("apiVersion: v1\nkind: Secret\nmetadata: {name: more}\n"), `components/site/more.yaml:1: Secret more: the operator does not manage Secrets; create it separately and mount it by name`},
		"a selector that is not filled in": {
			more("apiVersion: policy/v1\nkind: PodDisruptionBudget\nmetadata: {name: more}\nspec:\n  selector:\n    matchLabels:\n      app: memcached\n      memcached_cr: memcached\n"), `components/site/more.yaml:8: PodDisruptionBudget more: spec.selector.matchLabels.memcached_cr is "memcached" for every Memcached; set it with a replacement from metadata.name of the Memcached`,
		},
		"a JSON patch beyond a list":                {inService("{op: add, path: /spec/ports/5/name, value: x}"), `components/site/kustomization.yaml:7: patches[0]: a JSON patch cannot add /spec/ports/5/name: the object has no such index, or lacks a map above it; correct the path, or add what is above it first`},
		"a JSON patch below a missing field":        {inService("{op: replace, path: /spec/nothing/deep, value: x}"), `components/site/kustomization.yaml:7: patches[0]: a JSON patch cannot replace /spec/nothing/deep: the object has no such index, or lacks a map above it; correct the path, or add what is above it first`},
		"a JSON patch of a field that is not there": {inService("{op: remove, path: /metadata/nothing}"), `components/site/kustomization.yaml:7: patches[0]: a JSON patch cannot remove /metadata/nothing: the object has no such field or index; correct the path, or remove the operation`},
		"a JSON patch that adds an unknown field": {inService("{op: add, path: /spec/prots, value: []}"), `2 problems:
components/site/kustomization.yaml:7: Service clusterip: spec.prots: unknown field; correct its name or its indentation, or remove it (with all components)
components/site/kustomization.yaml:7: Service memcached: spec.prots: unknown field; correct its name or its indentation, or remove it`},
		"a patch by the name in a cluster": {
			inSite("patches:\n- patch: |-\n    apiVersion: v1\n    kind: Service\n    metadata: {name: cache}\n    spec: {type: ClusterIP}\n"), `components/site/kustomization.yaml:5: patches[0]: a patch changes Service cache, which is in no template; name an object by the metadata.name of its template, such as memcached, not by its name in a cluster`,
		},
		"a patch that is no patch": {inSite("patches:\n- target: {kind: Service}\n  patch: '[{op: add}]'\n"), `components/site/kustomization.yaml:5: patches[0]: a patch is neither a partial object nor a list of operations (patch: "[{op: add}]"); write a JSON patch as a YAML list, one - op: with path: and value: an item`},
		"an unknown field in a patch": {
			inSite("patches:\n- patch: |-\n    apiVersion: v1\n    kind: Service\n    metadata: {name: memcached}\n    spec:\n      sessionAfinity: None\n"), `components/site/kustomization.yaml:9: patches[0]: Service memcached: spec.sessionAfinity: unknown field; correct its name or its indentation, or remove it`,
		},
		"a replacement of a missing field": {inFile(t, baseFile, "- spec.replicas", "- spec.replicaz"), `base/kustomization.yaml:44: replacements[1]: unable to find field "spec.replicaz" in replacement target; correct the path, add the field to the template, or set options: {create: true}`},
		"a replacement of a missing field in a component": {
			inFile(t, imageFile, "].image\n", "].picture\n"), `components/image/kustomization.yaml:10: replacements[0]: unable to find field "spec.template.spec.containers.[name=memcached].picture" in replacement target; correct the path, add the field to the template, or set options: {create: true} (with component image)`,
		},
		"a replacement from a field that is not set": {inFile(t, baseFile, "fieldPath: spec.size", "fieldPath: spec.sise"), `base/kustomization.yaml:40: replacements[1]: the source is spec.sise, which base/memcached.yaml does not set; add an example value there`},
		"a replacement in a missing object":          {inFile(t, baseFile, "select: {kind: Service, name: memcached}", "select: {kind: Service, name: cache}"), `base/kustomization.yaml:18: replacements[0]: the target Service cache selects no object of the templates; correct it, or remove the target`},
		"a misspelt field of the example":            {inFile(t, template.MemcachedFile, "size: 3", "sise: 3"), `base/memcached.yaml:13: unknown field "spec.sise"; correct its name or its indentation, or remove it`},
	}
}

// TestNew_ReportsTheWholeText pins the messages, which users read.
func TestNew_ReportsTheWholeText(t *testing.T) {
	buildsTemplates(t)
	t.Parallel()
	for sentence, test := range mistakes(t) {
		t.Run(sentence, func(t *testing.T) {
			t.Parallel()
			_, err := New(few(t, test.edits), Defaults{})
			if err == nil || strings.TrimPrefix(err.Error(), "templates: ") != test.want {
				t.Errorf("the message is\n%v\nwant\n%s", err, test.want)
			}
		})
	}
}

func TestNew_ReportsAllMistakes(t *testing.T) {
	buildsTemplates(t)
	t.Parallel()
	_, err := New(few(t, edits{
		serviceFile:                 replaced(t, serviceFile, "kind: Service\n", "kind: Service\nstatus: {}\n"),
		siteFile:                    component + "resources:\n- more.yaml\npatches:\n- target: {kind: Service}\n  patch: |-\n    - {op: remove, path: /metadata/nothing}\n- patch: |-\n    apiVersion: v1\n    kind: Service\n    metadata: {name: cache}\n",
		imageFile:                   replaced(t, imageFile, "].image\n", "].picture\n"),
		"components/site/more.yaml": "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: more, namespace: a}\nbinary: {}\n---\napiVersion: v1\nkind: ConfigMap\nmetadata: {name: other}\ndata:\n  a: [b]\n",
	}), Defaults{})
	const want = `templates: 7 problems:
base/service.yaml:5: Service memcached: status is managed by the server; remove it from the template
components/image/kustomization.yaml:10: replacements[0]: unable to find field "spec.template.spec.containers.[name=memcached].picture" in replacement target; correct the path, add the field to the template, or set options: {create: true} (with component image)
components/site/kustomization.yaml:8: patches[0]: a JSON patch cannot remove /metadata/nothing: the object has no such field or index; correct the path, or remove the operation
components/site/kustomization.yaml:10: patches[1]: a patch changes Service cache, which is in no template; name an object by the metadata.name of its template, such as memcached, not by its name in a cluster
components/site/more.yaml:3: ConfigMap more: metadata.namespace is managed by the operator; remove it from the template
components/site/more.yaml:4: ConfigMap more: binary: unknown field; correct its name or its indentation, or remove it
components/site/more.yaml:10: ConfigMap other: data.a: expected a string`
	if err == nil || err.Error() != want {
		t.Errorf("the message is\n%v\nwant\n%s", err, want)
	}
}

// What cannot be built is not built: kustomize's errors would be about the mistakes that are reported.
func TestNew_ReportsAllMistakesOfFilesThatCannotBeBuilt(t *testing.T) {
	buildsTemplates(t)
	t.Parallel()
	_, err := New(few(t, edits{
		template.MemcachedFile: replaced(t, template.MemcachedFile, "size: 3", "sise: 3"),
		template.ValuesFile:    replaced(t, template.ValuesFile, "openShift: true", "openshift: true"),
		deploymentFile:         "kind: Deployment\n\tname: x\n",
		siteFile:               component + "resources: [a.yaml, b.yaml]\nnamePrefix: x\nbases: []\n",
		imageFile:              component + "replacements:\n- targets: [{select: {kind: Deployment}, fieldPath: x}]\n",
	}), Defaults{})
	const want = `templates: 8 problems:
base/deployment.yaml:2: invalid YAML: found a tab character that violates indentation
base/memcached.yaml:13: unknown field "spec.sise"; correct its name or its indentation, or remove it
base/values.yaml:22: unknown field "openshift"; correct its name or its indentation, or remove it
components/image/kustomization.yaml:4: unknown field "replacements[0].targets[0].fieldPath"; correct its name or its indentation, or remove it
components/site/kustomization.yaml:3: resources: "a.yaml" does not exist in the templates; correct the path or add the file (remote and absolute paths are not supported)
components/site/kustomization.yaml:3: resources: "b.yaml" does not exist in the templates; correct the path or add the file (remote and absolute paths are not supported)
components/site/kustomization.yaml:4: field "namePrefix" is refused: the operator sets the names
components/site/kustomization.yaml:5: field "bases" is refused: deprecated by kustomize; use resources`
	if err == nil || err.Error() != want {
		t.Errorf("the message is\n%v\nwant\n%s", err, want)
	}
}
