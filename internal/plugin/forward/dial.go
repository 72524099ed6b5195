// SPDX-License-Identifier: Apache-2.0

package forward

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strconv"
	"strings"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	constants "k8s.io/apimachinery/pkg/util/portforward"
	corev1client "k8s.io/client-go/kubernetes/typed/core/v1"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/portforward"
	"k8s.io/client-go/transport/spdy"
	"k8s.io/streaming/pkg/httpstream"
)

// Dialer connects to pods of a cluster with the rights of its user.
type Dialer struct {
	config *rest.Config
	pods   rest.Interface
}

// NewDialer returns a Dialer for the cluster and the user of cfg.
func NewDialer(cfg *rest.Config) (*Dialer, error) {
	client, err := corev1client.NewForConfig(cfg)
	if err != nil {
		return nil, err
	}
	return &Dialer{config: cfg, pods: client.RESTClient()}, nil
}

// Dial connects to a port of a pod, in its network namespace. The connection is the caller's to close, also when ctx ends.
func (d *Dialer) Dial(ctx context.Context, namespace, pod string, port int32) (net.Conn, error) {
	type result struct {
		conn *Conn
		err  error
	}
	results := make(chan result, 1)
	// The dialers of client-go take no context: a connection that comes too late is closed.
	go func() {
		conn, err := d.dial(namespace, pod, port)
		results <- result{conn, err}
	}()
	select {
	case r := <-results:
		if r.err != nil {
			return nil, r.err
		}
		return r.conn, nil
	case <-ctx.Done():
		go func() {
			if r := <-results; r.err == nil {
				_ = r.conn.Close()
			}
		}()
		return nil, ctx.Err()
	}
}

func (d *Dialer) dial(namespace, pod string, port int32) (*Conn, error) {
	tunnel, err := d.newTunnel(namespace, pod)
	if err != nil {
		return nil, err
	}
	connection, protocol, err := tunnel.Dial(constants.PortForwardV1Name)
	if err != nil {
		return nil, err
	}
	if protocol != constants.PortForwardV1Name {
		return nil, errors.Join(fmt.Errorf("the API server speaks %q, not %q", protocol, constants.PortForwardV1Name), connection.Close())
	}
	conn, err := newConn(connection, port)
	if err != nil {
		return nil, errors.Join(err, connection.Close())
	}
	return conn, nil
}

func (d *Dialer) newTunnel(namespace, pod string) (httpstream.Dialer, error) {
	address := d.pods.Post().Resource("pods").Namespace(namespace).Name(pod).SubResource("portforward").URL()
	sockets, err := portforward.NewSPDYOverWebsocketDialerForStreaming(address, d.config)
	if err != nil {
		return nil, err
	}
	transport, upgrader, err := spdy.RoundTripperFor(d.config)
	if err != nil {
		return nil, err
	}
	return &tunnelDialer{sockets, spdy.NewDialerForStreaming(upgrader, &http.Client{Transport: transport}, http.MethodPost, address)}, nil
}

// tunnelDialer uses WebSockets, or SPDY where the API server or a proxy before it refuses these, as kubectl does. It is
// portforward.FallbackDialer, but returns the API server's answer to WebSockets when both are forbidden: that to SPDY is
// text alone.
type tunnelDialer struct{ sockets, spdy httpstream.Dialer }

func (d *tunnelDialer) Dial(protocols ...string) (httpstream.Connection, string, error) {
	connection, protocol, err := d.sockets.Dial(protocols...)
	if err == nil || !httpstream.IsUpgradeFailure(err) && !httpstream.IsHTTPSProxyError(err) {
		return connection, protocol, err
	}
	// With permission for "create" alone, only SPDY is allowed: WebSockets begin with a GET.
	connection, protocol, errSPDY := d.spdy.Dial(protocols...)
	failure, ok := errors.AsType[*httpstream.UpgradeFailureError](err)
	if errSPDY != nil && ok && strings.Contains(errSPDY.Error(), "is forbidden") {
		if status, ok := errors.AsType[*apierrors.StatusError](failure.Cause); ok {
			return nil, "", status
		}
	}
	return connection, protocol, errSPDY
}

// newConn opens the streams of a forwarded connection.
func newConn(connection httpstream.Connection, port int32) (*Conn, error) {
	headers := http.Header{}
	headers.Set(corev1.StreamType, corev1.StreamTypeError)
	headers.Set(corev1.PortHeader, strconv.Itoa(int(port)))
	headers.Set(corev1.PortForwardRequestIDHeader, "0")
	failures, err := connection.CreateStream(headers)
	if err != nil {
		return nil, fmt.Errorf("opening the stream for errors: %w", err)
	}
	if err := failures.Close(); err != nil { // nothing is written to it
		return nil, err
	}
	headers.Set(corev1.StreamType, corev1.StreamTypeData)
	data, err := connection.CreateStream(headers)
	if err != nil {
		return nil, fmt.Errorf("opening the stream for data: %w", err)
	}
	return start(connection, data, failures), nil
}

// readFailure returns what the kubelet says about a connection that it could not make, or nil.
func readFailure(stream io.Reader) error {
	message, err := io.ReadAll(io.LimitReader(stream, 4096))
	if err != nil || len(message) == 0 {
		return nil //nolint:nilerr // the stream ends with an error when the connection is closed
	}
	return errors.New(shorten(string(message)))
}

// shorten removes what the kubelet says before the cause: numbers of its own, and the address in the pod.
func shorten(message string) string {
	message = strings.TrimSpace(message)
	if i := strings.LastIndex(message, ": "); i >= 0 && strings.HasSuffix(message, "connection refused") {
		return message[i+2:]
	}
	return message
}
