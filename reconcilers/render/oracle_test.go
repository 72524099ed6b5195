// SPDX-License-Identifier: Apache-2.0

package render

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"regexp"
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/kustomize/api/krusty"
	"sigs.k8s.io/kustomize/kyaml/filesys"
	"sigs.k8s.io/yaml"

	cachev1alpha1 "github.com/example/memcached-operator/apis/v1alpha1"
	"github.com/example/memcached-operator/reconcilers/render/template"
)

// oracleEdits are components of the site, and what else a tree needs with each.
var oracleEdits = []struct {
	name, site string
	more       edits
}{
	{"a preferred node affinity beside the user's", mergePatch(`{template: {spec: {affinity: {nodeAffinity: {preferredDuringSchedulingIgnoredDuringExecution: [{weight: 1, preference: {matchExpressions: [{key: disk, operator: Exists}]}}]}}}}}`), nil},
	{"a CPU limit of the exporter", mergePatch(`{template: {spec: {containers: [{name: exporter, resources: {limits: {cpu: 100m}}}]}}}`), nil},
	{"a mirror of images", "images: [{name: memcached, newName: mirror.example.com/memcached}, {name: registry.example.com/hub/memcached, newTag: latest}]\n", nil},
	{"a patch by label", "patches:\n- target: {labelSelector: 'memcached_cr in (web-1, web-2, web-3)', kind: Deployment}\n  patch: |-\n    - {op: add, path: /spec/paused, value: true}\n", nil},
	{"an annotation that is removed", mergePatch(`{template: {metadata: {annotations: {key: null}}}}`), nil},
	{"a toleration that is removed", "patches:\n- target: {kind: Deployment}\n  patch: |-\n    - {op: add, path: /spec/template/spec/tolerations, value: [{key: a, operator: Exists}]}\n    - {op: remove, path: /spec/template/spec/tolerations/0}\n", nil},
	{"a ConfigMap with a hash, mounted before lists of the user", "configMapGenerator: [{name: settings, literals: [A=b]}]\n" + mergePatch(`{template: {spec: {containers: [{name: memcached, envFrom: [{configMapRef: {name: settings}}]}], volumes: [{name: settings, configMap: {name: settings}}]}}}`), nil},
	{"a ConfigMap with a hash that a patch by label mounts", "configMapGenerator: [{name: settings, literals: [A=b]}]\npatches:\n- target: {labelSelector: 'memcached_cr in (web-1, web-2, web-3)', kind: Deployment}\n  patch: |-\n    - {op: add, path: /spec/template/spec/containers/0/envFrom, value: [{configMapRef: {name: settings}}]}\n", nil},
	{"a ConfigMap without a hash, with values", `configMapGenerator: [{name: settings, literals: [PORT=0, TEXT=a-b], options: {disableNameSuffixHash: true}}]
replacements:
- source: {kind: Memcached, fieldPath: spec.containerPort}
  targets: [{select: {kind: ConfigMap, name: settings}, fieldPaths: [data.PORT]}]
- source: {kind: Memcached, fieldPath: metadata.name}
  targets: [{select: {kind: ConfigMap, name: settings}, fieldPaths: [data.TEXT], options: {delimiter: "-", index: 1}}]
`, nil},
	{"delimiters within values", "commonAnnotations: {example.com/x: z}\n", parameterEdits("registry", `commonAnnotations: {mirror: REGISTRY/REPO/x}
replacements:
- source: {kind: Memcached, fieldPath: spec.parameters.registry}
  targets: [{select: {kind: Deployment}, fieldPaths: [metadata.annotations.mirror], options: {delimiter: /, index: 0}}]
- source: {kind: Memcached, fieldPath: metadata.name}
  targets: [{select: {kind: Deployment}, fieldPaths: [metadata.annotations.mirror], options: {delimiter: /, index: 1}}]
`)},
	{"a parameter as the key of a list", mergePatch(`{template: {spec: {topologySpreadConstraints: [{topologyKey: example.com/rack, maxSkew: 2, whenUnsatisfiable: ScheduleAnyway}]}}}`), parameterEdits("rack", mergePatch(`{template: {spec: {topologySpreadConstraints: [{topologyKey: RACK, maxSkew: 1, whenUnsatisfiable: ScheduleAnyway}]}}}`)+`replacements:
- source: {kind: Memcached, fieldPath: spec.parameters.rack}
  targets: [{select: {kind: Deployment}, fieldPaths: ['spec.template.spec.topologySpreadConstraints.[maxSkew=1].topologyKey']}]
`)},
	{"a fixed number of replicas", "replicas: [{name: memcached, count: 7}]\n", nil},
	{"labels of all pods", "labels: [{pairs: {key: site, team: cache}, includeTemplates: true}]\n", nil},
	{"annotations of all objects", "commonAnnotations: {example.com/site: prague, key: site}\n", nil},
	{"an item of a list that a field sets", "patches:\n- target: {kind: Deployment}\n  patch: |-\n    - {op: add, path: /spec/template/spec/containers/0/command, value: [a]}\n    - {op: replace, path: /spec/template/spec/containers/0/command/0, value: nice}\n", nil},
	{"a variable", "patches:\n- target: {kind: Deployment}\n  patch: |-\n    - {op: add, path: /spec/template/spec/containers/0/env/0, value: {name: ZONE, value: prague}}\n", nil},
	{"a variable by name", mergePatch(`{template: {spec: {containers: [{name: memcached, env: [{name: ZONE, value: prague}]}]}}}`), nil},
	{"a port by number", mergePatch(`{template: {spec: {containers: [{name: memcached, ports: [{containerPort: 11213, protocol: TCP, name: extra}]}]}}}`), nil},
	{"a sidecar", mergePatch(`{template: {spec: {containers: [{name: logger, image: 'busybox:1.35'}]}}}`), nil},
	{"a value of another object", `replacements:
- source: {kind: Deployment, fieldPath: metadata.labels.memcached_cr}
  targets: [{select: {kind: Service}, fieldPaths: [metadata.annotations.cache], options: {create: true}}]
- source: {kind: Service, name: memcached, fieldPath: spec.ports.0.port}
  targets: [{select: {kind: Deployment}, fieldPaths: [metadata.annotations.port], options: {create: true}}]
`, nil},
	{"an object that is removed", "patches:\n- target: {kind: PodDisruptionBudget}\n  patch: '{apiVersion: policy/v1, kind: PodDisruptionBudget, metadata: {name: memcached}, $patch: delete}'\n", nil},
	{"a constant in place of a field", "replacements:\n- sourceValue: \"7\"\n  targets: [{select: {kind: Deployment}, fieldPaths: [spec.replicas]}]\n", nil},
	{"an autoscaler", "resources: [hpa.yaml]\n", edits{"components/site/edit/hpa.yaml": `apiVersion: autoscaling/v2
kind: HorizontalPodAutoscaler
metadata: {name: memcached}
spec: {maxReplicas: 9, scaleTargetRef: {apiVersion: apps/v1, kind: Deployment, name: memcached}}
`}},
	{"a component that depends on Values", "commonAnnotations: {example.com/x: z}\n", edits{"components/memory/kustomization.yaml": component + `replacements:
- source: {kind: Values, fieldPath: memory.megabytes}
  targets:
  - select: {kind: Deployment}
    fieldPaths: ['spec.template.spec.containers.[name=memcached].env.[name=MEMCACHED_MEMORY_LIMIT].value', 'spec.template.metadata.annotations.megabytes']
    options: {create: true}
`}},
	{"a field of every container", "replacements:\n- source: {kind: Memcached, fieldPath: metadata.name}\n  targets: [{select: {kind: Deployment}, fieldPaths: ['spec.template.spec.containers.*.image'], options: {delimiter: /, index: 9}}]\n", nil},
	{"a map that replaces the user's", mergePatch(`{template: {spec: {nodeSelector: {$patch: replace, disk: ssd}}}}`), nil},
	{"a moved field", "patches:\n- target: {kind: Deployment}\n  patch: |-\n    - {op: move, from: /spec/replicas, path: /spec/revisionHistoryLimit}\n", nil},
	{"an index that follows from the user's list", mergePatch(`{template: {spec: {tolerations: [{key: site, operator: Exists}]}}}`), nil},
}

func mergePatch(spec string) string {
	return "patches:\n- patch: |-\n    apiVersion: apps/v1\n    kind: Deployment\n    metadata: {name: memcached}\n    spec: " + spec + "\n"
}

// parameterEdits declares a parameter, with a component.
func parameterEdits(name, text string) edits {
	return edits{
		ParametersFile: "parameters: [{name: " + name + ", description: x, example: example}]\n",
		"components/parameters." + name + "/kustomization.yaml": component + text,
	}
}

// oracleFeatures are the fields of which a random Memcached has some.
var oracleFeatures = append(slices.Clone(features),
	func(s *cachev1alpha1.MemcachedSpec, name, _ string, _ int32) {
		term := cachev1alpha1.NodeSelectorTerm{MatchExpressions: []cachev1alpha1.NodeSelectorRequirement{
			{Key: "pool", Operator: corev1.NodeSelectorOpIn, Values: []cachev1alpha1.LabelValue{cachev1alpha1.LabelValue(name)}},
		}}
		s.Affinity = &cachev1alpha1.Affinity{NodeAffinity: &cachev1alpha1.NodeAffinity{
			RequiredDuringSchedulingIgnoredDuringExecution: &cachev1alpha1.NodeSelector{NodeSelectorTerms: []cachev1alpha1.NodeSelectorTerm{term}},
		}}
	},
	func(s *cachev1alpha1.MemcachedSpec, _, _ string, _ int32) {
		s.StableNames = &cachev1alpha1.StableNames{}
	},
	func(s *cachev1alpha1.MemcachedSpec, name, _ string, _ int32) {
		s.Metrics = &cachev1alpha1.Metrics{Port: new(int32(9150)), Resources: &cachev1alpha1.Resources{Limits: &cachev1alpha1.ResourceAmounts{Memory: resource.NewQuantity(96<<20, resource.BinarySI)}}}
	},
)

// randomMemcached returns the Memcached called web-n, with one of two sets of random fields.
func randomMemcached(random *rand.Rand, seed uint64, n int, parameter string) *cachev1alpha1.Memcached {
	mc := named(fmt.Sprintf("web-%d", n))
	fields := rand.New(rand.NewPCG(seed, uint64(n%2)))
	for _, feature := range oracleFeatures[len(features):] { // What the first edits are about.
		if fields.IntN(3) == 0 {
			feature(&mc.Spec, fmt.Sprintf("name-%d", random.IntN(9)), "", 0)
		}
	}
	for range 1 + fields.IntN(4) {
		oracleFeatures[fields.IntN(len(oracleFeatures))](&mc.Spec, fmt.Sprintf("name-%d", random.IntN(9)), fmt.Sprintf("a: \"%d\" b", n), 11212+random.Int32N(4))
	}
	if fields.IntN(2) == 0 {
		mc.Spec.Image = new([]cachev1alpha1.Image{"memcached:1.6.40", "registry.example.com/hub/memcached:1.6.41", "memcached"}[random.IntN(3)])
	}
	if fields.IntN(3) == 0 {
		mc.Spec.ExtraArgs = []cachev1alpha1.ExtraArg{"--disable-cas", "--disable-dumping"}[:1+random.IntN(2)]
	}
	if fields.IntN(3) == 0 {
		mc.Spec.ImagePullPolicy = new(corev1.PullAlways)
	}
	if parameter != "" && fields.IntN(3) > 0 {
		mc.Spec.Parameters = cachev1alpha1.Parameters{parameter: []cachev1alpha1.ParameterValue{"mirror/hub", "example.com/rack", "a"}[random.IntN(3)]}
	}
	return mc
}

// oracle returns the objects that kustomize builds from the files of tree and from mc, with what the operator adds, as JSON.
// It shares no code with the renderer but the computed Values and which components they enable.
func oracle(t *testing.T, tree Tree, mc *cachev1alpha1.Memcached, values map[string]any, components []string) []string {
	t.Helper()
	local := map[string]any{"config.kubernetes.io/local-config": "true"}
	fields := map[string]any{}
	noError(t, yaml.Unmarshal([]byte(toYAML(t, mc)), &fields))
	fields["apiVersion"], fields["kind"] = "cache.example.com/v1alpha1", "Memcached"
	fields["metadata"].(map[string]any)["annotations"] = local
	computed := map[string]any{}
	noError(t, yaml.Unmarshal([]byte(toYAML(t, values)), &computed))
	computed["metadata"].(map[string]any)["annotations"] = local
	files := filesys.MakeFsInMemory()
	for name, content := range tree {
		noError(t, files.WriteFile("/"+name, content))
	}
	noError(t, files.WriteFile("/base/memcached.yaml", []byte(toYAML(t, fields))))
	noError(t, files.WriteFile("/base/values.yaml", []byte(toYAML(t, computed))))
	active := []string{}
	for _, component := range append(slices.Clone(components), "site") {
		active = append(active, "components/"+component)
	}
	noError(t, files.WriteFile("/kustomization.yaml", []byte(toYAML(t, map[string]any{"namePrefix": "oracle-", "resources": []string{"base"}, "components": active}))))
	built, err := krusty.MakeKustomizer(krusty.MakeDefaultOptions()).Run(files, "/")
	if err != nil {
		t.Fatalf("%v\n%s", err, toYAML(t, mc.Spec))
	}
	text, err := built.AsYaml()
	noError(t, err)
	var objects []string
	for document := range strings.SplitSeq(string(text), "---\n") {
		object := map[string]any{}
		noError(t, yaml.Unmarshal([]byte(document), &object))
		metadata := object["metadata"].(map[string]any)
		metadata["namespace"] = mc.Namespace
		metadata["ownerReferences"] = []any{map[string]any{
			"apiVersion": "cache.example.com/v1alpha1", "kind": "Memcached", "name": mc.Name, "uid": string(mc.UID), "controller": true, "blockOwnerDeletion": true,
		}}
		if metadata["labels"] == nil {
			metadata["labels"] = map[string]any{}
		}
		metadata["labels"].(map[string]any)["app.kubernetes.io/managed-by"] = "memcached-operator"
		for _, path := range [][]any{{"metadata"}, {"spec", "template", "metadata"}} { // Kustomize forgets the quotes of 42.
			annotations, _ := template.Lookup(object, append(path, "annotations")).(map[string]any)
			for key, value := range annotations {
				annotations[key] = fmt.Sprint(value)
			}
		}
		if pod, ok := template.Lookup(object, []any{"spec", "template", "spec"}).(map[string]any); ok && pod["serviceAccountName"] != nil {
			pod["serviceAccount"] = pod["serviceAccountName"]
		}
		asJSON, err := json.Marshal(object)
		noError(t, err)
		objects = append(objects, strings.NewReplacer(`"oracle-memcached"`, `"`+mc.Name+`"`, `"oracle-`, `"`+mc.Name+`-`).Replace(string(asJSON)))
	}
	return normalized(objects)
}

// nameHash matches the hash in the name of a generated ConfigMap, which depends on the prefix of names.
var nameHash = regexp.MustCompile(`-settings-[a-z0-9]{10}"`)

// normalized sorts objects, and removes what may differ in them.
func normalized(objects []string) []string {
	for i := range objects {
		objects[i] = nameHash.ReplaceAllString(objects[i], `-settings"`)
	}
	slices.Sort(objects)
	return objects
}

// TestRender_IsWhatKustomizeBuilds renders 500 random Memcacheds with 40 edited trees.
func TestRender_IsWhatKustomizeBuilds(t *testing.T) {
	buildsTemplates(t)
	t.Parallel()
	all := mustNew(t, shipped(t), Defaults{AllowPrivilegedFields: true})
	random := rand.New(rand.NewPCG(1, 2))
	for n := range 40 {
		chosen := []int{n % len(oracleEdits)}
		for len(chosen) < 1+n/len(oracleEdits)*2 {
			chosen = append(chosen, random.IntN(len(oracleEdits)))
		}
		seed := random.Uint64()
		var names []string
		for _, i := range chosen {
			names = append(names, oracleEdits[i].name)
		}
		t.Run(strings.Join(names, ", "), func(t *testing.T) {
			t.Parallel()
			tree, parameter := oracleTree(t, chosen)
			random := rand.New(rand.NewPCG(seed, 0))
			var memcacheds []*cachev1alpha1.Memcached
			var inputs []template.Input
			for i := range 13 {
				mc := randomMemcached(random, seed, i, parameter)
				in, err := all.input(mc, layoutOf(mc))
				noError(t, err)
				memcacheds, inputs = append(memcacheds, mc), append(inputs, in)
			}
			// The check of components that no Memcached enables would take half of the time. Those of TLS copy to objects of the nodes'.
			only(tree, func(component string) bool {
				return component == "site" || strings.HasPrefix(component, "nodes.") || component == "parameters."+parameter || slices.ContainsFunc(inputs, func(in template.Input) bool { return len(in.Active([]string{component})) > 0 })
			})
			r := mustNew(t, tree, Defaults{AllowPrivilegedFields: true})
			for i, mc := range memcacheds {
				want := oracle(t, tree, mc, inputs[i].Values, inputs[i].Active(r.templates.Components()))
				var got []string
				for _, object := range mustRender(t, r, mc) {
					got = append(got, asJSON(t, []*unstructured.Unstructured{object}))
					got[len(got)-1] = strings.TrimSuffix(strings.TrimPrefix(got[len(got)-1], "["), "]")
				}
				if got = normalized(got); !slices.Equal(got, want) {
					t.Fatalf("%s\nrenders to\n%s\nand kustomize builds\n%s", toYAML(t, mc.Spec), strings.Join(got, "\n"), strings.Join(want, "\n"))
				}
			}
		})
	}
}

// oracleTree returns the shipped tree with the chosen edits, and the parameter that one of them declares.
func oracleTree(t *testing.T, chosen []int) (tree Tree, parameter string) {
	t.Helper()
	tree = shipped(t)
	site := component + "components:\n"
	for _, i := range slices.Compact(slices.Sorted(slices.Values(chosen))) {
		e, declared := oracleEdits[i], parameter != ""
		dir := fmt.Sprintf("edit-%d", i)
		site += "- " + dir + "\n"
		tree["components/site/"+dir+"/kustomization.yaml"] = []byte(component + e.site)
		for file, content := range e.more {
			if file == ParametersFile && declared {
				content = strings.TrimSuffix(string(tree[ParametersFile]), "]\n") + ", " + strings.TrimPrefix(content, "parameters: [")
			}
			tree[strings.Replace(file, "site/edit/", "site/"+dir+"/", 1)] = []byte(content)
			if name, ok := strings.CutPrefix(file, "components/parameters."); ok {
				parameter, _, _ = strings.Cut(name, "/")
			}
		}
	}
	tree[siteFile] = []byte(site)
	return tree, parameter
}
