// SPDX-License-Identifier: Apache-2.0

package memcached

import (
	"cmp"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"strings"
	"time"
)

// Access is what a client needs to be served.
type Access struct {
	// TLS is the configuration of TLS; nil is plain text.
	TLS *tls.Config
	// User authenticates with Password, unless it is empty.
	User, Password string
	// Timeout is how long the handshake and each answer may take; 0 is DefaultTimeout.
	Timeout time.Duration
}

// Open returns a client of the memcached at the other end of connection, after one answer of it: a server that
// requires a certificate of the client refuses it only after the handshake. It closes the connection when it fails.
func Open(ctx context.Context, connection net.Conn, access Access) (*Client, error) {
	client, err := open(ctx, connection, access)
	if err != nil {
		return nil, errors.Join(err, connection.Close())
	}
	return client, nil
}

func open(ctx context.Context, connection net.Conn, access Access) (*Client, error) {
	timeout := cmp.Or(access.Timeout, DefaultTimeout)
	if access.TLS != nil {
		secured := tls.Client(connection, access.TLS)
		ctx, cancel := context.WithTimeout(ctx, timeout)
		defer cancel()
		if err := secured.HandshakeContext(ctx); err != nil {
			return nil, fmt.Errorf("TLS handshake: %w", err)
		}
		connection = secured
	}
	client := NewClient(connection)
	client.timeout = timeout
	if access.User != "" {
		if err := client.Login(access.User, access.Password); err != nil {
			return nil, fmt.Errorf("authenticating as %s: %w", access.User, err)
		}
	}
	_, err := client.Version()
	return client, err
}

// FirstUser returns the first user of a file of memcached's option auth_file, which has one user:password per line, and whether
// its first line is one. All users have the same rights.
func FirstUser(file string) (user, password string, ok bool) {
	line, _, _ := strings.Cut(file, "\n")
	user, password, found := strings.Cut(strings.TrimSuffix(line, "\r"), ":")
	if !found || user == "" {
		return "", "", false
	}
	return user, password, true
}
