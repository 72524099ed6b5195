// SPDX-License-Identifier: Apache-2.0

package memcached_test

import (
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"fmt"
	"net/http"
	"regexp"
	"testing"

	"github.com/example/memcached-operator/test/certificate"
	"github.com/example/memcached-operator/test/testenv"
)

func TestMetrics_AreServed(t *testing.T) {
	t.Parallel()
	before, after := certificate.New(t, "cache"), certificate.New(t, "cache")
	// The exporter shows the server's certificate as its own.
	secrets := map[string]secret{"pair": tlsSecret(before, before), "users": {"auth": []byte("alice:one\n")}}
	const users = "auth: {secretName: users, key: auth}"
	tests := map[string]struct {
		tls, auth string
	}{
		"serves without TLS":                            {},
		"serves with TLS":                               {tls: "tls: {secretName: pair, clientAuth: None}"},
		"serves when client certificates are required":  {tls: "tls: {secretName: pair, clientAuth: Require}"},
		"serves when client certificates are requested": {tls: "tls: {secretName: pair, clientAuth: Request}"},
		"serves with users":                             {auth: users},
		"serves with users and TLS":                     {"tls: {secretName: pair, clientAuth: Require}", users},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			port := freePort(t)
			p := start(t, given{spec: fmt.Sprintf("metrics: {port: %s}\nmaxConnections: 500\n%s\n%s", port, test.tls, test.auth), secrets: secrets})
			p.eventually(t, "the exporter reaches memcached", func() error {
				return exports(t, port, "memcached_up 1", "memcached_max_connections 500", `memcached_limit_bytes 6\.7108864e\+07`)
			})
			want := []string{"memcached_up 1"}
			var client *tls.Config
			if test.tls != "" {
				testenv.NoError(t, exports(t, port, expiryOf(t, before)))
				p.volumes["tls"].write(t, tlsSecret(after, after))
				client = trusting(t, after, after)
				want = append(want, expiryOf(t, after))
			}
			if test.auth != "" {
				p.volumes["auth"].write(t, secret{"auth": []byte("bob:two\n")})
			}
			p.eventually(t, "memcached has what is rotated", func() error {
				c, err := dial(t, p.port, client)
				if err == nil && test.auth != "" {
					err = c.Login("bob", "two")
				}
				if err == nil {
					_, err = c.Version()
				}
				return err
			})
			p.eventually(t, "the exporter has it too", func() error { return exports(t, port, want...) })
		})
	}
}

// expiryOf returns the pattern of the metric of the certificate of pair.
func expiryOf(t *testing.T, pair certificate.Pair) string {
	t.Helper()
	block, _ := pem.Decode(pair.Certificate)
	parsed, err := x509.ParseCertificate(block.Bytes)
	testenv.NoError(t, err)
	return regexp.QuoteMeta(fmt.Sprintf("memcached_certificate_expiry_timestamp_seconds %v", float64(parsed.NotAfter.Unix())))
}

// exports tells whether the exporter shows lines that match the patterns.
func exports(t *testing.T, port string, patterns ...string) error {
	t.Helper()
	_, text := testenv.HTTPGet(t, http.DefaultClient, "http://127.0.0.1:"+port+"/metrics", "")
	for _, pattern := range patterns {
		if !regexp.MustCompile(`(?m)^` + pattern + `$`).MatchString(text) {
			return fmt.Errorf("the exporter does not show %s", pattern)
		}
	}
	return nil
}
