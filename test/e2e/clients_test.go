// SPDX-License-Identifier: Apache-2.0

//go:build e2e

package e2e

import (
	"context"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	cachev1alpha1 "github.com/example/memcached-operator/apis/v1alpha1"
	"github.com/example/memcached-operator/test/certificate"
	"github.com/example/memcached-operator/test/controlplane"
	"github.com/example/memcached-operator/test/e2e/cluster"
	"github.com/example/memcached-operator/test/testenv"
)

// clientPrograms run testdata/clients with docs/clients, in a pod that has the node's programs.
var clientPrograms = map[string]string{
	"python": "python3 -B loop.py",
	"php":    "php loop.php",
	"java":   "java -XX:TieredStopAtLevel=1 -cp .:/usr/share/java/spymemcached.jar Loop",
	"go":     "./loop",
}

// throughProxy is the client that connects to the proxies of a Memcached. It has keys of its own, since these distribute them otherwise.
const throughProxy = "proxy"

// buildClients returns a directory with the programs.
func buildClients(t *testing.T) string {
	t.Helper()
	directory, err := os.MkdirTemp("", "clients")
	testenv.NoError(t, err)
	t.Cleanup(func() { _ = os.RemoveAll(directory) })
	testenv.NoError(t, os.Chmod(directory, 0o755)) //nolint:gosec // the pod's user reads it
	script := `set -e
cp docs/clients/python/* docs/clients/php/* docs/clients/java/* test/e2e/testdata/clients/*.py test/e2e/testdata/clients/*.php test/e2e/testdata/clients/*.java $0
mkdir $0/src && cp docs/clients/go/* $0/src && mkdir $0/src/loop && cp test/e2e/testdata/clients/main.go $0/src/loop
cd $0 && javac -cp /usr/share/java/spymemcached.jar Cache.java Loop.java
cd src && CGO_ENABLED=0 go build -o ../loop.bin ./loop && mv ../loop.bin ../loop && cd .. && rm -r src`
	command := exec.CommandContext(t.Context(), "bash", "-c", script, directory)
	command.Dir = controlplane.Root()
	if output, err := command.CombinedOutput(); err != nil {
		t.Fatalf("building the clients: %v\n%s", err, output)
	}
	return directory
}

// startClients starts a pod on node that has the programs in /clients and, of the node, those that run them.
func startClients(t *testing.T, namespace, node, directory, command string) {
	t.Helper()
	var mounts, volumes []string
	for path, host := range map[string]string{
		"/clients": directory, "/usr": "/usr", "/lib": "/usr/lib", "/lib64": "/usr/lib64",
		"/etc/php": "/etc/php", "/etc/alternatives": "/etc/alternatives", "/etc/java-17-openjdk": "/etc/java-17-openjdk",
	} {
		name := "v" + strings.ReplaceAll(strings.ReplaceAll(path, "/", "-"), ".", "-")
		mounts = append(mounts, fmt.Sprintf("{name: %s, mountPath: %s, readOnly: true}", name, path))
		volumes = append(volumes, fmt.Sprintf("{name: %s, hostPath: {path: %s}}", name, host))
	}
	suite.StartPod(t, namespace, "clients", fmt.Sprintf("image: %s, workingDir: /clients, command: [/bin/sh, -c, %q], volumeMounts: [%s]",
		cluster.BusyboxImage, command, strings.Join(mounts, ", ")),
		"nodeName: "+node, "volumes: ["+strings.Join(volumes, ", ")+"]")
}

// tally counts what a client reported.
type tally struct{ seconds, hits, misses, errors int }

// failed reports whether more than one request in a hundred failed. A client that asks an address without a server has
// tens of times as many; a few may time out on a busy machine.
func (t tally) failed() bool { return 100*t.errors > t.hits+t.misses+t.errors }

// talliesOf returns what each client has reported from a line of the log on, and the number of lines.
func talliesOf(t *testing.T, namespace string, from int) (map[string]tally, int) {
	t.Helper()
	tallies, lines := map[string]tally{}, 0
	for line := range strings.Lines(suite.Kubectl(t, "--namespace="+namespace, "logs", "clients")) {
		var client string
		var hits, misses, errors int
		if n, _ := fmt.Sscanf(line, "%s %d %d %d\n", &client, &hits, &misses, &errors); n != 4 || clientPrograms[client] == "" && client != throughProxy {
			continue
		}
		if lines++; lines > from {
			sum := tallies[client]
			tallies[client] = tally{sum.seconds + 1, sum.hits + hits, sum.misses + misses, sum.errors + errors}
		}
	}
	return tallies, lines
}

// waitForClients waits until each client has reported count times more, which is count seconds.
func waitForClients(t *testing.T, namespace string, count int) (lines int) {
	t.Helper()
	_, from := talliesOf(t, namespace, 0)
	testenv.Eventually(t, "each client reports", func(context.Context) (bool, string, error) {
		tallies, now := talliesOf(t, namespace, from)
		lines = now
		for _, client := range append(slices.Collect(maps.Keys(clientPrograms)), throughProxy) {
			if tallies[client].seconds < count {
				return false, fmt.Sprint(tallies), nil
			}
		}
		return true, "", nil
	})
	return lines
}

// TestClients_SurviveEveryChange runs the documented clients through each planned change of a cache that they share. It drains a
// node, so it is not parallel.
func TestClients_SurviveEveryChange(t *testing.T) {
	if os.Getenv("NODE_DIR") == "" {
		t.Skip("the pod of the clients needs the programs of this machine on its node, as local nodes have")
	}
	suite.NoTestNamespaces(t)
	directory := buildClients(t)
	namespace := suite.NewNamespace(t, "pod-security.kubernetes.io/enforce", "privileged")
	const size = 3
	mc := suite.Ready(t, suite.NewMemcached(t, namespace, "cache", size, func(spec *cachev1alpha1.MemcachedSpec) { spec.Proxy = &cachev1alpha1.Proxy{} }))
	nodes := &corev1.NodeList{}
	testenv.NoError(t, suite.Client.List(t.Context(), nodes))
	own, drained := nodes.Items[0].Name, nodes.Items[1].Name
	var commands []string
	for _, program := range clientPrograms {
		commands = append(commands, program+" cache."+namespace+".svc loop loop & ")
	}
	commands = append(commands, "CLIENT="+throughProxy+" ./loop cache-proxy."+namespace+".svc loop "+throughProxy+" & ")
	startClients(t, namespace, own, directory, strings.Join(commands, "")+"wait")
	waitForClients(t, namespace, 3)

	fewest := suite.WatchFewest(t, namespace, mc.Name, size)
	for _, step := range []struct {
		what   string
		errors bool // whether a client without a proxy may see some
		take   func()
	}{
		{"a roll-out", false, func() { suite.Patch(t, mc, `{"spec":{"podMetadata":{"annotations":{"example.com/changed":"1"}}}}`) }},
		{"a drained node", false, func() {
			t.Cleanup(func() { suite.Kubectl(t, "uncordon", drained) })
			suite.Kubectl(t, "drain", drained, "--ignore-daemonsets", "--delete-emptydir-data", "--timeout="+testenv.Timeout.String())
			if least := fewest(); least < size-1 {
				t.Errorf("at times %d of %d pods answered", least, size)
			}
			suite.Kubectl(t, "uncordon", drained)
		}},
		{"a smaller size", false, func() { suite.Patch(t, mc, `{"spec":{"size":2}}`) }},
		{"a larger size", false, func() { suite.Patch(t, mc, `{"spec":{"size":3}}`) }},
		{"a killed pod", true, func() {
			suite.Kubectl(t, "--namespace="+namespace, "delete", "pod", "--force", "--grace-period=0", suite.Pods(t, namespace, mc.Name)[0].Name)
		}},
	} {
		from, started := waitForClients(t, namespace, 1), time.Now()
		step.take()
		suite.Get(t, mc)
		suite.Ready(t, mc)
		took := time.Since(started)
		suite.NoneTerminates(t, namespace)         // until then the proxies keep to the pod that they are connected to
		settled := waitForClients(t, namespace, 5) // in which a client misses and sets nearly all keys that a replaced pod held
		waitForClients(t, namespace, 2)
		during, _ := talliesOf(t, namespace, from)
		after, _ := talliesOf(t, namespace, settled)
		for client, sum := range during {
			t.Logf("%-14s %-6s hits %5d, misses %4d, errors %3d (Ready after %.1f s)", step.what, client, sum.hits, sum.misses, sum.errors, took.Seconds())
			mayFail := step.errors && client != throughProxy
			if sum.failed() && !mayFail || after[client].failed() || after[client].hits < 9*after[client].misses {
				t.Errorf("%s: %s saw %+v, afterwards %+v", step.what, client, sum, after[client])
			}
		}
	}
	clientsShareKeys(t, namespace, "cache", "", slices.Sorted(maps.Keys(clientPrograms))...)
	newSecured(t, namespace, directory)
	clientsShareKeys(t, namespace, "secured", "AUTHORITY=ca.crt USER=app PASSWORD=s3cr3t", "python", "go")
}

// clientsShareKeys lets each of clients set keys and all get them. env are variables for them.
func clientsShareKeys(t *testing.T, namespace, name, env string, clients ...string) {
	t.Helper()
	run := func(client, mode, keys string) string {
		command := fmt.Sprintf("%s %s %s.%s.svc %s %s 2>&1", env, clientPrograms[client], name, namespace, mode, keys)
		return strings.TrimSpace(suite.Exec(t, namespace, "clients", "clients", "sh", "-c", command))
	}
	for _, writer := range clients {
		run(writer, "set", writer)
		for _, reader := range clients {
			if got := run(reader, "get", writer); !strings.HasSuffix(got, "300") {
				t.Errorf("%s: of 300 keys that %s set, %s gets: %s", name, writer, reader, got)
			}
		}
	}
}

// newSecured returns a Memcached with TLS and users, whose authority is in the file ca.crt of directory.
func newSecured(t *testing.T, namespace, directory string) *cachev1alpha1.Memcached {
	t.Helper()
	pair := certificate.New(t, "secured."+namespace+".svc")
	testenv.NoError(t, os.WriteFile(filepath.Join(directory, "ca.crt"), pair.Certificate, 0o644)) //nolint:gosec // the pod's user reads it
	meta := func(name string) metav1.ObjectMeta { return metav1.ObjectMeta{Namespace: namespace, Name: name} }
	suite.Create(t,
		&corev1.Secret{ObjectMeta: meta("tls"), Data: map[string][]byte{"tls.crt": pair.Certificate, "tls.key": pair.Key}},
		&corev1.Secret{ObjectMeta: meta("users"), Data: map[string][]byte{"auth": []byte("app:s3cr3t\n")}})
	return suite.Ready(t, suite.NewMemcached(t, namespace, "secured", 2, func(spec *cachev1alpha1.MemcachedSpec) {
		spec.TLS = &cachev1alpha1.TLS{SecretName: "tls"}
		spec.Auth = &cachev1alpha1.Auth{SecretName: "users"}
	}))
}
