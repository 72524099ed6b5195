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

// conn is a connection that sends nothing without the lease while a request that needs it is under
// way. Between the look at the lease in RoundTrip and the moment when the request is sent, there may be
// a handshake, a wait for another request, or a SIGSTOP.
type conn struct {
	net.Conn
	lease *Lease
	// guarded is how many requests that need the lease are under way.
	guarded atomic.Int32
}

// Write implements net.Conn. The error is a StaleLeaseError when nothing may be sent.
func (c *conn) Write(b []byte) (int, error) {
	if c.guarded.Load() > 0 {
		if err := c.lease.check(); err != nil {
			return 0, err
		}
	}
	return c.Conn.Write(b)
}

// dial makes connections to guard. The times are those of client-go.
func (l *Lease) dial(ctx context.Context, network, address string) (net.Conn, error) {
	dialed, err := (&net.Dialer{Timeout: 30 * time.Second, KeepAlive: 30 * time.Second}).DialContext(ctx, network, address)
	if err != nil {
		return nil, err
	}
	return &conn{Conn: dialed, lease: l}, nil
}

// guard returns request, which needs the lease, for a connection of dial. done is to be called when
// it is answered: only then it is certain that all of it was sent.
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

// connOf returns the conn that c is or that TLS is spoken over; nil when there is none.
func connOf(c net.Conn) *conn {
	if overTLS, ok := c.(*tls.Conn); ok {
		c = overTLS.NetConn()
	}
	guarded, _ := c.(*conn)
	return guarded
}
