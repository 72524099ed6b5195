// SPDX-License-Identifier: Apache-2.0

//go:build e2e

package cluster

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/tools/portforward"
	"k8s.io/client-go/tools/remotecommand"
	"k8s.io/client-go/transport/spdy"
)

// Forward forwards a free port of this machine to a port of a pod until the test
// ends, and returns its address.
func (c *Cluster) Forward(t testing.TB, namespace, pod string, port int) string {
	t.Helper()
	transport, upgrader, err := spdy.RoundTripperFor(c.Config)
	Must(t, err)
	url := c.Clients.CoreV1().RESTClient().Post().Resource("pods").Namespace(namespace).Name(pod).SubResource("portforward").URL()
	dialer := spdy.NewDialer(upgrader, &http.Client{Transport: transport}, http.MethodPost, url)
	ready, ctx := make(chan struct{}), t.Context()
	ended := make(chan error, 1)
	forwarder, err := portforward.NewOnAddressesWithContext(ctx, dialer, []string{"127.0.0.1"}, []string{fmt.Sprintf("0:%d", port)}, ready, io.Discard, io.Discard)
	Must(t, err)
	go func() { ended <- forwarder.ForwardPorts() }()
	select {
	case <-ready:
	case err := <-ended:
		t.Fatalf("forwarding to port %d of pod %s/%s: %v", port, namespace, pod, err)
	}
	ports, err := forwarder.GetPorts()
	Must(t, err)
	return fmt.Sprintf("127.0.0.1:%d", ports[0].Local)
}

// Exec runs a command in a container of a pod and returns what it prints.
func (c *Cluster) Exec(t testing.TB, namespace, pod, container string, command ...string) string {
	t.Helper()
	output, err := c.exec(t.Context(), namespace, pod, container, command...)
	Must(t, err)
	return output
}

// exec runs a command in a container and returns what it prints.
func (c *Cluster) exec(ctx context.Context, namespace, pod, container string, command ...string) (string, error) {
	url := c.Clients.CoreV1().RESTClient().Post().Resource("pods").Namespace(namespace).Name(pod).SubResource("exec").
		VersionedParams(&corev1.PodExecOptions{Container: container, Command: command, Stdout: true, Stderr: true}, scheme.ParameterCodec).URL()
	executor, err := remotecommand.NewWebSocketExecutor(c.Config, http.MethodGet, url.String())
	if err != nil {
		return "", err
	}
	var stdout, stderr bytes.Buffer
	if err := executor.StreamWithContext(ctx, remotecommand.StreamOptions{Stdout: &stdout, Stderr: &stderr}); err != nil {
		return stdout.String(), fmt.Errorf("%s in %s/%s: %w\n%s%s", strings.Join(command, " "), namespace, pod, err, stdout.String(), stderr.String())
	}
	return stdout.String(), nil
}
