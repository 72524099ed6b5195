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
	// requestTimeout bounds the duration of a request, and of a watch the time until the response
	// header. The API server's own limit is a minute (--request-timeout).
	requestTimeout = 30 * time.Second
	// retryRead is the delay before a read that did not reach the API server is sent again. Informers
	// wait up to a minute between their own attempts.
	retryRead = time.Second
)

// Wrap adds the transport to cfg. lease may be nil, if writes need no lease.
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
	if t.lease != nil && t.lease.isFor(request) {
		if err := t.lease.checkRenewal(); err != nil {
			return nil, err
		}
	}
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

// read sends a request without a body, and retries until the API server responds or the request's context
// ends. Without the retries informers back off for so long that a change takes up to a minute to arrive once
// the API server can be reached again.
func (t *transport) read(request *http.Request) (*http.Response, error) {
	for {
		response, err := t.send(request)
		if err == nil || !isConnectionError(err) {
			return response, err
		}
		klog.Background().Info("Waiting for the API server", "error", err.Error())
		select {
		case <-request.Context().Done():
			return nil, err
		case <-time.After(t.retryRead):
		}
	}
}

// send sends request with a timeout, which for a watch ends with the response header.
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

// isRead reports whether request is a read that can be retried.
func isRead(request *http.Request) bool {
	return request.Method == http.MethodGet && request.Body == nil
}

// isReview reports whether request is a review, which is a POST that writes nothing.
func isReview(request *http.Request) bool {
	return strings.HasPrefix(request.URL.Path, "/apis/authorization.k8s.io/") ||
		strings.HasPrefix(request.URL.Path, "/apis/authentication.k8s.io/")
}

// IsNotSent reports whether err means that a write was not sent: the API server could not be reached, or the
// lease was not renewed in time.
func IsNotSent(err error) bool {
	_, stale := errors.AsType[*StaleLeaseError](err)
	return stale || isDialError(err)
}

// isConnectionError reports whether err means that no connection could be established, or that it was
// closed before the response: a load balancer accepts connections also without an API server behind it.
func isConnectionError(err error) bool {
	return isDialError(err) || utilnet.IsConnectionReset(err) || utilnet.IsProbableEOF(err) || utilnet.IsHTTP2ConnectionLost(err)
}

// isDialError reports whether err means that no connection could be established.
func isDialError(err error) bool {
	operation, ok := errors.AsType[*net.OpError](err)
	return ok && operation.Op == "dial"
}
