// SPDX-License-Identifier: Apache-2.0

package docs

import (
	"maps"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"sigs.k8s.io/kustomize/api/krusty"
	"sigs.k8s.io/kustomize/kyaml/filesys"
	"sigs.k8s.io/yaml"

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

// TestAlerts_HaveRunbooks: every alert has a runbook, which it links to and which the table of alerts lists. Every
// runbook belongs to an alert.
func TestAlerts_HaveRunbooks(t *testing.T) {
	t.Parallel()
	known := exported(t)
	var rule struct {
		Spec struct {
			Groups []struct {
				Rules []struct {
					Alert, Expr string
					Annotations map[string]string
				}
			}
		}
	}
	testenv.NoError(t, yaml.Unmarshal([]byte(read(t, "manifests/components/metrics.rules/prometheusrule.yaml")), &rule))
	monitoring := read(t, "docs/user/monitoring.md")
	alerts := map[string]bool{}
	for _, group := range rule.Spec.Groups {
		for _, r := range group.Rules {
			page := "docs/runbooks/" + r.Alert + ".md"
			alerts[page] = true
			if url := r.Annotations["runbook_url"]; !strings.HasSuffix(url, "/"+page) {
				t.Errorf("%s: its runbook is %q", r.Alert, url)
			}
			if !strings.Contains(monitoring, "["+r.Alert+"](../runbooks/"+r.Alert+".md)") {
				t.Errorf("docs/user/monitoring.md does not link to the runbook of %s", r.Alert)
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
