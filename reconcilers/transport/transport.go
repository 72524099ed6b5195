// SPDX-License-Identifier: Apache-2.0

package transport

import (
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"strings"
	"time"

	utilnet "k8s.io/apimachinery/pkg/util/net"
	"k8s.io/client-go/rest"
	"k8s.io/klog/v2"
)

const (
	// requestTimeout is how long a request may take; of a watch, which has no end, until it is
	// answered. The API server's own limit is a minute (--request-timeout).
	requestTimeout = 30 * time.Second
	// retryRead is how soon a read is sent again that did not reach the API server. Informers
	// wait up to a minute between attempts of their own.
	retryRead = time.Second
)

// Wrap adds the package's transport to cfg. lease may be nil, which means that no lease is
// needed to write.
func Wrap(cfg *rest.Config, lease *Lease) {
	if lease != nil {
		cfg.Dial = lease.dial
	}
	cfg.Wrap(func(next http.RoundTripper) http.RoundTripper {
		return &transport{next: next, lease: lease, retryRead: retryRead, timeout: requestTimeout}
	})
}

// transport is the wrapped transport.
type transport struct {
	next      http.RoundTripper
	lease     *Lease
	retryRead time.Duration
	timeout   time.Duration
}

// RoundTrip implements http.RoundTripper.
func (t *transport) RoundTrip(request *http.Request) (*http.Response, error) {
	if isRead(request) {
		return t.read(request)
	}
	if t.lease != nil {
		if t.lease.isFor(request) {
			return t.lease.renew(request, t.send)
		}
		if !isReview(request) {
			if err := t.lease.check(); err != nil {
				return nil, err
			}
			guarded, done := t.lease.guard(request)
			defer done()
			request = guarded
		}
	}
	return t.send(request)
}

// read sends a request without a body until the API server answers it or the request's context
// ends. Without it, informers back off for so long that a change takes up to a minute to arrive
// once the API server is back: the longer, the more often it went away before.
func (t *transport) read(request *http.Request) (*http.Response, error) {
	for {
		response, err := t.send(request)
		if err == nil || !isConnectionError(err) {
			return response, err
		}
		klog.Background().Info("waiting for the API server", "why", err.Error())
		select {
		case <-request.Context().Done():
			return nil, err
		case <-time.After(t.retryRead):
		}
	}
}

// send sends request with a time-out, which for a watch ends with the answer's header.
func (t *transport) send(request *http.Request) (*http.Response, error) {
	ctx, cancel := context.WithCancelCause(request.Context())
	timer := time.AfterFunc(t.timeout, func() { cancel(context.DeadlineExceeded) })
	end := func() {
		timer.Stop()
		cancel(nil)
	}
	response, err := t.next.RoundTrip(request.WithContext(ctx))
	if err != nil {
		end()
		return nil, err
	}
	if request.URL.Query().Has("watch") {
		timer.Stop()
	}
	response.Body = &body{response.Body, end}
	return response, nil
}

// body calls end when it is closed.
type body struct {
	io.ReadCloser
	end func()
}

// Close implements io.Closer.
func (b *body) Close() error {
	defer b.end()
	return b.ReadCloser.Close()
}

func isRead(request *http.Request) bool {
	return request.Method == http.MethodGet && request.Body == nil
}

// isReview reports whether request asks for a permission, and writes nothing.
func isReview(request *http.Request) bool {
	return strings.HasPrefix(request.URL.Path, "/apis/authorization.k8s.io/") ||
		strings.HasPrefix(request.URL.Path, "/apis/authentication.k8s.io/")
}

// IsNotSent reports whether err says that a write was not sent: the API server could not be
// reached, or the lease was not renewed in time. It is then no fault of what was written.
func IsNotSent(err error) bool {
	_, stale := errors.AsType[*StaleLeaseError](err)
	return stale || isDialError(err)
}

// isConnectionError reports whether err says that there was no connection, or that it broke before
// the answer: a load balancer accepts connections also while no API server is behind it.
func isConnectionError(err error) bool {
	return isDialError(err) || utilnet.IsConnectionReset(err) || utilnet.IsProbableEOF(err) || utilnet.IsHTTP2ConnectionLost(err)
}

// isDialError reports whether err says that no connection could be made.
func isDialError(err error) bool {
	operation, ok := errors.AsType[*net.OpError](err)
	return ok && operation.Op == "dial"
}
