// SPDX-License-Identifier: Apache-2.0

package exporter

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"os"
	"path/filepath"
	"sync"
	"sync/atomic"
	"time"

	"github.com/example/memcached-operator/internal/memcached"
)

// relay connects whoever connects to it with memcached, by TLS and as a user where memcached requires them. Certificate
// and users are read for each connection, so that they may be rotated.
type relay struct {
	options Options
	logger  *slog.Logger
	// tls and auth are set if memcached requires TLS and a user.
	tls, auth bool
	// expiry is when the certificate expires that memcached presented last, in seconds since 1970; 0 before it did.
	expiry atomic.Int64
}

// serve relays the connections that listener accepts until it is closed.
func (r *relay) serve(ctx context.Context, listener net.Listener) error {
	var group sync.WaitGroup
	defer group.Wait()
	for {
		client, err := listener.Accept()
		if errors.Is(err, net.ErrClosed) {
			return nil
		}
		if err != nil {
			return fmt.Errorf("accepting a connection of the relay: %w", err)
		}
		group.Go(func() {
			if err := r.relay(ctx, client); err != nil {
				r.logger.Error("Failed to connect to memcached", "address", r.options.Address, "err", err)
			}
		})
	}
}

// relay connects client with memcached until one of the two closes its connection or ctx ends. It closes both.
func (r *relay) relay(ctx context.Context, client net.Conn) error {
	defer func() { _ = client.Close() }()
	server, err := r.connect(ctx)
	if err != nil {
		return err
	}
	defer func() { _ = server.Close() }()
	stop := context.AfterFunc(ctx, func() { _, _ = client.Close(), server.Close() })
	defer stop()
	ended := make(chan struct{}, 2)
	relay := func(to, from net.Conn) {
		_, _ = io.Copy(to, from) // its error is the end of a connection
		ended <- struct{}{}
	}
	go relay(server, client)
	go relay(client, server)
	<-ended
	return nil
}

// connect returns a connection to memcached, secured and logged in.
func (r *relay) connect(ctx context.Context) (connection net.Conn, err error) {
	ctx, cancel := context.WithTimeout(ctx, r.options.Timeout)
	defer cancel()
	if connection, err = (&net.Dialer{}).DialContext(ctx, "tcp", r.options.Address); err != nil {
		return nil, err
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, connection.Close())
		}
	}()
	if r.tls {
		secured := tls.Client(connection, r.tlsConfig())
		if err := secured.HandshakeContext(ctx); err != nil {
			return connection, fmt.Errorf("TLS handshake: %w", err)
		}
		r.expiry.Store(secured.ConnectionState().PeerCertificates[0].NotAfter.Unix())
		connection = secured
	}
	if r.auth {
		users, err := os.ReadFile(r.options.AuthFile)
		if err != nil {
			return connection, fmt.Errorf("reading the users: %w", err)
		}
		user, password, ok := memcached.FirstUser(string(users))
		if !ok {
			return connection, fmt.Errorf("the first line of %s is not user:password", r.options.AuthFile)
		}
		if err := memcached.NewClient(connection).Login(user, password); err != nil {
			return connection, fmt.Errorf("authenticating as %s: %w", user, err)
		}
	}
	return connection, connection.SetDeadline(time.Time{})
}

// tlsConfig presents the server's own certificate, for clientAuth, and does not verify the server's: the connection stays
// within the pod.
func (r *relay) tlsConfig() *tls.Config {
	return &tls.Config{
		InsecureSkipVerify: true, //nolint:gosec // see above
		GetClientCertificate: func(*tls.CertificateRequestInfo) (*tls.Certificate, error) {
			pair, err := tls.LoadX509KeyPair(filepath.Join(r.options.TLSDir, "tls.crt"), filepath.Join(r.options.TLSDir, "tls.key"))
			return &pair, err
		},
	}
}
