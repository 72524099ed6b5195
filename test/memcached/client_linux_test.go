// SPDX-License-Identifier: Apache-2.0

package memcached_test

import (
	"crypto/tls"
	"net"
	"strings"
	"testing"

	"github.com/example/memcached-operator/internal/memcached"
	"github.com/example/memcached-operator/test/certificate"
	"github.com/example/memcached-operator/test/testenv"
)

func TestOpen_IsServedByMemcached(t *testing.T) {
	t.Parallel()
	server := certificate.New(t, "cache")
	secrets := map[string]secret{"users": {"auth": []byte("alice:one two\n")}, "pair": tlsSecret(server, server)}
	password := memcached.Access{User: "alice", Password: "one two"}
	secured := memcached.Access{TLS: trusting(t, server, server)}
	both := secured
	both.User, both.Password = password.User, password.Password
	for sentence, test := range map[string]struct {
		spec    string
		access  memcached.Access
		refused map[string]memcached.Access // by a part of the error
	}{
		"in plain text": {spec: "{}", refused: map[string]memcached.Access{"TLS handshake: ": secured}},
		"with a password": {
			spec: "auth: {secretName: users, key: auth}", access: password, refused: map[string]memcached.Access{
				"memcached answers CLIENT_ERROR unauthenticated":                                 {},
				"authenticating as alice: memcached answers CLIENT_ERROR authentication failure": {User: "alice", Password: "two"},
			},
		},
		"over TLS": {
			spec: "tls: {secretName: pair, clientAuth: None}", access: memcached.Access{TLS: trusting(t, server)}, refused: map[string]memcached.Access{
				"memcached does not answer: ":                      {},
				"TLS handshake: tls: failed to verify certificate": {TLS: &tls.Config{RootCAs: certificate.New(t).Roots(), ServerName: "cache", MinVersion: tls.VersionTLS12}},
			},
		},
		"over TLS with a certificate and a password": {
			spec: "{auth: {secretName: users, key: auth}, tls: {secretName: pair, clientAuth: Require}}", access: both, refused: map[string]memcached.Access{
				"memcached answers CLIENT_ERROR unauthenticated": secured,
			},
		},
	} {
		t.Run(sentence, func(t *testing.T) {
			t.Parallel()
			p := start(t, given{spec: test.spec, secrets: secrets})
			var client *memcached.Client
			p.eventually(t, "memcached answers", func() (err error) {
				client, err = open(t, p.port, test.access)
				return err
			})
			wantAnswers(t, client)
			for want, access := range test.refused {
				if _, err := open(t, p.port, access); err == nil || !strings.Contains(err.Error(), want) {
					t.Errorf("the error is %v, want %s", err, want)
				}
			}
		})
	}
}

// wantAnswers fails unless client stores an item, and shows it and the statistics.
func wantAnswers(t *testing.T, client *memcached.Client) {
	t.Helper()
	testenv.NoError(t, client.Set("key", "value"))
	item, err := client.Item("key")
	if testenv.NoError(t, err); item["size"] == "" {
		t.Errorf("the item is %v", item)
	}
	if item, err := client.Item("absent"); item != nil || err != nil {
		t.Errorf("an absent item is %v, %v", item, err)
	}
	stats, err := client.Stats()
	if testenv.NoError(t, err); stats["curr_items"] != "1" || stats["version"] == "" {
		t.Errorf("the statistics are %v", stats)
	}
	settings, err := client.Stats("settings")
	if testenv.NoError(t, err); settings["maxbytes"] != "67108864" {
		t.Errorf("the settings are %v", settings)
	}
}

// open returns a client of the memcached that listens on port.
func open(t *testing.T, port string, access memcached.Access) (*memcached.Client, error) {
	t.Helper()
	connection, err := (&net.Dialer{}).DialContext(t.Context(), "tcp", net.JoinHostPort("127.0.0.1", port))
	if err != nil {
		return nil, err
	}
	client, err := memcached.Open(t.Context(), connection, access)
	if err == nil {
		t.Cleanup(func() { _ = client.Close() })
	}
	return client, err
}
