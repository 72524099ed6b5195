// SPDX-License-Identifier: Apache-2.0

package forward

import (
	"errors"
	"io"
	"net"
	"time"

	"k8s.io/streaming/pkg/httpstream"
)

// failureDelay is how long a connection that ended waits for what the kubelet says about it.
const failureDelay = time.Second

// Conn is a connection to a port of a pod. It embeds one end of a pipe, since streams have no deadlines.
type Conn struct {
	net.Conn
	tunnel  httpstream.Connection
	failure chan error
}

var _ net.Conn = (*Conn)(nil)

// start copies between the streams of tunnel and the returned connection until either ends.
func start(tunnel httpstream.Connection, data httpstream.Stream, failures io.Reader) *Conn {
	local, remote := net.Pipe()
	c := &Conn{Conn: local, tunnel: tunnel, failure: make(chan error, 1)}
	go func() { c.failure <- readFailure(failures) }()
	go func() {
		_, _ = io.Copy(remote, data)
		_ = remote.Close()
	}()
	go func() {
		_, _ = io.Copy(data, remote)
		_ = data.Reset()
	}()
	return c
}

// Read implements net.Conn. At the end of the connection it returns what the kubelet says, if anything.
func (c *Conn) Read(p []byte) (int, error) {
	n, err := c.Conn.Read(p)
	if !errors.Is(err, io.EOF) {
		return n, err
	}
	select {
	case failure := <-c.failure:
		c.failure <- failure
		if failure != nil {
			return n, failure
		}
	case <-time.After(failureDelay):
	}
	return n, err
}

// Close closes the connection and its tunnel.
func (c *Conn) Close() error { return errors.Join(c.Conn.Close(), c.tunnel.Close()) }
