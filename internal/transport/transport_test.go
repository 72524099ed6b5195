// SPDX-License-Identifier: Apache-2.0

package transport

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"syscall"
	"testing"
	"testing/synctest"
	"time"
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

func TestTransport_RejectsWritesWithStaleLease(t *testing.T) {
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
		"a renewal in time":                  {[]int{200}, 9 * time.Second, http.MethodPut, leases + "/x", true},
		"a release of a stale lease":         {[]int{200}, 10 * time.Second, http.MethodPut, leases + "/x", false},
		"a read of a stale lease":            {[]int{200}, 10 * time.Second, http.MethodGet, leases + "/x", false},
		"the lease itself needs no lease":    {nil, 0, http.MethodPut, leases + "/x", true},
		"a review of permissions needs none": {nil, 0, http.MethodPost, "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews", true},
		"a review of a token needs none":     {nil, 0, http.MethodPost, "/apis/authentication.k8s.io/v1/tokenreviews", true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := &server{status: http.StatusOK}
			now, lost := start, 0
			lease := NewLease(10*time.Second, closed(), func(error) { lost++ })
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
			if isLost := strings.HasPrefix(test.path, leases) && !test.allowed; isLost != (lost == 1) {
				t.Errorf("the lease was lost %d times", lost)
			}
		})
	}
}

func TestTransport_RetriesReadsUntilConnected(t *testing.T) {
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

func TestTransport_StopsRetryWithContext(t *testing.T) {
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

// silent is a server that sends headers, if it answers, and then nothing more.
type silent struct{ answers bool }

func (s silent) RoundTrip(request *http.Request) (*http.Response, error) {
	body, writer := io.Pipe()
	context.AfterFunc(request.Context(), func() { _ = writer.CloseWithError(context.Cause(request.Context())) })
	if s.answers {
		return &http.Response{StatusCode: http.StatusOK, Body: body}, nil
	}
	_, err := body.Read(make([]byte, 1))
	return nil, err
}

func TestTransport_TimesOutRequests(t *testing.T) {
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
			synctest.Test(t, func(t *testing.T) {
				ctx, cancel := context.WithTimeout(t.Context(), time.Hour)
				defer cancel()
				request, err := http.NewRequestWithContext(ctx, http.MethodGet, "https://server"+test.path, http.NoBody)
				if err != nil {
					t.Fatal(err)
				}
				const timeout = 30 * time.Second
				began := time.Now()
				response, err := (&transport{silent{test.answer}, nil, time.Second, timeout}).RoundTrip(request)
				if err == nil {
					_, err = io.ReadAll(response.Body)
					_ = response.Body.Close()
				}
				want := timeout
				if !test.ends {
					want = time.Hour
				}
				if took := time.Since(began); !errors.Is(err, context.DeadlineExceeded) || took != want {
					t.Errorf("error %v after %s, want %v after %s", err, took, context.DeadlineExceeded, want)
				}
			})
		})
	}
}

func TestIsNotSent_Errors(t *testing.T) {
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
