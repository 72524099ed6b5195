// SPDX-License-Identifier: Apache-2.0

package program

import (
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/rest"

	cachev1alpha1 "github.com/example/memcached-operator/apis/v1alpha1"
	"github.com/example/memcached-operator/test/controlplane"
	"github.com/example/memcached-operator/test/testenv"
)

func TestPrintsAndExits0(t *testing.T) {
	t.Parallel()
	for flag, want := range map[string]string{
		"--version": "memcached-operator 1.2.3\n",
		"--help":    "  -manifests-dir string\n",
	} {
		p := start(t, flag)
		if status := p.End(t); status != 0 {
			t.Errorf("%s: the exit status is %d", flag, status)
		}
		contains(t, p.Stdout.String(), want)
		if text := p.Log.String(); text != "" {
			t.Errorf("%s: standard error holds %q", flag, text)
		}
	}
}

func TestRefusesABadFlag(t *testing.T) {
	t.Parallel()
	contains(t, refuse(t, "--bogus"), "flag provided but not defined: -bogus")
}

func TestRefusesAnAddressInUse(t *testing.T) {
	t.Parallel()
	listener, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.1:0")
	fatal(t, err)
	defer listener.Close()
	address := listener.Addr().String()
	contains(t, refuse(t, "--kubeconfig="+testenv.Kubeconfig(t, suite.operator, ""), "--health-probe-bind-address="+address), address, "address already in use")
}

func TestRefusesToStartWithoutAnAPIServer(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	missing, broken := filepath.Join(dir, "missing"), filepath.Join(dir, "broken")
	write(t, broken, "clusters: [")
	closed := "https://" + freeAddress(t)
	stranger := rest.CopyConfig(suite.operator)
	stranger.BearerToken = "none-of-the-servers"
	distrustful := rest.CopyConfig(suite.operator)
	distrustful.CAData = nil
	for sentence, test := range map[string]struct {
		args []string
		want []string
	}{
		"no kubeconfig": {
			nil, []string{"no API server is known: use --kubeconfig, let KUBECONFIG name a file that exists, or run in a cluster"},
		},
		"a kubeconfig that is missing": {
			[]string{"--kubeconfig=" + missing}, []string{"reading the kubeconfig: stat " + missing + ": no such file or directory"},
		},
		"a kubeconfig that is not YAML": {
			[]string{"--kubeconfig=" + broken}, []string{"reading the kubeconfig: ", broken, "yaml"},
		},
		"nobody listens": {
			[]string{"--kubeconfig=" + testenv.Kubeconfig(t, suite.operator, closed)}, []string{"asking the API server", closed, "connection refused"},
		},
		"an unknown token": {
			[]string{"--kubeconfig=" + testenv.Kubeconfig(t, stranger, "")}, []string{"asking the API server", "asked for the client to provide credentials"},
		},
		"an unknown authority": {
			[]string{"--kubeconfig=" + testenv.Kubeconfig(t, distrustful, "")}, []string{"asking the API server", "certificate signed by unknown authority"},
		},
	} {
		t.Run(sentence, func(t *testing.T) {
			t.Parallel()
			contains(t, refuse(t, test.args...), test.want...)
		})
	}
}

func TestInAControlPlaneOfItsOwn(t *testing.T) {
	t.Parallel()
	plane, err := controlplane.Start("--without-controllers")
	fatal(t, err)
	t.Cleanup(func() { fatal(t, plane.Stop()) })
	t.Run("it watches all namespaces by default", func(t *testing.T) {
		w := world{plane}
		one, two := w.newMemcached(t, w.newNamespace(t), "one"), w.newMemcached(t, w.newNamespace(t), "two")
		p := start(t, "--kubeconfig="+plane.Kubeconfig, "--health-probe-bind-address=127.0.0.1:0", "--metrics-bind-address=0")
		p.Ready(t)
		w.settled(t, one)
		w.settled(t, two)
	})
	t.Run("it makes what Prometheus' operator reads", func(t *testing.T) { withPrometheus(t, plane) })
	t.Run("it refuses to start without the CustomResourceDefinition", func(t *testing.T) {
		uninstall(t, plane)
		contains(t, refuse(t, "--kubeconfig="+plane.Kubeconfig),
			"the API server does not serve cache.example.com/v1alpha1 Memcached: install the CustomResourceDefinition first (make install")
	})
}

// uninstall removes the CustomResourceDefinition and waits until it is gone.
func uninstall(t *testing.T, plane *controlplane.ControlPlane) {
	t.Helper()
	definition := &unstructured.Unstructured{}
	definition.SetGroupVersionKind(schema.GroupVersionKind{Group: "apiextensions.k8s.io", Version: "v1", Kind: "CustomResourceDefinition"})
	definition.SetName("memcacheds.cache.example.com")
	fatal(t, plane.Client.Delete(t.Context(), definition))
	resources, err := discovery.NewDiscoveryClientForConfig(plane.Config)
	fatal(t, err)
	eventually(t, "Memcacheds should no longer be served", func() bool {
		_, err := resources.ServerResourcesForGroupVersion(cachev1alpha1.SchemeGroupVersion.String())
		return apierrors.IsNotFound(err)
	})
}

// In a pod the home directory may be another user's, and reading it an error: the
// operator's own cluster comes first there.
func TestReadsTheHomeDirectoryOutsideAClusterOnly(t *testing.T) {
	t.Parallel()
	home := t.TempDir()
	write(t, filepath.Join(home, ".kube", "config"), "clusters: [")
	for service, want := range map[string]string{
		"":          "reading the kubeconfig: ",
		"10.96.0.1": "no API server is known", // no service account's token is mounted here
	} {
		command := exec.CommandContext(t.Context(), suite.program, "--metrics-bind-address=0", "--health-probe-bind-address=0")
		command.Env = append(os.Environ(), "KUBECONFIG=", "HOME="+home, "KUBERNETES_SERVICE_PORT=443", "KUBERNETES_SERVICE_HOST="+service)
		output, err := command.CombinedOutput()
		if err == nil {
			t.Error("it does not fail")
		}
		contains(t, string(output), want)
	}
}
