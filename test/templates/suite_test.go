// SPDX-License-Identifier: Apache-2.0

// Package templates tests the operator with edited templates on a real control plane.
package templates

import (
	"bytes"
	"context"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"syscall"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/rest"
	clientcmd "k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	cachev1alpha1 "github.com/example/memcached-operator/apis/v1alpha1"
	"github.com/example/memcached-operator/test/controlplane"
)

func TestMain(m *testing.M) {
	// Each test starts its own control plane, since the tests change cluster roles.
	os.Exit(m.Run())
}

func fatal(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// startCluster starts a control plane that stops with the test, and writes a
// kubeconfig for the operator's service account.
func startCluster(t *testing.T) (cluster *controlplane.ControlPlane, kubeconfig string) {
	t.Helper()
	cluster, err := controlplane.Start()
	fatal(t, err)
	t.Cleanup(func() {
		if err := cluster.Stop(); err != nil {
			t.Error(err)
		}
	})
	cfg, err := cluster.OperatorConfig(t.Context())
	fatal(t, err)
	return cluster, writeKubeconfig(t, cfg)
}

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

// build builds the operator from the source tree at dir.
func build(t *testing.T, dir string) string {
	t.Helper()
	binary := filepath.Join(t.TempDir(), "memcached-operator")
	command(t, dir, "go", "build", "-trimpath", "-o", binary, ".")
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

// runOperator runs binary until the returned function is called or the test ends.
func runOperator(t *testing.T, binary, kubeconfig string, arguments ...string) (stop func()) {
	t.Helper()
	var log syncBuffer
	arguments = append([]string{"--kubeconfig", kubeconfig, "--metrics-bind-address=0", "--health-probe-bind-address=0"}, arguments...)
	c := exec.Command(binary, arguments...)
	c.Stdout, c.Stderr = &log, &log
	fatal(t, c.Start())
	t.Cleanup(func() {
		if t.Failed() {
			t.Logf("the operator's log:\n%s", log.String())
		}
	})
	stop = sync.OnceFunc(func() {
		_ = c.Process.Signal(syscall.SIGTERM)
		if err := c.Wait(); err != nil {
			t.Errorf("the operator exited with %v:\n%s", err, log.String())
		}
	})
	t.Cleanup(stop)
	return stop
}

type syncBuffer struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (s *syncBuffer) Write(p []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.b.Write(p)
}

func (s *syncBuffer) String() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.b.String()
}

// copyTree copies the files of the repository from which the operator is built and its roles
// are generated.
func copyTree(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	sources, err := fs.Glob(os.DirFS(controlplane.Root()), "*.go")
	fatal(t, err)
	for _, name := range append(sources, "go.mod", "go.sum", "apis", "internal", "reconcilers", "manifests", "hack/rbac", "config/crd", "config/rbac") {
		from, to := filepath.Join(controlplane.Root(), name), filepath.Join(dir, name)
		info, err := os.Stat(from)
		fatal(t, err)
		fatal(t, os.MkdirAll(filepath.Dir(to), 0o755))
		if info.IsDir() {
			fatal(t, os.CopyFS(to, os.DirFS(from)))
			continue
		}
		copyFile(t, from, to)
	}
	return dir
}

func copyFile(t *testing.T, from, to string) {
	t.Helper()
	in, err := os.Open(from)
	fatal(t, err)
	defer in.Close()
	out, err := os.Create(to)
	fatal(t, err)
	_, err = io.Copy(out, in)
	fatal(t, err)
	fatal(t, out.Close())
}

// poll calls condition until it returns true, for a minute at most.
func poll(t *testing.T, what string, condition func(context.Context) (bool, error)) {
	t.Helper()
	if err := wait.PollUntilContextTimeout(t.Context(), 50*time.Millisecond, time.Minute, true, condition); err != nil {
		t.Fatalf("%s: %v", what, err)
	}
}

// eventually reads object until condition returns true.
func eventually[T client.Object](t *testing.T, cluster *controlplane.ControlPlane, object T, what string, condition func(T) bool) T {
	t.Helper()
	poll(t, what, func(ctx context.Context) (bool, error) {
		err := cluster.Client.Get(ctx, client.ObjectKeyFromObject(object), object)
		return err == nil && condition(object), client.IgnoreNotFound(err)
	})
	return object
}

func isReady(mc *cachev1alpha1.Memcached) bool {
	c := meta.FindStatusCondition(mc.Status.Conditions, cachev1alpha1.ConditionReady)
	return c != nil && c.Status == metav1.ConditionTrue && c.ObservedGeneration == mc.Generation
}

func newMemcached(t *testing.T, cluster *controlplane.ControlPlane, namespace, name string, size int32) *cachev1alpha1.Memcached {
	t.Helper()
	mc := &cachev1alpha1.Memcached{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name},
		Spec:       cachev1alpha1.MemcachedSpec{Size: new(size)},
	}
	fatal(t, cluster.Client.Create(t.Context(), mc))
	return mc
}

func applyFile(t *testing.T, cluster *controlplane.ControlPlane, file string, rename func(*unstructured.Unstructured)) {
	t.Helper()
	content, err := os.ReadFile(file)
	fatal(t, err)
	object := &unstructured.Unstructured{}
	fatal(t, yaml.Unmarshal(content, &object.Object))
	rename(object)
	fatal(t, cluster.Apply(t.Context(), object))
}

func writeFile(t *testing.T, file, content string) {
	t.Helper()
	fatal(t, os.MkdirAll(filepath.Dir(file), 0o755))
	fatal(t, os.WriteFile(file, []byte(content), 0o644))
}

func configMap(namespace, name string) *corev1.ConfigMap {
	return &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name}}
}
