// SPDX-License-Identifier: Apache-2.0

//go:build e2e

package cluster

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/yaml"

	"github.com/example/memcached-operator/test/testenv"
)

// Inside is a pod with a shell: a client of memcached within the cluster's network,
// that finds it by DNS.
type Inside struct {
	*Cluster
	namespace string
}

// Inside starts a client in namespace and waits until it runs.
func (c *Cluster) Inside(t testing.TB, namespace string) *Inside {
	t.Helper()
	c.StartPod(t, namespace, "client", "image: "+BusyboxImage+`, command: [sleep, "3600"]`)
	return &Inside{Cluster: c, namespace: namespace}
}

// StartPod starts a pod with one container, as Pod Security's level "restricted" asks for it, and waits until it is ready.
// Container and more, of the pod's spec, are YAML.
func (c *Cluster) StartPod(t testing.TB, namespace, name, container string, more ...string) {
	t.Helper()
	pod := &corev1.Pod{}
	testenv.NoError(t, yaml.Unmarshal([]byte(fmt.Sprintf(`
metadata: {namespace: %s, name: %s}
spec:
  terminationGracePeriodSeconds: 0
  automountServiceAccountToken: false
  securityContext: {runAsNonRoot: true, runAsUser: 1000, seccompProfile: {type: RuntimeDefault}}
  containers:
  - {name: %[2]s, securityContext: {allowPrivilegeEscalation: false, capabilities: {drop: [ALL]}}, %s}
  %s
`, namespace, name, container, strings.Join(more, "\n  "))), pod))
	c.Create(t, pod)
	testenv.EventuallyObject(t, &c.Env, pod, "the pod should be ready", IsReady)
}

// Addresses looks the name of a service of the client's namespace up, and waits until it has count
// addresses, which it returns sorted.
func (i *Inside) Addresses(t testing.TB, service string, count int) []string {
	t.Helper()
	// busybox's nslookup does not complete names; the first search domain is the
	// namespace's.
	script := fmt.Sprintf(`nslookup -type=a %s.$(awk '/^search/ {print $2}' /etc/resolv.conf).`, service)
	var addresses []string
	testenv.Eventually(t, fmt.Sprintf("%s should have %d addresses in the DNS", service, count), func(ctx context.Context) (bool, string, error) {
		output, _, err := i.TryKubectl(ctx, "", "exec", "--namespace="+i.namespace, "client", "--", "sh", "-c", script)
		_, answer, _ := strings.Cut(output, "\nName:")
		addresses = nil
		for line := range strings.Lines(answer) {
			if address, ok := strings.CutPrefix(line, "Address:"); ok {
				addresses = append(addresses, strings.TrimSpace(address))
			}
		}
		slices.Sort(addresses)
		return len(addresses) == count, output, err
	})
	return addresses
}

// Ask sends commands to a memcached, by a host's name or address and a port, and returns its answers.
func (i *Inside) Ask(t testing.TB, host string, port int, commands ...string) []string {
	t.Helper()
	script := fmt.Sprintf(`printf '%s\r\nquit\r\n' | nc -w 10 %s %d`, strings.Join(commands, `\r\n`), host, port)
	output := i.Exec(t, i.namespace, "client", "client", "sh", "-c", script)
	return strings.Split(strings.TrimSpace(strings.ReplaceAll(output, "\r", "")), "\n")
}
