// SPDX-License-Identifier: Apache-2.0

package docs

import (
	"maps"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"sigs.k8s.io/kustomize/api/krusty"
	"sigs.k8s.io/kustomize/kyaml/filesys"
	"sigs.k8s.io/yaml"

	"github.com/example/memcached-operator/internal/validation"
	"github.com/example/memcached-operator/test/controlplane"
	"github.com/example/memcached-operator/test/testenv"
)

var metric = regexp.MustCompile(`\bmemcached_[a-z_]+`)

// exported are the names of the exporter's metrics.
func exported(t *testing.T) map[string]bool {
	t.Helper()
	names := map[string]bool{}
	for line := range strings.Lines(read(t, "test/docs/testdata/exporter-metrics.txt")) {
		if !strings.HasPrefix(line, "#") {
			names[strings.TrimSpace(line)] = true
		}
	}
	return names
}

// mustExport sees that text names metrics of the exporter only. An expression names one
// at least.
func mustExport(t *testing.T, where, text string, known map[string]bool) {
	t.Helper()
	for _, name := range metric.FindAllString(text, -1) {
		// A label of our objects, and the operator's own metrics.
		if !known[name] && name != "memcached_cr" && !strings.HasPrefix(name, "memcached_operator_") {
			t.Errorf("%s: the exporter has no metric %s", where, name)
		}
	}
}

func TestDashboard_IsAConfigMapForGrafana(t *testing.T) {
	t.Parallel()
	built, err := krusty.MakeKustomizer(krusty.MakeDefaultOptions()).Run(filesys.MakeFsOnDisk(), filepath.Join(controlplane.Root(), "config", "grafana"))
	testenv.NoError(t, err)
	if built.Size() != 1 {
		t.Fatalf("config/grafana has %d objects", built.Size())
	}
	made := built.Resources()[0]
	if made.GetKind() != "ConfigMap" || made.GetLabels()["grafana_dashboard"] != "1" || made.GetDataMap()["memcached.json"] != read(t, "config/grafana/memcached.json") {
		t.Errorf("config/grafana makes %s with the labels %v", made.CurId(), made.GetLabels())
	}
}

// group is a group of the rules of a PrometheusRule.
type group struct {
	Name  string `json:"name"`
	Rules []struct {
		Alert       string            `json:"alert"`
		Expr        string            `json:"expr"`
		For         string            `json:"for"`
		Labels      map[string]string `json:"labels"`
		Annotations map[string]string `json:"annotations"`
	} `json:"rules"`
}

// groupsOf returns the groups of a PrometheusRule.
func groupsOf(t *testing.T, text string) []group {
	t.Helper()
	var rule struct{ Spec struct{ Groups []group } }
	testenv.NoError(t, yaml.Unmarshal([]byte(text), &rule))
	return rule.Spec.Groups
}

// TestAlerts_Fire has promtool test the alerts of a rendered Memcached and of the operator.
func TestAlerts_Fire(t *testing.T) {
	t.Parallel()
	promtool := filepath.Join(controlplane.Root(), "bin", "promtool")
	if _, err := os.Stat(promtool); err != nil {
		t.Skip("promtool is unpacked from a Debian package, by make test on Debian")
	}
	rules, err := yaml.Marshal(map[string][]group{"groups": allGroups(t)})
	testenv.NoError(t, err)
	directory := t.TempDir()
	testenv.WriteFile(t, filepath.Join(directory, "rules.yaml"), string(rules))
	tests := read(t, "test/docs/testdata/alerts.yaml")
	testenv.WriteFile(t, filepath.Join(directory, "tests.yaml"), tests)
	if output, err := exec.CommandContext(t.Context(), promtool, "test", "rules", filepath.Join(directory, "tests.yaml")).CombinedOutput(); err != nil {
		t.Errorf("%v\n%s", err, output)
	}
	for _, page := range files(t, "docs/runbooks", ".md") {
		if alert := strings.TrimSuffix(path.Base(page), ".md"); strings.Count(tests, "alertname: "+alert+"\n    exp_alerts: ") == 0 {
			t.Errorf("no test has %s fire", alert)
		}
	}
}

// allGroups returns the rules of the operator, and those of a Memcached that has all of them.
func allGroups(t *testing.T) []group {
	t.Helper()
	validator, err := validation.New()
	testenv.NoError(t, err)
	mc, err := validator.Admit(t.Context(), []byte(`
apiVersion: cache.example.com/v1alpha1
kind: Memcached
metadata: {name: cache, namespace: shop}
spec: {size: 3, metrics: {rules: {}}, proxy: {}, flash: {size: 1Gi}}
`), true, "")
	testenv.NoError(t, err)
	renderer, err := testenv.Renderer(nil)
	testenv.NoError(t, err)
	objects, err := renderer.Render(mc)
	testenv.NoError(t, err)
	groups := groupsOf(t, read(t, "config/prometheus/rules.yaml"))
	for _, object := range objects {
		if object.GetKind() == "PrometheusRule" {
			rendered, err := yaml.Marshal(object.Object)
			testenv.NoError(t, err)
			groups = append(groups, groupsOf(t, string(rendered))...)
		}
	}
	return groups
}

// TestAlerts_HaveRunbooks: every alert has a runbook, which it links to and which the table of alerts lists. Every
// runbook belongs to an alert.
func TestAlerts_HaveRunbooks(t *testing.T) {
	t.Parallel()
	known := exported(t)
	monitoring := read(t, "docs/user/monitoring.md")
	linked := monitoring + read(t, "docs/user/metrics.md")
	alerts := map[string]bool{}
	for _, group := range allGroups(t) {
		for _, r := range group.Rules {
			page := "docs/runbooks/" + r.Alert + ".md"
			alerts[page] = true
			if url := r.Annotations["runbook_url"]; !strings.HasSuffix(url, "/"+page) {
				t.Errorf("%s: its runbook is %q", r.Alert, url)
			}
			if !strings.Contains(linked, "["+r.Alert+"](../runbooks/"+r.Alert+".md)") {
				t.Errorf("neither monitoring.md nor metrics.md links to the runbook of %s", r.Alert)
			}
			mustExport(t, r.Alert, r.Expr, known)
		}
	}
	written := files(t, "docs/runbooks", ".md")
	if want := slices.Sorted(maps.Keys(alerts)); !slices.Equal(written, want) {
		t.Errorf("the runbooks are %q, and the alerts want %q", written, want)
	}
	for _, page := range written {
		text := read(t, page)
		for _, part := range []string{"# " + strings.TrimSuffix(path.Base(page), ".md") + "\n", "**Means.**", "**Impact.**", "## What to look at", "## What to do"} {
			if !strings.Contains(text, part) {
				t.Errorf("%s has no %q", page, part)
			}
		}
		mustExport(t, page, text, known)
	}
	mustExport(t, "docs/user/monitoring.md", monitoring, known)
}
