// SPDX-License-Identifier: Apache-2.0

package pages

import (
	"path/filepath"
	"strings"
	"testing"
)

// The page needs no cluster.
func TestRender(t *testing.T) {
	t.Parallel()
	directory := checkout(t)
	s := NewSession(t, directory, filepath.Join(directory, "none"))
	// The second block uses the file of the first one.
	for i, wants := range [][]string{
		{"# base/deployment.yaml, changed by components/containerMemory, components/memory\napiVersion: apps/v1\n", `value: "256"`},
		{">       priorityClassName: caches"},
	} {
		printed := s.Run(t, nth(t, "docs/user/render.md", i+1))
		for _, want := range wants {
			if !strings.Contains(printed, want) {
				t.Errorf("block %d does not print %q:\n%s", i+1, want, printed)
			}
		}
	}
	s.Run(t, nth(t, "manifests/README.md", 1))
	// The templates alone, and with components.
	for i, wants := range map[int][]string{2: {"kind: Deployment"}, 3: {"kind: Deployment", "kind: PrometheusRule"}} {
		printed := s.Run(t, nth(t, "manifests/README.md", i))
		for _, want := range wants {
			if !strings.Contains(printed, want) {
				t.Errorf("block %d of manifests/README.md does not print %q:\n%s", i, want, printed)
			}
		}
	}
	if printed := s.Run(t, nth(t, "manifests/README.md", 4)); !strings.Contains(printed, "nodeSelector:\n        zone: us-2b\n") {
		t.Errorf("manifests/README.md: the parameter is not in\n%s", printed)
	}
	// GitOps uses the files of render.md.
	if printed := s.Run(t, nth(t, "docs/user/gitops.md", 2)); !strings.HasPrefix(printed, "0 errors, ") {
		t.Errorf("the commands for a pipeline print\n%s", printed)
	}
}

// TestAirGapped builds the page's overlay, and its templates.
func TestAirGapped(t *testing.T) {
	t.Parallel()
	const page = "docs/user/air-gapped.md"
	directory := checkout(t)
	s := NewSession(t, directory, filepath.Join(directory, "none"))
	overlay := Read(t, page)[0].Content
	built := s.Run(t, shell("mkdir overlay && cat > overlay/kustomization.yaml <<'END'\n"+overlay+"END\nbin/kustomize build overlay"))
	s.Run(t, nth(t, page, 1))
	rendered := s.Run(t, shell("make build && mkdir -p templates/components && mv my-site templates/components/site && "+
		"bin/memcached-operator render --allow-privileged-fields --manifests-dir=templates -f config/samples/features/cache_v1alpha1_memcached_proxy.yaml"))
	for text, wants := range map[string][]string{
		built: {
			"image: registry.example.com/cache/memcached-operator:0.0.1", "value: registry.example.com/cache/library/memcached:1.6.45",
			"value: registry.example.com/cache/memcached-operator-exporter:1", "imagePullSecrets:\n      - name: registry\n",
		},
		rendered: {"imagePullSecrets:\n      - name: registry\n"},
	} {
		for _, want := range wants {
			if !strings.Contains(text, want) {
				t.Errorf("%q is not in\n%s", want, text)
			}
		}
	}
	if strings.Count(rendered, "imagePullSecrets:") != 2 || strings.Contains(built, "value: memcached:") {
		t.Errorf("the pull secret is not in both Deployments, or an image is left:\n%s\n%s", rendered, built)
	}
}

// The page's mistakes are those that it says are printed.
func TestCheck(t *testing.T) {
	t.Parallel()
	const page = "docs/user/check.md"
	directory := checkout(t)
	s := NewSession(t, directory, filepath.Join(directory, "none"))
	printed := s.Run(t, nth(t, page, 1))
	if want := Read(t, page)[1].Content; !strings.HasSuffix(printed, want) {
		t.Errorf("it prints\n%s\nwant\n%s", printed, want)
	}
}

// What the page shows of a cluster is in test/plugin and test/e2e.
func TestPlugin(t *testing.T) {
	t.Parallel()
	directory := checkout(t)
	s := NewSession(t, directory, filepath.Join(directory, "none"))
	printed := s.Run(t, nth(t, "docs/user/kubectl-plugin.md", 1))
	for _, want := range []string{"\n  status ", "\n  top ", "\n  where ", "\n  servers ", "\n  advise ", "\n  doctor ", "\n  render ", "\n  diff ", "\n  completion "} {
		if !strings.Contains(printed, want) {
			t.Errorf("it does not print %q:\n%s", want, printed)
		}
	}
	if completed := s.Run(t, shell("kubectl __complete memcached ser")); !strings.Contains("\n"+completed, "\nservers\t") {
		t.Errorf("kubectl completes \"memcached ser\" by\n%s", completed)
	}
}
