// SPDX-License-Identifier: Apache-2.0

package transport

import (
	"context"
	"crypto/tls"
	"net"
	"net/http"
	"net/http/httptrace"
	"sync/atomic"
	"time"
)

// conn is a connection that sends nothing with a stale lease while a request that needs the lease is pending. Between
// the check in RoundTrip and the time when the request is sent, there may be a TLS handshake or another request, or
// the process may be stopped.
type conn struct {
	net.Conn
	lease *Lease
	// guarded is the number of pending requests that need the lease.
	guarded atomic.Int32
}

// Write implements net.Conn. It returns a StaleLeaseError when nothing may be sent.
func (c *conn) Write(b []byte) (int, error) {
	if c.guarded.Load() > 0 {
		if err := c.lease.check(); err != nil {
			return 0, err
		}
	}
	return c.Conn.Write(b)
}

// dial opens a connection for guard. The times are those of client-go.
func (l *Lease) dial(ctx context.Context, network, address string) (net.Conn, error) {
	dialed, err := (&net.Dialer{Timeout: 30 * time.Second, KeepAlive: 30 * time.Second}).DialContext(ctx, network, address)
	if err != nil {
		return nil, err
	}
	return &conn{Conn: dialed, lease: l}, nil
}

// guard returns request, which needs the lease, for a connection of dial. Call done after the response: only then
// all of the request is known to be sent.
func (l *Lease) guard(request *http.Request) (guarded *http.Request, done func()) {
	var current atomic.Pointer[conn]
	hold := func(c *conn) {
		if c != nil {
			c.guarded.Add(1)
		}
		if before := current.Swap(c); before != nil {
			before.guarded.Add(-1)
		}
	}
	trace := &httptrace.ClientTrace{GotConn: func(info httptrace.GotConnInfo) { hold(connOf(info.Conn)) }}
	return request.WithContext(httptrace.WithClientTrace(request.Context(), trace)), func() { hold(nil) }
}

// connOf returns the conn that c is, or that is below c's TLS, or nil.
func connOf(c net.Conn) *conn {
	if overTLS, ok := c.(*tls.Conn); ok {
		c = overTLS.NetConn()
	}
	guarded, _ := c.(*conn)
	return guarded
}
