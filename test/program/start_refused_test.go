// SPDX-License-Identifier: Apache-2.0

package program_test

import (
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/rest"

	cachev1alpha1 "github.com/example/memcached-operator/apis/v1alpha1"
	"github.com/example/memcached-operator/test/testenv"
)

func TestFlags_VersionAndHelpExitWithZero(t *testing.T) {
	t.Parallel()
	for flag, want := range map[string]string{
		"--version": "memcached-operator 1.2.3\n",
		"version":   "memcached-operator 1.2.3\n",
		"--help":    "  -manifests-dir string\n",
		"-help":     "  memcached-operator render -f FILE...\n",
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

func TestFlags_RejectUnknown(t *testing.T) {
	t.Parallel()
	contains(t, refuse(t, "--bogus"), "flag provided but not defined: -bogus")
}

func TestStart_FailsOnAddressInUse(t *testing.T) {
	t.Parallel()
	listener, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.1:0")
	testenv.NoError(t, err)
	defer listener.Close()
	address := listener.Addr().String()
	contains(t, refuse(t, "--kubeconfig="+testenv.Kubeconfig(t, suite.Operator, ""), "--health-probe-bind-address="+address), address, "address already in use")
}

func TestStart_FailsWithoutAPIServer(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	missing, broken := filepath.Join(dir, "missing"), filepath.Join(dir, "broken")
	testenv.WriteFile(t, broken, "clusters: [")
	closed := "https://" + testenv.FreeAddress(t)
	stranger := rest.CopyConfig(suite.Operator)
	stranger.BearerToken = "none-of-the-servers"
	distrustful := rest.CopyConfig(suite.Operator)
	distrustful.CAData = nil
	for sentence, test := range map[string]struct {
		args []string
		want []string
	}{
		"fails without a kubeconfig": {
			nil, []string{"no cluster configured: use --kubeconfig, set KUBECONFIG to a file that exists, or run in a cluster"},
		},
		"fails when the kubeconfig does not exist": {
			[]string{"--kubeconfig=" + missing}, []string{"reading the kubeconfig: stat " + missing + ": no such file or directory"},
		},
		"fails when the kubeconfig is not YAML": {
			[]string{"--kubeconfig=" + broken}, []string{"reading the kubeconfig: ", broken, "yaml"},
		},
		"fails when the connection is refused": {
			[]string{"--kubeconfig=" + testenv.Kubeconfig(t, suite.Operator, closed)}, []string{"asking the API server", closed, "connection refused"},
		},
		"fails on an unknown token": {
			[]string{"--kubeconfig=" + testenv.Kubeconfig(t, stranger, "")}, []string{"asking the API server", "asked for the client to provide credentials"},
		},
		"fails on an unknown authority": {
			[]string{"--kubeconfig=" + testenv.Kubeconfig(t, distrustful, "")}, []string{"asking the API server", "certificate signed by unknown authority"},
		},
	} {
		t.Run(sentence, func(t *testing.T) {
			t.Parallel()
			contains(t, refuse(t, test.args...), test.want...)
		})
	}
}

func TestStart_OnAnotherControlPlane(t *testing.T) {
	t.Parallel()
	plane := testenv.New(t, testenv.Setup{Arguments: []string{testenv.WithoutControllers}})
	t.Run("watches all namespaces by default", func(t *testing.T) {
		w := plane
		one, two := w.NewMemcached(t, w.NewNamespace(t), "one", 0), w.NewMemcached(t, w.NewNamespace(t), "two", 0)
		p := start(t, "--kubeconfig="+plane.Kubeconfig, "--health-probe-bind-address=127.0.0.1:0", "--metrics-bind-address=0")
		p.Ready(t)
		settled(t, w, one)
		settled(t, w, two)
	})
	t.Run("fails without the CustomResourceDefinition", func(t *testing.T) {
		uninstall(t, plane)
		contains(t, refuse(t, "--kubeconfig="+plane.Kubeconfig),
			"the API server does not serve cache.example.com/v1alpha1 Memcached: install the CustomResourceDefinition first (make install")
		p := start(t, "check", "--server", "--kubeconfig="+plane.Kubeconfig)
		if status := p.End(t); status != 2 {
			t.Errorf("check exits with %d, want 2", status)
		}
		contains(t, p.Log.String(), "memcached-operator check: the API server does not serve cache.example.com/v1alpha1 Memcached: install")
	})
}

// uninstall removes the CustomResourceDefinition and waits until it is gone.
func uninstall(t *testing.T, plane *testenv.Env) {
	t.Helper()
	plane.Delete(t, testenv.Definition())
	resources, err := discovery.NewDiscoveryClientForConfig(plane.Config)
	testenv.NoError(t, err)
	testenv.Eventually(t, "Memcacheds should no longer be served", func() bool {
		_, err := resources.ServerResourcesForGroupVersion(cachev1alpha1.SchemeGroupVersion.String())
		return apierrors.IsNotFound(err)
	})
}

// TestKubeconfig_HomeIsReadOutsideAClusterOnly: in a pod the home directory may belong to another user, and reading it
// may fail; the cluster that the pod runs in takes precedence.
func TestKubeconfig_HomeIsReadOutsideAClusterOnly(t *testing.T) {
	t.Parallel()
	home := t.TempDir()
	testenv.WriteFile(t, filepath.Join(home, ".kube", "config"), "clusters: [")
	for service, want := range map[string]string{
		"":          "reading the kubeconfig: ",
		"10.96.0.1": "no cluster configured", // no service account's token is mounted here
	} {
		command := exec.CommandContext(t.Context(), suite.Binary, "--metrics-bind-address=0", "--health-probe-bind-address=0")
		command.Env = append(os.Environ(), "KUBECONFIG=", "HOME="+home, "KUBERNETES_SERVICE_PORT=443", "KUBERNETES_SERVICE_HOST="+service)
		output, err := command.CombinedOutput()
		if err == nil {
			t.Error("it does not fail")
		}
		contains(t, string(output), want)
	}
}

// TestStart_FailsWhenOpenShiftIsUndetermined: a wrong answer would replace all pods.
func TestStart_FailsWhenOpenShiftIsUndetermined(t *testing.T) {
	t.Parallel()
	server := testenv.Refusing(t, suite.Operator, "/apis/security.openshift.io", http.StatusServiceUnavailable, "not now")
	text := refuse(t, "--kubeconfig="+testenv.Kubeconfig(t, &rest.Config{BearerToken: suite.Operator.BearerToken}, server), "--watch-namespaces="+suite.NewNamespace(t))
	contains(t, text, "detecting OpenShift by the API group security.openshift.io")
}
