// SPDX-License-Identifier: Apache-2.0

package transport

import (
	"encoding/pem"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"k8s.io/client-go/rest"
)

var sendsNothingWithStaleLeaseTests = map[string]struct {
	http2 bool
	// checks is how often the lease is checked while it is fresh.
	checks int32
	want   []string
}{
	"HTTP/1.1, a fresh lease": {false, 100, []string{"GET HTTP/1.1", "PATCH HTTP/1.1 {}", "GET HTTP/1.1"}},
	"HTTP/1.1, a stale one":   {false, 1, []string{"GET HTTP/1.1", "GET HTTP/1.1"}},
	"HTTP/2, a fresh lease":   {true, 100, []string{"GET HTTP/2.0", "PATCH HTTP/2.0 {}", "GET HTTP/2.0"}},
	"HTTP/2, a stale one":     {true, 1, []string{"GET HTTP/2.0", "GET HTTP/2.0"}},
}

// recordingServer is a TLS server that records its requests.
type recordingServer struct {
	*httptest.Server
	mu       sync.Mutex
	requests []string
}

func newRecordingServer(http2 bool) *recordingServer {
	s := &recordingServer{}
	s.Server = httptest.NewUnstartedServer(http.HandlerFunc(func(_ http.ResponseWriter, request *http.Request) {
		body, _ := io.ReadAll(request.Body)
		s.mu.Lock()
		defer s.mu.Unlock()
		s.requests = append(s.requests, strings.TrimSpace(request.Method+" "+request.Proto+" "+string(body)))
	}))
	s.EnableHTTP2 = http2
	s.StartTLS()
	return s
}

// send sends a request by client.
func (s *recordingServer) send(t *testing.T, client *http.Client, method, body string) error {
	t.Helper()
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

// leaseFor returns a lease that is fresh for that many checks.
func leaseFor(checks int32) *Lease {
	lease := NewLease(10*time.Second, closed(), func(error) {})
	start, done := time.Now(), &atomic.Int32{}
	lease.renewed = start
	lease.now = func() time.Time {
		if done.Add(1) > checks {
			return start.Add(time.Minute)
		}
		return start
	}
	return lease
}

// The process may be stopped between the check of the lease and the time when the request is sent.
func TestTransport_SendsNothingWithStaleLease(t *testing.T) {
	t.Parallel()
	for name, test := range sendsNothingWithStaleLeaseTests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newRecordingServer(test.http2)
			cfg := &rest.Config{Host: s.URL, TLSClientConfig: rest.TLSClientConfig{
				CAData: pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: s.Certificate().Raw}),
			}}
			Wrap(cfg, leaseFor(test.checks))
			client, err := rest.HTTPClientFor(cfg)
			if err != nil {
				t.Fatal(err)
			}
			// The first request opens the connection; the last one succeeds in either case.
			if err := s.send(t, client, http.MethodGet, ""); err != nil {
				t.Error(err)
			}
			if err := s.send(t, client, http.MethodPatch, "{}"); IsNotSent(err) != (len(test.want) == 2) || !IsNotSent(err) && err != nil {
				t.Errorf("error %v", err)
			}
			if err := s.send(t, client, http.MethodGet, ""); err != nil {
				t.Error(err)
			}
			s.Close() // waits for the handler
			if !slices.Equal(s.requests, test.want) {
				t.Errorf("the server got %q, want %q", s.requests, test.want)
			}
		})
	}
}
