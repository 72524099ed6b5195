// SPDX-License-Identifier: Apache-2.0

package memcached_test

import (
	"crypto/tls"
	"fmt"
	"testing"

	"github.com/example/memcached-operator/test/certificate"
	"github.com/example/memcached-operator/test/testenv"
)

// tlsSecret is a Secret with pair, and with what clients must be signed by.
func tlsSecret(pair certificate.Pair, clients ...certificate.Pair) secret {
	s := secret{"tls.crt": pair.Certificate, "tls.key": pair.Key}
	for _, client := range clients {
		s["ca.crt"] = append(s["ca.crt"], client.Certificate...)
	}
	return s
}

// trusting is a client that trusts server and shows the certificates of clients.
func trusting(t *testing.T, server certificate.Pair, clients ...certificate.Pair) *tls.Config {
	t.Helper()
	config := &tls.Config{RootCAs: server.Roots(), ServerName: "cache", MinVersion: tls.VersionTLS12}
	// Also one that the server does not ask for.
	config.GetClientCertificate = func(*tls.CertificateRequestInfo) (*tls.Certificate, error) {
		if len(clients) == 0 {
			return &tls.Certificate{}, nil
		}
		pair := clients[0].TLS(t)
		return &pair, nil
	}
	return config
}

// answers tells whether memcached speaks with a client: not all that it refuses shows in
// the handshake.
func answers(t *testing.T, port string, config *tls.Config) error {
	t.Helper()
	client, err := dial(t, port, config)
	if err != nil {
		return err
	}
	_, err = client.Version()
	return err
}

func TestTLS_IsServed(t *testing.T) {
	t.Parallel()
	server, known := certificate.New(t, "cache"), certificate.New(t)
	tests := map[string]struct {
		clientAuth              string
		mode                    string // OpenSSL's number, not memcached's
		takesNone, takesUnknown bool
	}{
		"certificates are not asked for": {clientAuth: "None", mode: "0", takesNone: true, takesUnknown: true},
		"certificates are asked for":     {clientAuth: "Request", mode: "1", takesNone: true},
		"certificates are required":      {clientAuth: "Require", mode: "3"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := start(t, given{
				spec:    fmt.Sprintf("tls: {secretName: pair, clientAuth: %s}", test.clientAuth),
				secrets: map[string]secret{"pair": tlsSecret(server, known)},
			})
			got, err := p.connect(t, trusting(t, server, known)).Stats("settings")
			testenv.NoError(t, err)
			if got["ssl_enabled"] != "yes" || got["ssl_verify_mode"] != test.mode {
				t.Errorf("memcached has ssl_enabled %s, ssl_verify_mode %s; want yes, %s", got["ssl_enabled"], got["ssl_verify_mode"], test.mode)
			}
			takes(t, p.port, server, known, test.takesNone, test.takesUnknown)
		})
	}
}

// takes fails unless port, which shows server and knows known, takes the right clients: whether those without a certificate and with one
// of an unknown authority are is told.
func takes(t *testing.T, port string, server, known certificate.Pair, takesNone, takesUnknown bool) {
	t.Helper()
	unknown := certificate.New(t)
	for _, client := range []struct {
		what   string
		config *tls.Config
		taken  bool
	}{
		{"without a certificate", trusting(t, server), takesNone},
		{"with a certificate", trusting(t, server, known), true},
		{"with a certificate of an unknown authority", trusting(t, server, unknown), takesUnknown},
		{"that trusts another server", trusting(t, unknown, known), false},
		{"without TLS", nil, false},
	} {
		if err := answers(t, port, client.config); (err == nil) != client.taken {
			t.Errorf("a client %s is taken: %v, want %v (%v)", client.what, err == nil, client.taken, err)
		}
	}
}

func TestTLS_PlaintextPort(t *testing.T) {
	t.Parallel()
	server, known := certificate.New(t, "cache"), certificate.New(t)
	for _, clientAuth := range []string{"None", "Require"} {
		t.Run(clientAuth, func(t *testing.T) {
			t.Parallel()
			plaintext := freePort(t)
			p := start(t, given{
				spec:    fmt.Sprintf("tls: {secretName: pair, clientAuth: %s, plaintextPort: %s}", clientAuth, plaintext),
				secrets: map[string]secret{"pair": tlsSecret(server, known)},
			})
			testenv.NoError(t, p.connect(t, trusting(t, server, known)).Set("key", "value"))
			client, err := dial(t, plaintext, nil)
			testenv.NoError(t, err)
			if value, err := client.Get("key"); err != nil || value != "value" {
				t.Errorf("the plain-text port shows %q, %v", value, err)
			}
			if answers(t, p.port, nil) == nil {
				t.Error("the port of TLS answers without TLS")
			}
			if answers(t, plaintext, trusting(t, server, known)) == nil {
				t.Error("the plain-text port answers with TLS")
			}
		})
	}
}
