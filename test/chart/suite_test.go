// SPDX-License-Identifier: Apache-2.0

// Package chart tests the Helm chart with both majors of Helm: what it renders, what
// it rejects, and how releases behave on a real API server. Pods do not run there; where the
// operator is needed, it runs as a process with the permissions that the chart grants.
package chart

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/yaml"

	"github.com/example/memcached-operator/internal/program"
	"github.com/example/memcached-operator/test/controlplane"
	"github.com/example/memcached-operator/test/testenv"
)

const (
	releaseName      = "memcached-operator"
	releaseNamespace = controlplane.OperatorNamespace
)

var (
	root     = controlplane.Root()
	chartDir = filepath.Join(root, "charts", "memcached-operator")
	// suite has the operator's binary; each test has a control plane of its own.
	suite testenv.Env
)

func TestMain(m *testing.M) {
	for _, name := range []string{"helm3", "helm4", "helm-unittest"} {
		if _, err := os.Stat(tool(name)); err != nil {
			fmt.Fprintf(os.Stderr, "the chart's tests need bin/%s: run them by `make test`: %v\n", name, err)
			os.Exit(1)
		}
	}
	os.Exit(testenv.Main(m, &suite, testenv.Setup{NoControlPlane: true, DependsOn: []string{"charts"}, Program: program.Main}))
}

func tool(name string) string { return filepath.Join(root, "bin", name) }

// forEachHelm runs test with each major of Helm.
func forEachHelm(t *testing.T, test func(*testing.T, helm)) {
	t.Helper()
	t.Parallel()
	for _, name := range []string{"helm3", "helm4"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			test(t, helm{program: tool(name), home: t.TempDir()})
		})
	}
}

// withHelm4 runs test with the latest major, where forEachHelm would test the operator rather than Helm.
func withHelm4(t *testing.T, test func(*testing.T, helm)) {
	t.Helper()
	t.Parallel()
	test(t, helm{program: tool("helm4"), home: t.TempDir()})
}

// helm is one of the programs, with settings of its own.
type helm struct {
	program    string
	home       string
	kubeconfig string
}

// as is the same program for another kubeconfig.
func (h helm) as(kubeconfig string) helm {
	h.kubeconfig = kubeconfig
	return h
}

func (h helm) try(t *testing.T, arguments ...string) (string, error) {
	t.Helper()
	command := exec.CommandContext(t.Context(), h.program, arguments...)
	command.Env = append(os.Environ(), "KUBECONFIG="+h.kubeconfig,
		"HELM_CACHE_HOME="+h.home, "HELM_CONFIG_HOME="+h.home, "HELM_DATA_HOME="+h.home)
	output, err := command.CombinedOutput()
	return string(output), err
}

// run runs Helm and returns what it prints.
func (h helm) run(t *testing.T, arguments ...string) string {
	t.Helper()
	output, err := h.try(t, arguments...)
	if err != nil {
		t.Fatalf("%s %s: %v\n%s", filepath.Base(h.program), strings.Join(arguments, " "), err, output)
	}
	return output
}

// refuses runs Helm, which has to fail with all of want in its message.
func (h helm) refuses(t *testing.T, want []string, arguments ...string) {
	t.Helper()
	output, err := h.try(t, arguments...)
	if err == nil {
		t.Errorf("%s %s is not refused", filepath.Base(h.program), strings.Join(arguments, " "))
		return
	}
	for _, words := range want {
		if !strings.Contains(output, words) {
			t.Errorf("%s %s: the message lacks %q:\n%s", filepath.Base(h.program), strings.Join(arguments, " "), words, output)
		}
	}
}

// render returns the objects that the chart renders, for the oldest Kubernetes that
// it supports.
func (h helm) render(t *testing.T, arguments ...string) []*unstructured.Unstructured {
	t.Helper()
	arguments = append([]string{"template", releaseName, chartDir, "--namespace", releaseNamespace, "--kube-version=1.31.0"}, arguments...)
	return objects(t, h.run(t, arguments...))
}

// objects reads the documents of a YAML stream.
func objects(t *testing.T, stream string) []*unstructured.Unstructured {
	t.Helper()
	var all []*unstructured.Unstructured
	for document := range strings.SplitSeq("\n"+stream, "\n---\n") {
		object := &unstructured.Unstructured{}
		testenv.NoError(t, yaml.Unmarshal([]byte(document), &object.Object))
		if len(object.Object) > 0 {
			all = append(all, object)
		}
	}
	return all
}

// write writes files into a directory of its own and returns that.
func write(t *testing.T, files map[string]string) string {
	t.Helper()
	dir := t.TempDir()
	for name, content := range files {
		testenv.WriteFile(t, filepath.Join(dir, filepath.FromSlash(name)), content)
	}
	return dir
}

// kinds counts objects by kind.
func kinds(objects []*unstructured.Unstructured) map[string]int {
	counts := map[string]int{}
	for _, object := range objects {
		counts[object.GetKind()]++
	}
	return counts
}

// contains says whether all of want are among list.
func contains(list []string, want ...string) bool {
	return !slices.ContainsFunc(want, func(item string) bool { return !slices.Contains(list, item) })
}
