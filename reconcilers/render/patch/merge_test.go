// SPDX-License-Identifier: Apache-2.0

package patch

import (
	"cmp"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"reflect"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/diff"
	"sigs.k8s.io/kustomize/api/filters/patchjson6902"
	"sigs.k8s.io/kustomize/api/filters/patchstrategicmerge"
	"sigs.k8s.io/kustomize/kyaml/kio"
	kyaml "sigs.k8s.io/kustomize/kyaml/yaml"
	"sigs.k8s.io/yaml"

	"github.com/example/memcached-operator/reconcilers/render/template"
)

const patchedDeployment = `
apiVersion: apps/v1
kind: Deployment
metadata: {name: a, labels: {x: "1"}, annotations: {b: c}}
spec:
  replicas: 3
  strategy: {type: RollingUpdate, rollingUpdate: {maxSurge: 1}}
  template:
    spec:
      securityContext: {runAsUser: 1, supplementalGroups: [1, 2]}
      tolerations: [{key: a}, {key: b}]
      nodeSelector: {a: b}
      imagePullSecrets: [{name: a}]
      topologySpreadConstraints: [{topologyKey: a, whenUnsatisfiable: DoNotSchedule, maxSkew: 1}]
      volumes: [{name: a, emptyDir: {}}, {name: b, configMap: {name: c}}]
      containers:
      - name: a
        command: [p, q]
        args: [z]
        env: [{name: A, value: "1"}, {name: B, value: "2"}]
        ports: [{containerPort: 1, protocol: TCP}, {containerPort: 1, protocol: UDP}]
        volumeMounts: [{name: a, mountPath: /a}]
      - name: b
        image: b
`

// mergePatches are strategic merge patches of patchedDeployment whose result must be kustomize's.
var mergePatches = map[string]string{
	"changes nothing":                       `{}`,
	"sets a field":                          `spec: {replicas: 5, minReadySeconds: 7}`,
	"removes a field":                       `spec: {replicas: null, strategy: null}`,
	"removes what is not there":             `spec: {paused: null, template: {metadata: {labels: null}}}`,
	"merges maps":                           `metadata: {labels: {z: "2"}, annotations: {b: null}}`,
	"makes maps":                            `spec: {template: {metadata: {labels: {a: b}}}}`,
	"makes empty maps":                      `spec: {template: {spec: {affinity: {}}}}`,
	"replaces a map":                        `spec: {strategy: {$patch: replace, type: Recreate}}`,
	"removes a map":                         `spec: {template: {spec: {securityContext: {$patch: delete}}}}`,
	"adds an element":                       `spec: {template: {spec: {containers: [{name: c, image: c}]}}}`,
	"adds two elements":                     `spec: {template: {spec: {containers: [{name: d}, {name: c}]}}}`,
	"merges an element":                     `spec: {template: {spec: {containers: [{name: b, image: c}]}}}`,
	"merges and adds":                       `spec: {template: {spec: {containers: [{name: c}, {name: b, image: c}, {name: a, tty: true}]}}}`,
	"removes an element":                    `spec: {template: {spec: {containers: [{name: a, $patch: delete}]}}}`,
	"replaces a merged list":                `spec: {template: {spec: {containers: [{$patch: replace}, {name: z}]}}}`,
	"merges lists within lists":             `spec: {template: {spec: {containers: [{name: a, env: [{name: B, value: "3"}, {name: C, value: "4"}]}]}}}`,
	"merges ports by number and protocol":   `spec: {template: {spec: {containers: [{name: a, ports: [{containerPort: 1, protocol: UDP, name: u}]}]}}}`,
	"adds a port":                           `spec: {template: {spec: {containers: [{name: a, ports: [{containerPort: 2, protocol: TCP}]}]}}}`,
	"merges mounts by path":                 `spec: {template: {spec: {containers: [{name: a, volumeMounts: [{mountPath: /a, readOnly: true}, {mountPath: /b, name: b}]}]}}}`,
	"merges spread constraints by two keys": `spec: {template: {spec: {topologySpreadConstraints: [{topologyKey: a, whenUnsatisfiable: DoNotSchedule, maxSkew: 2}, {topologyKey: a, whenUnsatisfiable: ScheduleAnyway}]}}}`,
	"replaces lists without a key":          `spec: {template: {spec: {tolerations: [{key: c}]}}}`,
	"replaces lists of scalars":             `spec: {template: {spec: {containers: [{name: a, command: [q], args: []}]}}}`,
	"replaces numbers":                      `spec: {template: {spec: {securityContext: {supplementalGroups: [3]}}}}`,
	"adds a volume":                         `spec: {template: {spec: {volumes: [{name: c, emptyDir: {sizeLimit: 1Gi}}]}}}`,
	"changes the source of a volume":        `spec: {template: {spec: {volumes: [{name: b, configMap: null, emptyDir: {}}]}}}`,
	"makes a merged list":                   `spec: {template: {spec: {initContainers: [{name: i, image: i}, {name: j}]}}}`,
	"makes a list in a new map":             `spec: {template: {spec: {hostAliases: [{ip: 1.2.3.4, hostnames: [a, b]}]}}}`,
	"keeps words as they are":               `metadata: {annotations: {a: "on", b: "1e3", c: "null", d: "", e: " x"}}`,
}

func TestMergePatch_MatchesKustomize(t *testing.T) {
	t.Parallel()
	for name, text := range mergePatches {
		mustPatchLikeKustomize(t, name, patchedDeployment, text)
	}
	// Kinds that client-go does not know are merged without a schema.
	monitor := "apiVersion: monitoring.coreos.com/v1\nkind: ServiceMonitor\nmetadata: {name: a}\nspec: {endpoints: [{port: a}], namespaceSelector: {matchNames: [a]}}\n"
	mustPatchLikeKustomize(t, "replaces a list of an unknown kind", monitor, "spec: {endpoints: [{port: b, interval: 5s}], namespaceSelector: {matchNames: [b]}}")
	service := "apiVersion: v1\nkind: Service\nmetadata: {name: a}\nspec: {ports: [{port: 1, protocol: TCP, name: a}]}\n"
	mustPatchLikeKustomize(t, "merges a Service's ports", service, "spec: {ports: [{port: 1, protocol: TCP, name: b}, {port: 2, protocol: TCP}], externalIPs: [1.1.1.1]}")
}

var jsonPatches = map[string]string{
	"adds, replaces and removes": `[{op: add, path: /spec/paused, value: true}, {op: replace, path: /spec/replicas, value: 5}, {op: remove, path: /spec/strategy}]`,
	"adds to a list":             `[{op: add, path: /spec/template/spec/containers/0/args/0, value: y}, {op: add, path: /spec/template/spec/containers/0/args/-, value: {a: null, b: [c]}}]`,
	"replaces in a list":         `[{op: replace, path: /spec/template/spec/containers/1, value: {name: c}}, {op: remove, path: /spec/template/spec/containers/0}]`,
	"adds over what is there":    `[{op: add, path: /metadata/labels, value: {a: b}}]`,
	"moves":                      `[{op: move, from: /spec/template/spec/containers/0/command, path: /spec/template/spec/containers/0/x}, {op: move, from: /spec/template/spec/containers/1, path: /spec/template/spec/containers/0}]`,
	"tests":                      `[{op: test, path: /spec/template/spec/containers/0/ports, value: [{containerPort: 1, protocol: TCP}, {containerPort: 1, protocol: UDP}]}, {op: test, path: /spec/paused, value: null}]`,
	"unescapes":                  `[{op: add, path: /metadata/annotations/a~1b~0c, value: x}, {op: add, path: /metadata/annotations/~01, value: x}]`,
}

func TestJSONPatch_MatchesKustomize(t *testing.T) {
	t.Parallel()
	for name, text := range jsonPatches {
		mustPatchLikeKustomize(t, name, patchedDeployment, text)
	}
}

// Kustomize keeps only the name of an element that is replaced.
func TestMergePatch_ReplacesAnElement(t *testing.T) {
	t.Parallel()
	object, err := parseText(patchedDeployment)
	noError(t, err)
	text := "{spec: {template: {spec: {containers: [{name: b, $patch: replace, command: [c], env: [{name: D, value: null}]}]}}}}"
	merge, err := parseText(text)
	noError(t, err)
	if err := mergeMap(object.(map[string]any), merge.(map[string]any), typeOf(appsv1.SchemeGroupVersion.WithKind("Deployment")), nil); err != nil {
		t.Fatal(err)
	}
	want := map[string]any{"name": "b", "command": []any{"c"}, "env": []any{map[string]any{"name": "D"}}}
	if got := template.Lookup(object.(map[string]any), []any{"spec", "template", "spec", "containers", 0}); !reflect.DeepEqual(got, want) {
		t.Errorf("the element is %v, want %v", got, want)
	}
}

// The random patches are the same in each run.
func TestMergePatch_MatchesKustomizeAtRandom(t *testing.T) {
	if testing.Short() {
		t.Skip("it runs kustomize many times")
	}
	t.Parallel()
	random := rand.New(rand.NewPCG(1, 2))
	for i := range 300 {
		text, err := json.Marshal(randomPatch(random))
		noError(t, err)
		mustPatchLikeKustomize(t, fmt.Sprint(i), patchedDeployment, string(text))
	}
}

func randomPatch(random *rand.Rand) map[string]any {
	pick := func(names ...string) string { return names[random.IntN(len(names))] }
	list := func(element func() map[string]any) []any {
		items, seen := []any{}, map[string]bool{}
		for range 1 + random.IntN(3) {
			item := element()
			if key := fmt.Sprint(cmp.Or[any](item["containerPort"], item["name"]), item["protocol"]); !seen[key] {
				seen[key] = true
				items = append(items, item)
			}
		}
		return items
	}
	env := func() map[string]any {
		return map[string]any{"name": pick("A", "B", "C", "D"), "value": pick("x", "y")}
	}
	port := func() map[string]any {
		return map[string]any{"containerPort": 1 + random.IntN(3), "protocol": pick("TCP", "UDP"), "name": pick("p", "q")}
	}
	container := func() map[string]any {
		c := map[string]any{"name": pick("a", "b", "c", "d"), "image": pick("i", "j")}
		switch random.IntN(6) {
		case 0:
			c["env"] = list(env)
		case 1:
			c["ports"] = list(port)
		case 2:
			c["command"] = []any{pick("a", "b")}
		case 3:
			c["args"] = nil
		case 4:
			c = map[string]any{"name": c["name"], "$patch": "delete"}
		}
		return c
	}
	spec := map[string]any{"containers": list(container)}
	if random.IntN(2) == 0 {
		spec["initContainers"] = list(func() map[string]any { return map[string]any{"name": pick("a", "b", "c"), "env": list(env)} })
	}
	if random.IntN(2) == 0 {
		spec["nodeSelector"] = map[string]any{"a": nil, "b": pick("x", "y")}
	}
	return map[string]any{"spec": map[string]any{"template": map[string]any{"spec": spec}}}
}

// mustPatchLikeKustomize applies a patch to an object by this package and by
// kustomize's filters.
func mustPatchLikeKustomize(t *testing.T, name, object, text string) {
	t.Helper()
	parsed, err := parseText(object)
	noError(t, err)
	got := &unstructured.Unstructured{Object: runtime.DeepCopyJSON(parsed.(map[string]any))}
	p, err := parsePatch(patchOf(got.GetKind(), text))
	if err != nil {
		t.Fatalf("%s: %v", name, err)
	}
	if err := p.apply(parsed.(map[string]any), got); err != nil {
		t.Errorf("%s: %v", name, err)
		return
	}
	want := kustomizePatch(t, parsed.(map[string]any), text)
	if !reflect.DeepEqual(got.Object, want) {
		t.Errorf("%s:\n%s\n%s", name, text, diff.Diff(want, got.Object))
	}
}

func kustomizePatch(t *testing.T, object map[string]any, text string) map[string]any {
	t.Helper()
	node, err := kyaml.FromMap(runtime.DeepCopyJSON(object))
	noError(t, err)
	operations, err := yaml.YAMLToJSON([]byte(text))
	noError(t, err)
	var filter kio.Filter = patchjson6902.Filter{Patch: string(operations)}
	if parsed, _ := parseText(text); text[0] != '[' {
		merge := parsed.(map[string]any)
		merge["apiVersion"], merge["kind"] = object["apiVersion"], object["kind"]
		patch, err := kyaml.FromMap(merge)
		noError(t, err)
		filter = patchstrategicmerge.Filter{Patch: patch}
	}
	patched, err := filter.Filter([]*kyaml.RNode{node})
	if err != nil {
		t.Fatalf("%s: %v", text, err)
	}
	asJSON, err := patched[0].MarshalJSON()
	noError(t, err)
	result := &unstructured.Unstructured{}
	noError(t, result.UnmarshalJSON(asJSON))
	return withoutNulls(result.Object).(map[string]any)
}
