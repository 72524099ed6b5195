// SPDX-License-Identifier: Apache-2.0

package chart

import (
	"fmt"
	"maps"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/kustomize/api/krusty"
	"sigs.k8s.io/kustomize/kyaml/filesys"
	"sigs.k8s.io/yaml"

	"github.com/example/memcached-operator/test/testenv"
)

// difference is where chart and config/ are to differ: those fields whose line in the
// comparison matches the whole of pattern.
type difference struct{ pattern, because string }

// always are the differences of any install.
var always = []difference{
	{`config: Namespace .*`, "Helm makes the namespace, by --create-namespace"},
	{`chart: .* \.metadata\.labels\.(app\.kubernetes\.io/(name|instance|version|managed-by)|helm\.sh/chart)=.*`, "Helm's labels"},
	{`chart: .*\.(selector|matchLabels|template\.metadata\.labels)\.app\.kubernetes\.io/instance=.*`, "two releases may stand in one namespace"},
	{`chart: CustomResourceDefinition .* \.metadata\.annotations\.helm\.sh/resource-policy=keep`, "uninstalling a release keeps the Memcacheds"},
	{`config: Deployment .*\.image=memcached-operator:latest`, "`make deploy IMG=…` says which image"},
	{`chart: Deployment .*\.image=memcached-operator:[0-9.]+`, "the chart's appVersion says which image"},
	{`chart: Deployment .*\.imagePullPolicy=IfNotPresent`, "a value, whose default is the cluster's for a tag"},
	{`chart: Deployment .*\.args=--leader-elect-resource-name=memcached-operator`, "two releases in one namespace need a lease each"},
	{`(chart|config): Role .*-leader-election-role \.rules\[1\]\.resourceNames=memcached-operator(\.cache\.example\.com)?`, "the role names that lease"},
	{`chart: Deployment .*\.args=--zap-log-level=info`, "a value, whose default is the operator's own"},
}

// TestChart_MatchesKustomize fails when a role, or the configuration of the operator, is changed in only one of config/
// and the chart.
func TestChart_MatchesKustomize(t *testing.T) {
	for sentence, test := range map[string]struct {
		values []string
		config []string
		differ []difference
	}{
		"matches when cluster-wide": {
			config: []string{"default"},
		},
		"matches when cluster-wide with the options": {
			values: []string{"networkPolicy.enabled=true", "metrics.serviceMonitor.enabled=true", "metrics.rules.enabled=true"},
			config: []string{"default", "network-policy", "prometheus"},
			differ: []difference{
				{`config: (ServiceMonitor|PrometheusRule) .* \.metadata\.labels\.control-plane=.*`, "only what carries the label for a reason has it"},
				{`config: NetworkPolicy .* \.spec\.ingress\[1\]\.ports\[0\]\..*`, "in the chart with webhook.enabled only"},
				{`chart: ServiceMonitor .* \.spec\.namespaceSelector\.matchNames=.*`, "metrics.serviceMonitor.namespace may be another one"},
			},
		},
		"matches for one namespace": {
			values: []string{"watchNamespaces={default}"},
			config: []string{"namespaced"},
			differ: []difference{
				{`config: Deployment .*\.env\[WATCH_NAMESPACE\]\..*`, "in the chart a flag: the environment is the user's"},
				{`chart: Deployment .*\.args=--watch-namespaces=default`, "in config/ the environment, which a patch can add to"},
			},
		},
	} {
		t.Run(sentence, func(t *testing.T) {
			forEachHelm(t, func(t *testing.T, h helm) {
				var arguments []string
				for _, value := range test.values {
					arguments = append(arguments, "--set", value)
				}
				compare(t, h.render(t, arguments...), build(t, test.config...), slices.Concat(always, test.differ))
			})
		})
	}
}

// compare reports where chart and config differ, and what of expected does not.
func compare(t *testing.T, chart, config []*unstructured.Unstructured, expected []difference) {
	t.Helper()
	inChart, inConfig := flatten(chart), flatten(config)
	var lines []string
	for line := range inChart {
		if !inConfig[line] {
			lines = append(lines, "chart: "+line)
		}
	}
	for line := range inConfig {
		if !inChart[line] {
			lines = append(lines, "config: "+line)
		}
	}
	slices.Sort(lines)
	used := map[string]bool{}
	for _, line := range lines {
		index := slices.IndexFunc(expected, func(d difference) bool { return regexp.MustCompile(`^(?:` + d.pattern + `)$`).MatchString(line) })
		if index < 0 {
			t.Errorf("only in %s", line)
			continue
		}
		used[expected[index].pattern] = true
	}
	for _, d := range expected {
		if !used[d.pattern] {
			t.Errorf("there is no such difference any more: %s (%s)", d.pattern, d.because)
		}
	}
}

// flatten returns a line for each field of objects.
func flatten(objects []*unstructured.Unstructured) map[string]bool {
	lines := map[string]bool{}
	for _, object := range objects {
		head := fmt.Sprintf("%s %s/%s ", object.GetKind(), object.GetNamespace(), object.GetName())
		flattenValue(head, object.Object, lines)
	}
	return lines
}

func flattenValue(path string, value any, lines map[string]bool) {
	switch value := value.(type) {
	case map[string]any:
		for _, key := range slices.Sorted(maps.Keys(value)) {
			flattenValue(path+"."+key, value[key], lines)
		}
	case []any:
		for i, item := range value {
			flattenValue(path+itemKey(i, item), item, lines)
		}
	default:
		lines[fmt.Sprintf("%s=%v", path, value)] = true
	}
}

// itemKey tells items of a list apart: named ones by name; plain ones, such as flags,
// need nothing but their value.
func itemKey(index int, item any) string {
	fields, ok := item.(map[string]any)
	if !ok {
		return ""
	}
	if name, ok := fields["name"].(string); ok {
		return "[" + name + "]"
	}
	return fmt.Sprintf("[%d]", index)
}

// build builds directories of config/ as kustomize does.
func build(t *testing.T, directories ...string) []*unstructured.Unstructured {
	t.Helper()
	var all []*unstructured.Unstructured
	for _, directory := range directories {
		built, err := krusty.MakeKustomizer(krusty.MakeDefaultOptions()).Run(filesys.MakeFsOnDisk(), filepath.Join(root, "config", directory))
		testenv.NoError(t, err)
		content, err := built.AsYaml()
		testenv.NoError(t, err)
		all = append(all, objects(t, string(content))...)
	}
	return all
}

// TestChart_MetadataMatches: Chart.yaml repeats values of the Makefile, values.yaml and config/.
func TestChart_MetadataMatches(t *testing.T) {
	t.Parallel()
	var chart struct {
		Version     string            `json:"version"`
		AppVersion  string            `json:"appVersion"`
		Annotations map[string]string `json:"annotations"`
	}
	read(t, filepath.Join(chartDir, "Chart.yaml"), &chart)
	version := regexp.MustCompile(`(?m)^VERSION \?= (.*)$`).FindStringSubmatch(text(t, filepath.Join(root, "Makefile")))
	if version == nil || chart.Version != version[1] || chart.AppVersion != version[1] {
		t.Errorf("chart %s and application %s are not in step with the Makefile's %q", chart.Version, chart.AppVersion, version)
	}

	var values struct {
		Image         struct{ Repository string }
		RelatedImages map[string]string
	}
	read(t, filepath.Join(chartDir, "values.yaml"), &values)
	var images []struct{ Image string }
	testenv.NoError(t, yaml.Unmarshal([]byte(chart.Annotations["artifacthub.io/images"]), &images))
	listed := make([]string, 0, len(images))
	for _, image := range images {
		listed = append(listed, image.Image)
	}
	want := append(slices.Collect(maps.Values(values.RelatedImages)), values.Image.Repository+":"+chart.AppVersion, values.Image.Repository+"-exporter:1")
	// An empty one is no image.
	want = slices.DeleteFunc(want, func(image string) bool { return image == "" })
	if slices.Sort(listed); !slices.Equal(listed, slices.Sorted(slices.Values(want))) {
		t.Errorf("artifacthub.io/images lists %q, the values use %q", listed, want)
	}

	var crds []struct{ Kind, Version, Name string }
	testenv.NoError(t, yaml.Unmarshal([]byte(chart.Annotations["artifacthub.io/crds"]), &crds))
	found := build(t, "crd")
	if len(crds) != len(found) || crds[0].Name != found[0].GetName() {
		t.Errorf("artifacthub.io/crds lists %v", crds)
	}

	var examples []map[string]any
	testenv.NoError(t, yaml.Unmarshal([]byte(chart.Annotations["artifacthub.io/crdsExamples"]), &examples))
	inChart := map[string]bool{}
	for _, example := range examples {
		maps.Copy(inChart, flatten([]*unstructured.Unstructured{{Object: example}}))
	}
	if samples := flatten(build(t, "samples")); !maps.Equal(inChart, samples) {
		t.Errorf("artifacthub.io/crdsExamples is not config/samples:\n%s", strings.Join(slices.Sorted(maps.Keys(samples)), "\n"))
	}
}
