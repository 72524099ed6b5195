// SPDX-License-Identifier: Apache-2.0

// Package templates tests the operator with edited templates on a real control plane.
package templates

import (
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"testing"

	"github.com/example/memcached-operator/internal/program"
	"github.com/example/memcached-operator/test/controlplane"
	"github.com/example/memcached-operator/test/testenv"
)

// suite has the operator's binary. Each test has a control plane of its own, since the tests change
// cluster roles.
var suite testenv.Env

func TestMain(m *testing.M) {
	os.Exit(testenv.Main(m, &suite, testenv.Setup{NoControlPlane: true, Program: program.Main}))
}

// build builds the operator from the source tree at dir.
func build(t *testing.T, dir string) string {
	t.Helper()
	binary := filepath.Join(t.TempDir(), "memcached-operator")
	command(t, dir, "go", "build", "-trimpath", "-ldflags=-s -w", "-o", binary, ".")
	return binary
}

// command runs a command in dir and fails the test with its output when it fails.
func command(t *testing.T, dir, name string, arguments ...string) {
	t.Helper()
	c := exec.CommandContext(t.Context(), name, arguments...)
	c.Dir = dir
	c.Env = append(os.Environ(), "CGO_ENABLED=0")
	if output, err := c.CombinedOutput(); err != nil {
		t.Fatalf("%s %v: %v\n%s", name, arguments, err, output)
	}
}

// runOperator runs binary until the returned function is called or the test ends. Its exit status is the subject of
// test/run: on a busy machine a reload of templates outlasts the time for a graceful stop.
func runOperator(t *testing.T, binary, kubeconfig string, arguments ...string) (stop func()) {
	t.Helper()
	p := testenv.StartBinary(t, binary, append(arguments, "--kubeconfig="+kubeconfig, "--metrics-bind-address=0", "--health-probe-bind-address=0")...)
	stop = sync.OnceFunc(func() { p.Terminate(t) })
	t.Cleanup(stop)
	return stop
}

// copyTree copies the files of the repository from which the operator is built and its roles
// are generated.
func copyTree(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	root := os.DirFS(controlplane.Root())
	for _, pattern := range []string{"*.go", "go.mod", "go.sum"} {
		names, err := fs.Glob(root, pattern)
		testenv.NoError(t, err)
		for _, name := range names {
			content, err := fs.ReadFile(root, name)
			testenv.NoError(t, err)
			testenv.WriteFile(t, filepath.Join(dir, name), string(content))
		}
	}
	for _, name := range []string{"apis", "internal", "reconcilers", "manifests", "hack/rbac", "config/crd", "config/rbac"} {
		testenv.NoError(t, os.CopyFS(filepath.Join(dir, name), os.DirFS(filepath.Join(controlplane.Root(), name))))
	}
	return dir
}
