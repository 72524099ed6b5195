// SPDX-License-Identifier: Apache-2.0

package pages

import (
	"path/filepath"
	"strings"
	"testing"

	"github.com/example/memcached-operator/test/testenv"
)

// The cluster is the one that the page starts.
func TestQuickstart(t *testing.T) {
	t.Parallel()
	const page = "docs/user/quickstart.md"
	directory := checkout(t)
	s := NewSession(t, directory, filepath.Join(directory, "none"))
	s.Setenv("CLUSTER_DIR", filepath.Join(directory, ".cluster"))
	t.Cleanup(func() { s.Run(t, shell("make cluster-down")) })
	s.Run(t, nth(t, page, 1)) // for readers with a cluster
	s.Run(t, nth(t, page, 2))
	s.Start(t, nth(t, page, 3))
	s.Run(t, shell("until kubectl wait --for=condition=Established --timeout=60s crd/memcacheds.cache.example.com; do sleep 0.2; done"))
	printed := s.Run(t, nth(t, page, 4))
	for _, want := range []string{"memcached-sample", "KIND:", `"memcached-sample" deleted`} {
		if !strings.Contains(printed, want) {
			t.Errorf("it does not print %q:\n%s", want, printed)
		}
	}

	s.Replace = strings.NewReplacer("NAME", "memcached-sample")
	s.Run(t, shell("kubectl apply -f config/samples/cache_v1alpha1_memcached.yaml && kubectl wait --for=condition=Ready --timeout=60s memcached/memcached-sample"))
	printed = s.Run(t, nth(t, "docs/user/status.md", 1))
	if !strings.Contains(printed, "3/3") || !strings.Contains(printed, "condition met") {
		t.Errorf("status.md prints\n%s", printed)
	}
	for i, want := range []string{
		"0 of 1 Memcacheds differ: 0 objects to create, 0 to change, 0 to delete.\nNo pods would be replaced.\n",
		"default     memcached-sample   3      Deployment memcached-sample: spec.template.spec.priorityClassName\n",
	} {
		if printed := s.Run(t, nth(t, "docs/user/diff.md", i+1)); !strings.Contains(printed, want) {
			t.Errorf("block %d of diff.md does not print %q:\n%s", i+1, want, printed)
		}
	}
	testenv.Eventually(t, "the event should be printed", func() bool {
		return strings.Contains(s.Run(t, nth(t, "docs/user/status.md", 2)), "Created")
	})
}

func TestTemplates(t *testing.T) {
	t.Parallel()
	const page = "docs/user/templates.md"
	r := newReader(t)
	r.Run(t, shell("make install && kubectl apply -f config/samples/cache_v1alpha1_memcached.yaml"))
	const exists, isGone = "kubectl get networkpolicy/memcached-sample-memcached -o name || kubectl get networkpolicy/memcached-sample", "kubectl wait --for=delete --timeout=1s networkpolicy/memcached-sample"
	r.Run(t, nth(t, page, 1))
	r.Run(t, nth(t, page, 2))
	r.RunUntil(t, nth(t, page, 3), exists)
	r.RunUntil(t, nth(t, page, 4), "kubectl get deployment/memcached-sample && "+exists)
	r.RunUntil(t, nth(t, page, 5), isGone)
	if changed := r.Run(t, shell("git status --porcelain -- manifests config")); changed != "" {
		t.Errorf("the last block leaves changes:\n%s", changed)
	}
}

// TestTemplatesConfigMap follows the page on a simulated node, where the operator's pod runs nothing: what the operator makes of
// the ConfigMap is tested on nodes, by TestTemplates_AreReloadedFromAConfigMap.
func TestTemplatesConfigMap(t *testing.T) {
	t.Parallel()
	const page = "docs/user/templates-configmap.md"
	r := newReader(t)
	r.Setenv("IMG", "registry.example.com/memcached-operator:0.0.1")
	r.Run(t, nth(t, page, 1))
	r.Run(t, shell("kubectl apply -f config/samples/cache_v1alpha1_memcached.yaml"))
	r.Run(t, nth(t, page, 3))
	const label = "\n+    example.com/team: web\n"
	for i := 4; i <= 6; i++ {
		if printed := r.Run(t, nth(t, page, i)); i != 5 && !strings.Contains(printed, label) {
			t.Errorf("block %d does not print the label:\n%s", i, printed)
		}
	}
	r.Run(t, nth(t, page, 7))
	if printed := r.Run(t, nth(t, page, 6)); strings.Contains(printed, label) {
		t.Errorf("without the ConfigMap it prints\n%s", printed)
	}
}

func TestPages_Metrics(t *testing.T) {
	t.Parallel()
	r := newReader(t)
	b := nth(t, "docs/user/metrics.md", 1)
	run, get, found := strings.Cut(b.Content, "\n")
	if !found || !strings.HasPrefix(run, "make run ") {
		t.Fatalf("%s does not begin with make run", b)
	}
	address := testenv.FreeAddress(t)
	r.Replace = strings.NewReplacer("127.0.0.1:8080", address)
	b.Content = run
	get, _, _ = strings.Cut(get, "#")
	r.RunUntil(t, b, strings.ReplaceAll(strings.TrimSpace(get), "127.0.0.1:8080", address))
}

func TestPages_Grafana(t *testing.T) {
	t.Parallel()
	r := newReader(t)
	r.Run(t, shell("kubectl create namespace monitoring"))
	if printed := r.Run(t, nth(t, "docs/user/monitoring.md", 2)); !strings.Contains(printed, "created") {
		t.Errorf("it prints %s", printed)
	}
}
