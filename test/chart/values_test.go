// SPDX-License-Identifier: Apache-2.0

package chart

import (
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"sigs.k8s.io/yaml"

	"github.com/example/memcached-operator/test/testenv"
)

func TestChart_PassesStrictLint(t *testing.T) {
	forEachHelm(t, func(t *testing.T, h helm) {
		h.run(t, "lint", "--strict", "--kube-version=1.31.0", chartDir)
	})
}

func TestChart_UnitTests(t *testing.T) {
	t.Parallel()
	if output, err := exec.CommandContext(t.Context(), tool("helm-unittest"), chartDir).CombinedOutput(); err != nil {
		t.Errorf("%v\n%s", err, output)
	}
}

func TestValues_HaveUnitTests(t *testing.T) {
	t.Parallel()
	files, err := filepath.Glob(filepath.Join(chartDir, "tests", "*_test.yaml"))
	testenv.NoError(t, err)
	tested := map[string]bool{}
	for _, file := range files {
		var suite struct {
			Tests []struct{ Set map[string]any }
		}
		read(t, file, &suite)
		for _, test := range suite.Tests {
			for path := range leaves("", test.Set) {
				tested[path] = true
			}
		}
	}
	var values map[string]any
	read(t, filepath.Join(chartDir, "values.yaml"), &values)
	// Of these, the parts are Kubernetes' own.
	whole := []string{"resources", "podSecurityContext", "containerSecurityContext"}
	for value := range leaves("", values) {
		if first, _, _ := strings.Cut(value, "."); slices.Contains(whole, first) {
			value = first
		}
		if !slices.ContainsFunc(slices.Collect(maps.Keys(tested)), func(path string) bool { return path == value || strings.HasPrefix(path, value+".") }) {
			t.Errorf("no unit test sets %s", value)
		}
	}
}

// leaves are the dotted paths of all values that hold no others.
func leaves(path string, value any) map[string]bool {
	fields, ok := value.(map[string]any)
	if !ok || len(fields) == 0 {
		return map[string]bool{strings.TrimPrefix(path, "."): true}
	}
	all := map[string]bool{}
	for key, field := range fields {
		maps.Copy(all, leaves(path+"."+key, field))
	}
	return all
}

func TestValues_RejectsInvalid(t *testing.T) {
	withHelm4(t, func(t *testing.T, h helm) {
		for values, key := range map[string]string{
			`unknown: 1`:                                            "unknown",
			`image: {name: x}`:                                      "image",
			`image: {digest: "sha256:123"}`:                         "image/digest",
			`image: {tag: "a b"}`:                                   "image/tag",
			`image: {pullPolicy: Sometimes}`:                        "image/pullPolicy",
			`image: {registry: https://registry.example.com/}`:      "image.registry",
			`imagePullSecrets: [{}, {name: ""}]`:                    "imagePullSecrets/1/name",
			`relatedImages: {memcached: "a b"}`:                     "relatedImages/memcached",
			`relatedImages: {redis: x}`:                             "relatedImages",
			`replicaCount: two`:                                     "replicaCount",
			`replicaCount: -1`:                                      "replicaCount",
			`watchNamespaces: default`:                              "watchNamespaces",
			`watchNamespaces: [Not_A_Namespace]`:                    "watchNamespaces/0",
			`watchNamespaces: [a, a]`:                               "watchNamespaces",
			`manifests: {site/kustomization.yaml: x}`:               "site/kustomization.yaml",
			`manifests: {components/../base/deployment.yaml: x}`:    "components/../base/deployment.yaml",
			`manifests: {base/deployment.yaml: {kind: Deployment}}`: "manifests/base~1deployment.yaml",
			`manifests: {base: x}`:                                  "base",
			`commonLabels: {a: 1}`:                                  "commonLabels/a",
			`crds: {enabled: "yes"}`:                                "crds/enabled",
			`serviceAccount: {name: Mine}`:                          "serviceAccount/name",
			`rbac: {extraRules: [x]}`:                               "rbac/extraRules/0",
			`leaderElection: false`:                                 "leaderElection",
			`podDisruptionBudget: {maxUnavailable: some}`:           "podDisruptionBudget/maxUnavailable",
			`logLevel: loud`:                                        "logLevel",
			`extraArgs: {a: b}`:                                     "extraArgs",
			`privilegedFields: true`:                                "privilegedFields",
			`privilegedFields: allowed`:                             "privilegedFields",
			`resources: {limit: {}}`:                                "resources",
			`nodeSelector: {a: true}`:                               "nodeSelector/a",
			`metrics: {service: {port: 70000}}`:                     "metrics/service/port",
			`metrics: {clientCA: {key: ""}}`:                        "metrics/clientCA/key",
			`metrics: {serviceMonitor: {interval: often}}`:          "metrics/serviceMonitor/interval",
			`networkPolicy: {metricsFrom: {}}`:                      "networkPolicy/metricsFrom",
		} {
			file := filepath.Join(write(t, map[string]string{"values.yaml": values}), "values.yaml")
			h.refuses(t, []string{key}, "template", chartDir, "--kube-version=1.31.0", "--values", file)
		}
	})
}

func TestValues_AcceptsGlobal(t *testing.T) {
	forEachHelm(t, func(t *testing.T, h helm) {
		h.render(t, "--set", "global.anything=goes")
	})
}

func TestChart_RejectsOldKubernetes(t *testing.T) {
	forEachHelm(t, func(t *testing.T, h helm) {
		h.refuses(t, []string{">= 1.31.0-0"}, "template", chartDir, "--kube-version=1.30.14")
	})
}

func TestChart_RendersRolesOnlyForNamespaces(t *testing.T) {
	forEachHelm(t, func(t *testing.T, h helm) {
		counts := kinds(h.render(t, "--set", "watchNamespaces={red,blue}", "--set", "crds.enabled=false"))
		want := map[string]int{"ServiceAccount": 1, "Deployment": 1, "Role": 5, "RoleBinding": 5}
		if !maps.Equal(counts, want) {
			t.Errorf("it renders %v, want %v", counts, want)
		}
	})
}

// read reads a YAML file into value.
func read(t *testing.T, file string, value any) {
	t.Helper()
	testenv.NoError(t, yaml.Unmarshal([]byte(text(t, file)), value))
}

func text(t *testing.T, file string) string {
	t.Helper()
	content, err := os.ReadFile(file)
	testenv.NoError(t, err)
	return string(content)
}
