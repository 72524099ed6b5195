// SPDX-License-Identifier: Apache-2.0

package memcached

import (
	"bytes"
	"crypto/tls"
	"io"
	"net"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

// A server that is memcached is in test/memcached.
func TestOpen_RejectsWhatIsNotMemcached(t *testing.T) {
	t.Parallel()
	short := time.Second
	for sentence, test := range map[string]struct {
		answer io.Reader // nil answers nothing, and keeps the connection
		access Access
		want   string
	}{
		"a server that does not answer":                   {nil, Access{Timeout: short}, "memcached does not answer: read pipe: i/o timeout"},
		"a server that does not answer a TLS handshake":   {nil, Access{Timeout: short, TLS: &tls.Config{ServerName: "cache"}}, "TLS handshake: context deadline exceeded"},
		"a server that does not answer a login":           {nil, Access{Timeout: short, User: "alice"}, "authenticating as alice: memcached does not answer: read pipe: i/o timeout"},
		"a server that closes the connection":             {strings.NewReader(""), Access{}, "memcached does not answer: EOF"},
		"a web server":                                    {strings.NewReader("HTTP/1.1 400 Bad Request\r\n\r\n"), Access{}, `this is not memcached: it answers version with "HTTP/1.1 400 Bad Request"`},
		"a server that ends within a line":                {strings.NewReader("VERSION 1."), Access{}, "memcached does not answer: EOF"},
		"garbage":                                         {strings.NewReader("\x00\x01\xff\n"), Access{}, `this is not memcached: it answers version with "\x00\x01\xff"`},
		"a line without end":                              {bytes.NewReader(make([]byte, maxAnswer+1)), Access{}, "this is not memcached: its answer has more than 8388608 bytes"},
		"plain text where TLS is expected":                {strings.NewReader("ERROR\r\nERROR\r\n"), Access{TLS: &tls.Config{ServerName: "cache"}}, "TLS handshake: tls: first record does not look like a TLS handshake"},
		"a server that requires a password of a stranger": {strings.NewReader("CLIENT_ERROR unauthenticated\r\n"), Access{}, "memcached answers CLIENT_ERROR unauthenticated"},
		"a server that refuses the password":              {strings.NewReader("CLIENT_ERROR authentication failure\r\n"), Access{User: "alice"}, "authenticating as alice: memcached answers CLIENT_ERROR authentication failure"},
	} {
		t.Run(sentence, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				connection := serve(t, test.answer)
				_, err := Open(t.Context(), connection, test.access)
				if err == nil || err.Error() != test.want {
					t.Errorf("the error is %v, want %s", err, test.want)
				}
				if _, err := connection.Write([]byte("x")); err == nil {
					t.Error("the connection is still open")
				}
			})
		})
	}
}

// serve returns the client's end of a connection whose other end sends answer after the first request and closes.
func serve(t *testing.T, answer io.Reader) net.Conn {
	t.Helper()
	client, server := net.Pipe()
	t.Cleanup(func() { _, _ = client.Close(), server.Close() })
	go func() {
		if _, err := server.Read(make([]byte, 4096)); err != nil {
			return
		}
		drained := make(chan struct{})
		go func() {
			defer close(drained)
			_, _ = io.Copy(io.Discard, server)
		}()
		if answer == nil {
			<-drained
			return
		}
		_, _ = io.Copy(server, answer)
		_ = server.Close()
	}()
	return client
}

func TestClient_ReadsItems(t *testing.T) {
	t.Parallel()
	for answer, test := range map[string]struct{ size, failure string }{
		"ME key exp=-1 la=2 cas=2 fetch=no cls=1 size=63\r\n": {size: "63"},
		"EN\r\n":            {},
		"VALUE key 0 0\r\n": {failure: `memcached answers me key with "VALUE key 0 0"`},
		"ERROR\r\n":         {failure: "memcached answers ERROR"},
	} {
		item, err := NewClient(serve(t, strings.NewReader(answer))).Item("key")
		if item["size"] != test.size || (err != nil) != (test.failure != "") || err != nil && err.Error() != test.failure {
			t.Errorf("%q: %v, %v", answer, item, err)
		}
	}
}
