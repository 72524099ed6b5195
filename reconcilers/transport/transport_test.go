// SPDX-License-Identifier: Apache-2.0

package transport

import (
	"cmp"
	"context"
	"encoding/pem"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"k8s.io/client-go/rest"
)

// server is the API server as the transport sees it.
type server struct {
	mu sync.Mutex
	// failures are what the next requests fail with.
	failures    []error
	status      int
	contentType string
	sent        []string
}

func (s *server) RoundTrip(request *http.Request) (*http.Response, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.sent = append(s.sent, request.Method+" "+request.URL.Path)
	if len(s.failures) > 0 {
		err := s.failures[0]
		s.failures = s.failures[1:]
		return nil, err
	}
	header := http.Header{"Content-Type": []string{cmp.Or(s.contentType, "application/json")}}
	return &http.Response{StatusCode: s.status, Header: header, Body: io.NopCloser(strings.NewReader("{}"))}, nil
}

// do sends a request through a transport to s.
func (s *server) do(t *testing.T, lease *Lease, method, path string) error {
	t.Helper()
	var content io.Reader
	if method != http.MethodGet {
		content = strings.NewReader("{}")
	}
	request, err := http.NewRequestWithContext(t.Context(), method, "https://server"+path, content)
	if err != nil {
		t.Fatal(err)
	}
	response, err := (&transport{s, lease, time.Millisecond, time.Minute}).RoundTrip(request)
	if err == nil {
		err = response.Body.Close()
	}
	return err
}

const (
	leases = "/apis/coordination.k8s.io/v1/namespaces/operator/leases"
	child  = "/apis/apps/v1/namespaces/a/deployments/b"
)

func TestTransport_WritesOnlyWithAFreshLease(t *testing.T) {
	t.Parallel()
	start := time.Now()
	for name, test := range map[string]struct {
		renewed []int // the statuses of the answers to renewals at the start
		after   time.Duration
		method  string
		path    string
		allowed bool
	}{
		"a fresh lease":                      {[]int{200}, 9 * time.Second, http.MethodPatch, child, true},
		"a lease that was made":              {[]int{201}, 9 * time.Second, http.MethodPatch, child, true},
		"a lease of the deadline's age":      {[]int{200}, 10 * time.Second, http.MethodPatch, child, false},
		"a lease that was never held":        {nil, 0, http.MethodDelete, child, false},
		"a renewal that was rejected":        {[]int{409}, 0, http.MethodPost, child, false},
		"a rejected renewal changes nothing": {[]int{200, 409}, 9 * time.Second, http.MethodPut, child, true},
		"reads need no lease":                {nil, 0, http.MethodGet, child, true},
		"the lease itself needs no lease":    {nil, 0, http.MethodPut, leases + "/x", true},
		"a review of permissions needs none": {nil, 0, http.MethodPost, "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews", true},
		"a review of a token needs none":     {nil, 0, http.MethodPost, "/apis/authentication.k8s.io/v1/tokenreviews", true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := &server{status: http.StatusOK}
			now := start
			lease := NewLease(10*time.Second, closed())
			lease.now = func() time.Time { return now }
			for _, status := range test.renewed {
				s.status = status
				if err := s.do(t, lease, http.MethodPut, leases+"/x"); err != nil {
					t.Fatal(err)
				}
			}
			s.sent, s.status = nil, http.StatusOK
			now = now.Add(test.after)
			err := s.do(t, lease, test.method, test.path)
			_, stale := errors.AsType[*StaleLeaseError](err)
			if stale == test.allowed || stale != (len(s.sent) == 0) || !stale && err != nil {
				t.Errorf("error %v, sent %v, want it sent: %v", err, s.sent, test.allowed)
			}
		})
	}
}

// The process may be stopped between the look at the lease and the moment when a request is sent.
func TestTransport_SendsNothingAfterTheLease(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		http2 bool
		// looks is how often the lease is looked at while it is fresh.
		looks int
		want  []string
	}{
		"HTTP/1.1, a fresh lease": {false, 100, []string{"GET HTTP/1.1", "PATCH HTTP/1.1 {}", "GET HTTP/1.1"}},
		"HTTP/1.1, a stale one":   {false, 1, []string{"GET HTTP/1.1", "GET HTTP/1.1"}},
		"HTTP/2, a fresh lease":   {true, 100, []string{"GET HTTP/2.0", "PATCH HTTP/2.0 {}", "GET HTTP/2.0"}},
		"HTTP/2, a stale one":     {true, 1, []string{"GET HTTP/2.0", "GET HTTP/2.0"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var mu sync.Mutex
			var got []string
			s := httptest.NewUnstartedServer(http.HandlerFunc(func(_ http.ResponseWriter, request *http.Request) {
				body, _ := io.ReadAll(request.Body)
				mu.Lock()
				defer mu.Unlock()
				got = append(got, strings.TrimSpace(request.Method+" "+request.Proto+" "+string(body)))
			}))
			s.EnableHTTP2 = test.http2
			s.StartTLS()
			lease := NewLease(10*time.Second, closed())
			start, looks := time.Now(), 0
			lease.renewed = start
			lease.now = func() time.Time {
				mu.Lock()
				defer mu.Unlock()
				if looks++; looks > test.looks {
					return start.Add(time.Minute)
				}
				return start
			}
			cfg := &rest.Config{Host: s.URL, TLSClientConfig: rest.TLSClientConfig{
				CAData: pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: s.Certificate().Raw}),
			}}
			Wrap(cfg, lease)
			client, err := rest.HTTPClientFor(cfg)
			if err != nil {
				t.Fatal(err)
			}
			send := func(method, body string) error {
				request, err := http.NewRequestWithContext(t.Context(), method, s.URL+child, strings.NewReader(body))
				if err != nil {
					t.Fatal(err)
				}
				if body == "" {
					request.Body = nil
				}
				response, err := client.Do(request)
				if err != nil {
					return err
				}
				_, _ = io.Copy(io.Discard, response.Body) // so that the connection is used again
				return response.Body.Close()
			}
			// The first one opens the connection; the last one works whatever became of it.
			if err := send(http.MethodGet, ""); err != nil {
				t.Error(err)
			}
			if err := send(http.MethodPatch, "{}"); IsNotSent(err) != (len(test.want) == 2) || !IsNotSent(err) && err != nil {
				t.Errorf("error %v", err)
			}
			if err := send(http.MethodGet, ""); err != nil {
				t.Error(err)
			}
			s.Close() // waits for the handler
			if !slices.Equal(got, test.want) {
				t.Errorf("the server got %q, want %q", got, test.want)
			}
		})
	}
}

// closed returns a closed channel.
func closed() <-chan struct{} {
	c := make(chan struct{})
	close(c)
	return c
}

func TestLease_IsNotWrittenBeforeReadiness(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := &server{status: http.StatusOK}
		ready := make(chan struct{})
		lease := NewLease(10*time.Second, ready)
		ctx, cancel := context.WithTimeout(t.Context(), 5*time.Second)
		defer cancel()
		transport := &transport{next: s, lease: lease, timeout: time.Minute}
		request := httptest.NewRequestWithContext(ctx, http.MethodPut, leases+"/x", nil)
		if _, err := transport.RoundTrip(request); !errors.Is(err, context.DeadlineExceeded) || len(s.sent) > 0 {
			t.Errorf("before: error %v, sent %v", err, s.sent)
		}
		time.AfterFunc(time.Second, func() { close(ready) })
		response, err := transport.RoundTrip(request.WithContext(t.Context()))
		if err != nil || len(s.sent) != 1 {
			t.Fatalf("once it is ready: error %v, sent %v", err, s.sent)
		}
		if err := response.Body.Close(); err != nil {
			t.Error(err)
		}
	})
}

func TestLease_AgesWhileTheMachineIsSuspended(t *testing.T) {
	t.Parallel()
	then := time.Now()
	// The date has gone on, the monotonic clock has not.
	now := then.Round(0).Add(time.Minute)
	if got := age(then, now); got != time.Minute {
		t.Errorf("age %s, want a minute", got)
	}
	// The date was set to an earlier one.
	if got := age(then, then.Add(5*time.Second)); got != 5*time.Second {
		t.Errorf("age %s, want 5 s", got)
	}
}

func TestTransport_ReadsWaitForTheServer(t *testing.T) {
	t.Parallel()
	refused := &net.OpError{Op: "dial", Err: syscall.ECONNREFUSED}
	reset := &net.OpError{Op: "read", Err: syscall.ECONNRESET}
	for name, test := range map[string]struct {
		method   string
		failures []error
		attempts int
		err      error
	}{
		"a read is sent until the server accepts connections": {http.MethodGet, []error{refused, refused}, 3, nil},
		"a write fails at once":                               {http.MethodPatch, []error{refused}, 1, refused},
		"a read is sent again when its connection broke":      {http.MethodGet, []error{reset, io.EOF}, 3, nil},
		"a write whose connection broke may have arrived":     {http.MethodPatch, []error{reset}, 1, reset},
		"any other error ends a read":                         {http.MethodGet, []error{io.ErrShortBuffer}, 1, io.ErrShortBuffer},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := &server{status: http.StatusOK, failures: test.failures}
			if err := s.do(t, nil, test.method, child); !errors.Is(err, test.err) {
				t.Errorf("error %v, want %v", err, test.err)
			}
			if len(s.sent) != test.attempts {
				t.Errorf("%d requests, want %d", len(s.sent), test.attempts)
			}
		})
	}
}

func TestTransport_ReadEndsWithItsContext(t *testing.T) {
	t.Parallel()
	refused := &net.OpError{Op: "dial", Err: syscall.ECONNREFUSED}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, "https://server"+child, http.NoBody)
	if err != nil {
		t.Fatal(err)
	}
	request.Body = nil
	s := &server{failures: []error{refused, refused, refused}}
	if _, err := (&transport{s, nil, time.Hour, time.Minute}).RoundTrip(request); !errors.Is(err, syscall.ECONNREFUSED) {
		t.Errorf("got %v", err)
	}
}

func TestLease_IsNotRenewedByAPage(t *testing.T) {
	t.Parallel()
	s := &server{status: http.StatusOK, contentType: "text/html; charset=utf-8"}
	lease := NewLease(10*time.Second, closed())
	if err := s.do(t, lease, http.MethodPut, leases+"/x"); err != nil {
		t.Fatal(err)
	}
	if _, stale := errors.AsType[*StaleLeaseError](s.do(t, lease, http.MethodPatch, child)); !stale {
		t.Error("a write was sent with a lease that an HTML page renewed")
	}
}

// The server sends headers, or does not, and then nothing more.
func TestTransport_Timeout(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		path   string
		answer bool
		ends   bool
	}{
		"a request without an answer":           {"/api/v1/pods", false, true},
		"a request whose answer does not end":   {"/api/v1/pods", true, true},
		"a watch without an answer":             {"/api/v1/pods?watch=true", false, true},
		"a watch that has an answer has no end": {"/api/v1/pods?watch=true", true, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			stop := make(chan struct{})
			server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				if test.answer {
					w.(http.Flusher).Flush()
				}
				select {
				case <-r.Context().Done():
				case <-stop:
				}
			}))
			t.Cleanup(server.Close)
			t.Cleanup(func() { close(stop) })
			request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, server.URL+test.path, http.NoBody)
			if err != nil {
				t.Fatal(err)
			}
			const timeout = 50 * time.Millisecond
			read := make(chan error, 1)
			go func() {
				response, err := (&transport{http.DefaultTransport, nil, time.Millisecond, timeout}).RoundTrip(request)
				if err == nil {
					_, err = io.ReadAll(response.Body)
					_ = response.Body.Close()
				}
				read <- err
			}()
			if !test.ends {
				select {
				case err := <-read:
					t.Errorf("the watch ended: %v", err)
				case <-time.After(10 * timeout):
				}
				return
			}
			if err := <-read; !errors.Is(err, context.DeadlineExceeded) {
				t.Errorf("error %v, want %v", err, context.DeadlineExceeded)
			}
		})
	}
}

func TestIsNotSent(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		err  error
		want bool
	}{
		"no error":               {nil, false},
		"no connection":          {fmt.Errorf("writing the status: %w", &url.Error{Op: "Patch", URL: "https://server", Err: &net.OpError{Op: "dial", Err: syscall.ECONNREFUSED}}), true},
		"an old lease":           {fmt.Errorf("writing the status: %w", &url.Error{Op: "Patch", URL: "https://server", Err: &StaleLeaseError{}}), true},
		"one of several errors":  {errors.Join(errors.New("another"), &StaleLeaseError{}), true},
		"a connection that ends": {&url.Error{Op: "Patch", URL: "https://server", Err: &net.OpError{Op: "read", Err: syscall.ECONNRESET}}, false},
		"no answer in time":      {context.DeadlineExceeded, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if got := IsNotSent(test.err); got != test.want {
				t.Errorf("IsNotSent(%v) is %v, want %v", test.err, got, test.want)
			}
		})
	}
}
