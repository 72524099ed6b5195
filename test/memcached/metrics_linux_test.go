// SPDX-License-Identifier: Apache-2.0

package memcached_test

import (
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
	pair := map[string]secret{"pair": tlsSecret(before, before)}
	tests := map[string]struct {
		tls string
	}{
		"serves without TLS":                            {},
		"serves with TLS":                               {"tls: {secretName: pair, clientAuth: None}"},
		"serves when client certificates are required":  {"tls: {secretName: pair, clientAuth: Require}"},
		"serves when client certificates are requested": {"tls: {secretName: pair, clientAuth: Request}"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			port := freePort(t)
			p := start(t, given{spec: fmt.Sprintf("metrics: {port: %s}\nmaxConnections: 500\n%s", port, test.tls), secrets: pair})
			p.eventually(t, "the exporter reaches memcached", func() error {
				return exports(t, port, "memcached_up 1", "memcached_max_connections 500", `memcached_limit_bytes 6\.7108864e\+07`)
			})
			if test.tls == "" {
				return
			}
			p.volumes["tls"].write(t, tlsSecret(after, after))
			p.eventually(t, "memcached shows the new certificate", func() error {
				return answers(t, p.port, trusting(t, after, after))
			})
			testenv.NoError(t, exports(t, port, "memcached_up 1"))
		})
	}
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
