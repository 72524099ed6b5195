// SPDX-License-Identifier: Apache-2.0

package memcached_test

import (
	"fmt"
	"io"
	"net/http"
	"regexp"
	"testing"

	"github.com/example/memcached-operator/test/certificate"
)

func TestMetrics(t *testing.T) {
	t.Parallel()
	before, after := certificate.New(t, "cache"), certificate.New(t, "cache")
	// The exporter shows the server's certificate as its own.
	pair := map[string]secret{"pair": tlsSecret(before, before)}
	tests := map[string]struct {
		tls string
	}{
		"without TLS":                         {},
		"with TLS":                            {"tls: {secretName: pair, clientAuth: None}"},
		"with certificates of clients":        {"tls: {secretName: pair, clientAuth: Require}"},
		"with certificates of clients, asked": {"tls: {secretName: pair, clientAuth: Request}"},
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
			must(t, exports(t, port, "memcached_up 1"))
		})
	}
}

// exports tells whether the exporter shows lines that match the patterns.
func exports(t *testing.T, port string, patterns ...string) error {
	t.Helper()
	request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "http://127.0.0.1:"+port+"/metrics", http.NoBody)
	if err != nil {
		return err
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return err
	}
	defer response.Body.Close()
	text, err := io.ReadAll(response.Body)
	if err != nil {
		return err
	}
	for _, pattern := range patterns {
		if !regexp.MustCompile(`(?m)^` + pattern + `$`).Match(text) {
			return fmt.Errorf("the exporter does not show %s", pattern)
		}
	}
	return nil
}
