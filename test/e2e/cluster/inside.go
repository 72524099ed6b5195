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
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// BusyboxImage has sh, nc and nslookup; the nodes have it.
const BusyboxImage = "busybox:1.35"

// Inside is a pod with a shell: a client of memcached within the cluster's network,
// that finds it by DNS.
type Inside struct {
	*Cluster
	namespace, pod string
}

// Inside starts a client in namespace and waits until it runs.
func (c *Cluster) Inside(t testing.TB, namespace string) *Inside {
	t.Helper()
	pod := &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "client"},
		Spec: corev1.PodSpec{
			TerminationGracePeriodSeconds: new(int64(0)),
			AutomountServiceAccountToken:  new(false),
			SecurityContext:               RestrictedPod(),
			Containers: []corev1.Container{{
				Name: "client", Image: BusyboxImage, Command: []string{"sleep", "3600"}, SecurityContext: RestrictedContainer(),
			}},
		},
	}
	Must(t, c.Create(t.Context(), pod))
	Until(t, c, pod, "ready", IsReady)
	return &Inside{Cluster: c, namespace: namespace, pod: pod.Name}
}

// RestrictedPod is what Pod Security's level "restricted" asks of a pod.
func RestrictedPod() *corev1.PodSecurityContext {
	return &corev1.PodSecurityContext{
		RunAsNonRoot: new(true), RunAsUser: new(int64(1000)),
		SeccompProfile: &corev1.SeccompProfile{Type: corev1.SeccompProfileTypeRuntimeDefault},
	}
}

// RestrictedContainer is what Pod Security's level "restricted" asks of a container.
func RestrictedContainer() *corev1.SecurityContext {
	return &corev1.SecurityContext{
		AllowPrivilegeEscalation: new(false),
		Capabilities:             &corev1.Capabilities{Drop: []corev1.Capability{"ALL"}},
	}
}

// Addresses looks the name of a service of the client's namespace up, and waits until it has count
// addresses, which it returns sorted.
func (i *Inside) Addresses(t testing.TB, service string, count int) []string {
	t.Helper()
	// busybox's nslookup does not complete names; the first search domain is the
	// namespace's.
	script := fmt.Sprintf(`nslookup -type=a %s.$(awk '/^search/ {print $2}' /etc/resolv.conf).`, service)
	var addresses []string
	Eventually(t, fmt.Sprintf("%s has %d addresses in the DNS", service, count), func(ctx context.Context) (bool, string, error) {
		output, err := i.exec(ctx, i.namespace, i.pod, "client", "sh", "-c", script)
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
	output, err := i.exec(t.Context(), i.namespace, i.pod, "client", "sh", "-c", script)
	Must(t, err)
	return strings.Split(strings.TrimSpace(strings.ReplaceAll(output, "\r", "")), "\n")
}
