// SPDX-License-Identifier: Apache-2.0

package transport

import (
	"context"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"time"
)

// Lease tracks the leader election lease through the requests that renew it. It is safe for use by many
// goroutines.
type Lease struct {
	deadline time.Duration
	ready    <-chan struct{}
	lost     func(error)
	now      func() time.Time

	mu sync.Mutex
	// renewed is the time at which the last successful renewal was sent; zero when there was none.
	renewed time.Time
}

// StaleLeaseError reports that a write was rejected since the lease was not renewed in time, so that another
// replica may be the leader.
type StaleLeaseError struct {
	// Age is the time since the last renewal, and 0 when the lease was never held.
	Age, Deadline time.Duration
}

func (e *StaleLeaseError) Error() string {
	if e.Age == 0 {
		return "nothing is written: the leader election lease is not held"
	}
	return fmt.Sprintf("nothing is written: the leader election lease was renewed %s ago, which exceeds the renewal deadline of %s; another replica may be the leader",
		e.Age.Round(time.Second), e.Deadline)
}

// NewLease returns the Lease of an operator that writes no other lease. It delays the acquisition until ready is
// closed, so that a replica does not become the leader before it can reconcile. Writes are rejected until the
// lease is held, and when it is not renewed within deadline. Then lost is called with the reason at the next request for
// the lease, since client-go's leader election would ask for as long as deadline again.
func NewLease(deadline time.Duration, ready <-chan struct{}, lost func(error)) *Lease {
	return &Lease{deadline: deadline, ready: ready, lost: lost, now: time.Now}
}

// isFor reports whether request reads or writes the lease.
func (l *Lease) isFor(request *http.Request) bool {
	return strings.HasPrefix(request.URL.Path, "/apis/coordination.k8s.io/")
}

// renew sends request, which writes the lease, once the operator is ready, and records the time if it succeeds.
func (l *Lease) renew(request *http.Request, send func(*http.Request) (*http.Response, error)) (*http.Response, error) {
	select {
	case <-l.ready:
	case <-request.Context().Done():
		return nil, context.Cause(request.Context())
	}
	sent := l.now()
	response, err := send(request)
	if err == nil && response.StatusCode < http.StatusMultipleChoices && isObject(response) {
		l.mu.Lock()
		defer l.mu.Unlock()
		l.renewed = sent
	}
	return response, err
}

// checkRenewal returns a StaleLeaseError, and calls lost, if the lease was held and not renewed within the deadline. Such a lease is
// not written: client-go's leader election releases the lease that it could not renew, also if another replica holds it by
// then. Only the monotonic clock counts, by which the leader election gives up: after a suspension of the machine it
// goes on, and sees then whether another replica took the lease.
func (l *Lease) checkRenewal() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if age := l.now().Sub(l.renewed); !l.renewed.IsZero() && age >= l.deadline {
		err := &StaleLeaseError{age, l.deadline}
		l.lost(err)
		return err
	}
	return nil
}

// isObject reports whether response is the API server's. A proxy may respond with an HTML page.
func isObject(response *http.Response) bool {
	return strings.HasPrefix(response.Header.Get("Content-Type"), "application/")
}

// check returns a StaleLeaseError unless the lease was renewed within the deadline.
func (l *Lease) check() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.renewed.IsZero() {
		return &StaleLeaseError{Deadline: l.deadline}
	}
	if age := age(l.renewed, l.now()); age >= l.deadline {
		return &StaleLeaseError{age, l.deadline}
	}
	return nil
}

// age returns the time since then: the maximum of the monotonic clock, which continues while the process is
// stopped, and the wall clock, which continues while the machine is suspended.
func age(then, now time.Time) time.Duration {
	return max(now.Sub(then), now.Round(0).Sub(then.Round(0)))
}
