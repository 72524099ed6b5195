// SPDX-License-Identifier: Apache-2.0

// Package chart tests the Helm chart with both majors of Helm: what it renders, what
// it refuses, and what becomes of a release on a real API server. Its pods do not run
// there; where the operator has to, it runs beside, with what the chart grants it.
package chart

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/go-logr/logr"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"
	"sigs.k8s.io/controller-runtime/pkg/log"
	"sigs.k8s.io/yaml"

	"github.com/example/memcached-operator/test/controlplane"
)

const (
	releaseName      = "memcached-operator"
	releaseNamespace = controlplane.OperatorNamespace
)

var (
	root     = controlplane.Root()
	chartDir = filepath.Join(root, "charts", "memcached-operator")
	// operatorProgram is the operator, built for the tests.
	operatorProgram string
)

func TestMain(m *testing.M) {
	code, err := runTests(m)
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		code = 1
	}
	os.Exit(code)
}

func runTests(m *testing.M) (code int, err error) {
	log.SetLogger(logr.Discard())
	for _, name := range []string{"helm3", "helm4", "helm-unittest"} {
		if _, err := os.Stat(program(name)); err != nil {
			return 1, fmt.Errorf("the chart's tests need bin/%s: run them by `make test`: %w", name, err)
		}
	}
	dir, err := os.MkdirTemp("", "memcached-operator-")
	if err != nil {
		return 1, err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	operatorProgram = filepath.Join(dir, "memcached-operator")
	build := exec.Command("go", "build", "-o", operatorProgram, ".")
	build.Dir = root
	if output, err := build.CombinedOutput(); err != nil {
		return 1, fmt.Errorf("building the operator: %w\n%s", err, output)
	}
	return m.Run(), nil
}

func program(name string) string { return filepath.Join(root, "bin", name) }

func fatal(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// forEachHelm runs test with each major of Helm.
func forEachHelm(t *testing.T, test func(*testing.T, helm)) {
	t.Helper()
	t.Parallel()
	for _, name := range []string{"helm3", "helm4"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			test(t, helm{program: program(name), home: t.TempDir()})
		})
	}
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
	arguments = append([]string{"template", releaseName, chartDir, "--namespace", releaseNamespace, "--kube-version=1.30.0"}, arguments...)
	return objects(t, h.run(t, arguments...))
}

// objects reads the documents of a YAML stream.
func objects(t *testing.T, stream string) []*unstructured.Unstructured {
	t.Helper()
	var all []*unstructured.Unstructured
	for document := range strings.SplitSeq("\n"+stream, "\n---\n") {
		object := &unstructured.Unstructured{}
		fatal(t, yaml.Unmarshal([]byte(document), &object.Object))
		if len(object.Object) > 0 {
			all = append(all, object)
		}
	}
	return all
}

// startCluster starts a control plane that stops with the test. The CRD is in it, as
// `make install` puts it there.
func startCluster(t *testing.T) *controlplane.ControlPlane {
	t.Helper()
	cluster, err := controlplane.Start()
	fatal(t, err)
	t.Cleanup(func() {
		if err := cluster.Stop(); err != nil {
			t.Error(err)
		}
	})
	return cluster
}

// writeKubeconfig writes a kubeconfig for cfg, which has a token.
func writeKubeconfig(t *testing.T, cfg *rest.Config) string {
	t.Helper()
	file := filepath.Join(t.TempDir(), "kubeconfig")
	fatal(t, clientcmd.WriteToFile(clientcmdapi.Config{
		Clusters:       map[string]*clientcmdapi.Cluster{"c": {Server: cfg.Host, CertificateAuthorityData: cfg.CAData}},
		AuthInfos:      map[string]*clientcmdapi.AuthInfo{"u": {Token: cfg.BearerToken}},
		Contexts:       map[string]*clientcmdapi.Context{"x": {Cluster: "c", AuthInfo: "u"}},
		CurrentContext: "x",
	}, file))
	return file
}

// eventually asks until holds says so, for a minute at most.
func eventually(t *testing.T, what string, holds func(context.Context) (bool, error)) {
	t.Helper()
	if err := wait.PollUntilContextTimeout(t.Context(), 50*time.Millisecond, time.Minute, true, holds); err != nil {
		t.Fatalf("%s: %v", what, err)
	}
}

// write writes files into a directory of its own and returns that.
func write(t *testing.T, files map[string]string) string {
	t.Helper()
	dir := t.TempDir()
	for name, content := range files {
		file := filepath.Join(dir, filepath.FromSlash(name))
		fatal(t, os.MkdirAll(filepath.Dir(file), 0o755))
		fatal(t, os.WriteFile(file, []byte(content), 0o644))
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
