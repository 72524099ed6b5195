// SPDX-License-Identifier: Apache-2.0

package transport

import (
	"context"
	"errors"
	"net/http"
	"net/http/httptest"
	"testing"
	"testing/synctest"
	"time"
)

// closed returns a closed channel.
func closed() <-chan struct{} {
	c := make(chan struct{})
	close(c)
	return c
}

func TestLease_WaitsForReadiness(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := &server{status: http.StatusOK}
		ready := make(chan struct{})
		lease := NewLease(10*time.Second, ready, func(error) {})
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

func TestLease_AgesDuringSuspend(t *testing.T) {
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

func TestLease_IgnoresResponseOfProxy(t *testing.T) {
	t.Parallel()
	s := &server{status: http.StatusOK, contentType: "text/html; charset=utf-8"}
	lease := NewLease(10*time.Second, closed(), func(error) {})
	if err := s.do(t, lease, http.MethodPut, leases+"/x"); err != nil {
		t.Fatal(err)
	}
	if _, stale := errors.AsType[*StaleLeaseError](s.do(t, lease, http.MethodPatch, child)); !stale {
		t.Error("a write was sent with a lease that an HTML page renewed")
	}
}
