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

// Lease is what is known of the lease of the leader. It learns from the requests that renew
// it, and is safe for use by many goroutines.
type Lease struct {
	deadline time.Duration
	ready    <-chan struct{}
	now      func() time.Time

	mu sync.Mutex
	// renewed is when the last request was sent that renewed the lease; zero when none was.
	renewed time.Time
}

// StaleLeaseError reports that nothing is written since the lease was not renewed in time:
// another replica may lead.
type StaleLeaseError struct {
	// Age is how long ago the lease was renewed, and 0 when it was never held.
	Age, Deadline time.Duration
}

func (e *StaleLeaseError) Error() string {
	if e.Age == 0 {
		return "the lease is not held, so nothing is written"
	}
	return fmt.Sprintf("the lease was last renewed %s ago, which is more than the renewal deadline of %s: another replica may lead, so nothing is written",
		e.Age.Round(time.Second), e.Deadline)
}

// NewLease returns the Lease of an operator that writes no other lease. It is not written before
// ready is closed, so that no replica leads that could not reconcile yet. It has to be renewed within
// deadline; until it is held, nothing can be written.
func NewLease(deadline time.Duration, ready <-chan struct{}) *Lease {
	return &Lease{deadline: deadline, ready: ready, now: time.Now}
}

// isFor reports whether request writes the lease.
func (l *Lease) isFor(request *http.Request) bool {
	return strings.HasPrefix(request.URL.Path, "/apis/coordination.k8s.io/")
}

// renew sends request, which writes the lease, once the operator is ready, and notes when it was
// sent if it succeeds.
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

// isObject reports whether response is an API server's: what stands between may answer with a
// page of its own.
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

// age returns how long ago then was: the longer one of what the monotonic clock says, which
// counts while the process is stopped, and the date, which counts while the machine is.
func age(then, now time.Time) time.Duration {
	return max(now.Sub(then), now.Round(0).Sub(then.Round(0)))
}
