// SPDX-License-Identifier: Apache-2.0

package forward_test

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/rest"
	"k8s.io/streaming/pkg/httpstream"
	"k8s.io/streaming/pkg/httpstream/spdy"

	"github.com/example/memcached-operator/internal/plugin/forward"
)

// A kubelet and WebSockets are in test/e2e; here the server speaks SPDY, to which the dialer falls back.
func newDialer(t *testing.T, handler http.HandlerFunc) *forward.Dialer {
	t.Helper()
	server := httptest.NewServer(handler)
	t.Cleanup(server.Close)
	dialer, err := forward.NewDialer(&rest.Config{Host: server.URL})
	if err != nil {
		t.Fatal(err)
	}
	return dialer
}

// forwardTo forwards to address, whatever the pod, as a kubelet does.
func forwardTo(address string) http.HandlerFunc {
	return func(w http.ResponseWriter, req *http.Request) {
		if req.Method != http.MethodPost {
			http.Error(w, "WebSockets are not served", http.StatusBadRequest)
			return
		}
		if _, err := httpstream.Handshake(req, w, []string{"portforward.k8s.io"}); err != nil {
			return
		}
		streams := make(chan httpstream.Stream, 2)
		tunnel := spdy.NewResponseUpgrader().UpgradeResponse(w, req, func(stream httpstream.Stream, _ <-chan struct{}) error {
			streams <- stream
			return nil
		})
		defer tunnel.Close()
		failures, data := <-streams, <-streams
		copyTo(address, data, failures)
		_, _ = data.Close(), failures.Close()
		<-tunnel.CloseChan()
	}
}

func copyTo(address string, data, failures httpstream.Stream) {
	backend, err := net.Dial("tcp", address)
	if err != nil {
		_, _ = fmt.Fprintf(failures, "error forwarding port %s to pod 0, uid : failed to execute portforward in network namespace: %v\n", data.Headers().Get(corev1.PortHeader), err)
		return
	}
	go func() {
		_, _ = io.Copy(backend, data)
		_ = backend.Close()
	}()
	_, _ = io.Copy(data, backend)
}

// listen returns the address of a listener that sends back each line.
func listen(t *testing.T) string {
	t.Helper()
	listener, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = listener.Close() })
	go func() {
		for {
			connection, err := listener.Accept()
			if err != nil {
				return
			}
			go func() {
				_, _ = io.Copy(connection, connection)
				_ = connection.Close()
			}()
		}
	}()
	return listener.Addr().String()
}

func TestDial_CopiesBothWays(t *testing.T) {
	t.Parallel()
	connection, err := newDialer(t, forwardTo(listen(t))).Dial(t.Context(), "shop", "cache-0", 11211)
	if err != nil {
		t.Fatal(err)
	}
	reader := bufio.NewReader(connection)
	for _, want := range []string{"version\r\n", "stats\r\n"} {
		if _, err := io.WriteString(connection, want); err != nil {
			t.Fatal(err)
		}
		if got, err := reader.ReadString('\n'); got != want || err != nil {
			t.Errorf("it reads %q, %v, want %q", got, err, want)
		}
	}
	if err := connection.SetReadDeadline(time.Now()); err != nil {
		t.Fatal(err)
	}
	if _, err := reader.ReadString('\n'); !isTimeout(err) {
		t.Errorf("after the deadline the error is %v", err)
	}
	if err := connection.Close(); err != nil {
		t.Error(err)
	}
	if _, err := connection.Write([]byte("x")); err == nil {
		t.Error("a closed connection takes data")
	}
}

func isTimeout(err error) bool {
	timeout, ok := errors.AsType[net.Error](err)
	return ok && timeout.Timeout()
}

func TestDial_ReturnsTheKubeletsError(t *testing.T) {
	t.Parallel()
	// Nothing can listen on port 0.
	connection, err := newDialer(t, forwardTo("127.0.0.1:0")).Dial(t.Context(), "shop", "cache-0", 11211)
	if err != nil {
		t.Fatal(err)
	}
	defer connection.Close()
	if _, err := io.ReadAll(connection); err == nil || err.Error() != "connection refused" {
		t.Errorf("the error is %v", err)
	}
}

func TestDial_ReturnsTheAPIServersError(t *testing.T) {
	t.Parallel()
	forbidden := apierrors.NewForbidden(schema.GroupResource{Resource: "pods"}, "cache-0", errors.New("no permission")).Status()
	_, err := newDialer(t, func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(http.StatusForbidden)
		forbidden.APIVersion, forbidden.Kind = "v1", "Status"
		_ = json.NewEncoder(w).Encode(forbidden)
	}).Dial(t.Context(), "shop", "cache-0", 11211)
	if !apierrors.IsForbidden(err) {
		t.Errorf("the error is %T %v", err, err)
	}
	_, err = newDialer(t, func(w http.ResponseWriter, _ *http.Request) { http.Error(w, "bad gateway", http.StatusBadGateway) }).Dial(t.Context(), "shop", "cache-0", 11211)
	if err == nil || err.Error() != "unable to upgrade connection: bad gateway" {
		t.Errorf("the error is %v", err)
	}
}

func TestDial_EndsWithTheContext(t *testing.T) {
	t.Parallel()
	reached, release := make(chan struct{}), make(chan struct{})
	dialer := newDialer(t, func(_ http.ResponseWriter, _ *http.Request) {
		reached <- struct{}{}
		<-release
	})
	defer close(release)
	ctx, cancel := context.WithCancel(t.Context())
	go func() {
		<-reached
		cancel()
	}()
	if _, err := dialer.Dial(ctx, "shop", "cache-0", 11211); !errors.Is(err, context.Canceled) {
		t.Errorf("the error is %v", err)
	}
}
