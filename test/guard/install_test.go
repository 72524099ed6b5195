// SPDX-License-Identifier: Apache-2.0

package guard

import (
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"testing"

	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// install is one way of guarding the fields, and who writes Memcacheds there.
type install struct {
	name      string
	namespace string
	// flag says whether the operator runs with --allow-privileged-fields.
	flag bool
	// policy says whether the policy is bound to the namespace.
	policy bool
	// user writes the Memcacheds.
	user string
}

var installs = []install{
	{name: "flag off without policy", namespace: "plain", user: author},
	{name: "flag off with policy", namespace: "policy", policy: true, user: author},
	{name: "flag on with policy as author", namespace: "author", flag: true, policy: true, user: author},
	{name: "flag on with policy as editor", namespace: "editor", flag: true, policy: true, user: editor},
}

// neighbour is the namespace of another tenant whose Memcacheds the same operator runs.
func (i install) neighbour() string { return i.namespace + "-neighbour" }

// client returns a client of the install's user.
func (i install) client(t *testing.T) client.Client {
	t.Helper()
	c, err := user(i.user)
	fatal(t, err)
	return c
}

// accepts returns whether admission lets the row pass.
func (i install) accepts(t *testing.T, r row) bool {
	t.Helper()
	if r.invalid != "" {
		return false
	}
	if !i.policy {
		return true
	}
	for _, right := range r.rights {
		ok, err := allowed(t.Context(), i.user, right, i.namespace)
		fatal(t, err)
		if !ok {
			return false
		}
	}
	return true
}

// startOperator runs the operator for the install's namespaces until the test ends or
// stop is called.
func (i install) startOperator(t *testing.T, args ...string) (stop func()) {
	t.Helper()
	dir := t.TempDir()
	kubeconfig, logFile := filepath.Join(dir, "kubeconfig"), filepath.Join(dir, "log")
	cfg := suite.operator
	fatal(t, clientcmd.WriteToFile(clientcmdapi.Config{
		Clusters:       map[string]*clientcmdapi.Cluster{"c": {Server: cfg.Host, CertificateAuthorityData: cfg.CAData}},
		AuthInfos:      map[string]*clientcmdapi.AuthInfo{"u": {Token: cfg.BearerToken}},
		Contexts:       map[string]*clientcmdapi.Context{"x": {Cluster: "c", AuthInfo: "u"}},
		CurrentContext: "x",
	}, kubeconfig))
	output, err := os.Create(logFile)
	fatal(t, err)
	command := exec.Command(suite.binary, append([]string{"--kubeconfig", kubeconfig, "--watch-namespaces", i.namespace + "," + i.neighbour(),
		"--metrics-bind-address=0", "--health-probe-bind-address=0"}, args...)...)
	command.Env = append(os.Environ(), "ALLOW_PRIVILEGED_FIELDS=", "OPERAND_IMAGES=", "RELATED_IMAGE_MEMCACHED=", "RELATED_IMAGE_MEMCACHED_EXPORTER=")
	command.Stdout, command.Stderr = output, output
	fatal(t, command.Start())
	stopped := false
	stop = func() {
		if stopped {
			return
		}
		stopped = true
		_ = command.Process.Signal(syscall.SIGTERM)
		if err := command.Wait(); err != nil {
			words, _ := os.ReadFile(logFile)
			t.Errorf("the operator ends with %v:\n%s", err, words)
		}
		fatal(t, output.Close())
	}
	t.Cleanup(stop)
	return stop
}
