// SPDX-License-Identifier: Apache-2.0

package program_test

import (
	"crypto/tls"
	"crypto/x509"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/example/memcached-operator/test/certificate"
	"github.com/example/memcached-operator/test/testenv"
)

// ourMetrics are those that dashboards and alerts rest on.
var ourMetrics = []string{
	`memcached_operator_objects_total{action="created",kind="Deployment"} 1`,
	`memcached_operator_memcacheds{condition="Ready",status="True"} 1`,
	"memcached_operator_render_duration_seconds_count ",
	`controller_runtime_reconcile_total{controller="memcached",result="success"} `,
}

func TestMetrics_ServePlainHTTP(t *testing.T) {
	t.Parallel()
	namespace, address := suite.NewNamespace(t), testenv.FreeAddress(t)
	startReady(t, namespace, "--metrics-bind-address="+address, "--metrics-secure=false")
	settled(t, &suite, suite.NewMemcached(t, namespace, "cache", 0))
	var body string
	testenv.Eventually(t, "metrics should count the Memcached", func() bool {
		_, body = testenv.HTTPGet(t, http.DefaultClient, "http://"+address+"/metrics", "")
		return strings.Contains(body, ourMetrics[1])
	})
	contains(t, body, ourMetrics...)
}

// trusting is a client that trusts roots, or any server when there are none. It offers
// HTTP/2 and HTTP/1.1.
func trusting(roots *x509.CertPool) *http.Client {
	return &http.Client{Transport: &http.Transport{
		TLSClientConfig:   &tls.Config{RootCAs: roots, ServerName: "127.0.0.1", InsecureSkipVerify: roots == nil, MinVersion: tls.VersionTLS12},
		ForceAttemptHTTP2: true,
	}}
}

func TestMetrics_RequireAuthorization(t *testing.T) {
	t.Parallel()
	stranger, _ := identity(t)
	reader, subject := identity(t)
	bind(t, subject, "", "memcached-operator-metrics-reader")
	address := testenv.FreeAddress(t)
	p, _ := startReady(t, suite.NewNamespace(t), "--metrics-bind-address="+address)
	client, url := trusting(nil), "https://"+address+"/metrics"
	testenv.Eventually(t, "metrics should be served", func() bool {
		status, _ := testenv.HTTPGet(t, client, url, "")
		return status != 0
	})
	for sentence, test := range map[string]struct {
		token string
		want  int
	}{
		"rejects a request without a token":      {"", http.StatusUnauthorized},
		"forbids a token without the permission": {stranger.BearerToken, http.StatusForbidden},
		"serves a token with the permission":     {reader.BearerToken, http.StatusOK},
		"forbids the operator's own token":       {suite.Operator.BearerToken, http.StatusForbidden},
		"rejects a token of another server":      {"no-token-of-this-server", http.StatusUnauthorized},
		"rejects a token that is no JWT":         {"a.b.c", http.StatusUnauthorized},
		"rejects a token with a wrong signature": {reader.BearerToken + "x", http.StatusUnauthorized},
		"rejects a token of 100,000 bytes":       {strings.Repeat("x", 100_000), http.StatusUnauthorized},
	} {
		status, body := testenv.HTTPGet(t, client, url, test.token)
		if status != test.want {
			t.Errorf("%s: the answer is %d, want %d: %s", sentence, status, test.want, body)
		}
		if got := strings.Contains(body, "memcached_operator"); got != (test.want == http.StatusOK) {
			t.Errorf("%s: the answer holds metrics: %t", sentence, got)
		}
	}
	if errors := p.Log.Errors(); len(errors) > 0 {
		t.Errorf("requests that are turned away are logged as errors: %q", errors)
	}
	if status, _ := testenv.HTTPGet(t, http.DefaultClient, "http://"+address+"/metrics", reader.BearerToken); status == http.StatusOK {
		t.Error("plain HTTP is served too")
	}
}

// protocol is the HTTP version of an answer from address.
func protocol(t *testing.T, client *http.Client, address string) string {
	t.Helper()
	var protocol string
	testenv.Eventually(t, "metrics should be served", func() bool {
		request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "https://"+address+"/metrics", nil)
		testenv.NoError(t, err)
		response, err := client.Do(request)
		if err != nil {
			return false
		}
		protocol = response.Proto
		return response.Body.Close() == nil
	})
	return protocol
}

func TestMetrics_UseTheGivenCertificate(t *testing.T) {
	t.Parallel()
	dir, pair := t.TempDir(), certificate.New(t, "127.0.0.1")
	testenv.NoError(t, os.WriteFile(filepath.Join(dir, "tls.crt"), pair.Certificate, 0o600))
	testenv.NoError(t, os.WriteFile(filepath.Join(dir, "private.pem"), pair.Key, 0o600))
	address := testenv.FreeAddress(t)
	startReady(t, suite.NewNamespace(t), "--metrics-bind-address="+address, "--metrics-cert-path="+dir, "--metrics-cert-key=private.pem")
	if got := protocol(t, trusting(pair.Roots()), address); got != "HTTP/1.1" {
		t.Errorf("metrics are served by %s, want HTTP/1.1", got)
	}
}

func TestMetrics_ServeHTTP2OnlyWithFlag(t *testing.T) {
	t.Parallel()
	address := testenv.FreeAddress(t)
	startReady(t, suite.NewNamespace(t), "--metrics-bind-address="+address, "--enable-http2")
	if got := protocol(t, trusting(nil), address); got != "HTTP/2.0" {
		t.Errorf("with --enable-http2 metrics are served by %s", got)
	}
}

// showing is a client that trusts server and shows own as its certificate. It keeps no
// connection, so that every request is a handshake.
func showing(t *testing.T, own, server certificate.Pair) *http.Client {
	t.Helper()
	return &http.Client{Transport: &http.Transport{
		TLSClientConfig:   &tls.Config{RootCAs: server.Roots(), ServerName: "127.0.0.1", Certificates: []tls.Certificate{own.TLS(t)}, MinVersion: tls.VersionTLS12},
		DisableKeepAlives: true,
	}}
}

// mount writes a pair into dir as the files of a mounted Secret.
func mount(t *testing.T, dir string, pair certificate.Pair) {
	t.Helper()
	testenv.NoError(t, os.WriteFile(filepath.Join(dir, "tls.crt"), pair.Certificate, 0o600))
	testenv.NoError(t, os.WriteFile(filepath.Join(dir, "tls.key"), pair.Key, 0o600))
}

func TestMetrics_RequireClientCertificates(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	server, scraper, stranger := certificate.New(t, "127.0.0.1"), certificate.New(t), certificate.New(t)
	mount(t, dir, server)
	authority := filepath.Join(dir, "ca.crt")
	testenv.NoError(t, os.WriteFile(authority, scraper.Certificate, 0o600))
	address := testenv.FreeAddress(t)
	url := "https://" + address + "/metrics"
	startReady(t, suite.NewNamespace(t), "--metrics-bind-address="+address, "--metrics-cert-path="+dir, "--metrics-client-ca-file="+authority)
	served := func(client *http.Client) func() bool {
		return func() bool {
			status, body := testenv.HTTPGet(t, client, url, "")
			return status == http.StatusOK && strings.Contains(body, "memcached_operator")
		}
	}
	testenv.Eventually(t, "metrics should be served to whom the authority signed", served(showing(t, scraper, server)))
	reader, subject := identity(t)
	bind(t, subject, "", "memcached-operator-metrics-reader")
	for sentence, client := range map[string]*http.Client{"without a certificate": trusting(server.Roots()), "with a certificate of another authority": showing(t, stranger, server)} {
		if status, _ := testenv.HTTPGet(t, client, url, reader.BearerToken); status != 0 {
			t.Errorf("%s, and a token: the answer is %d, want none", sentence, status)
		}
	}

	// Both files change under the running operator, as those of a mounted Secret do.
	testenv.NoError(t, os.WriteFile(authority, stranger.Certificate, 0o600))
	if !served(showing(t, stranger, server))() {
		t.Error("an authority changed under way does not count")
	}
	if served(showing(t, scraper, server))() {
		t.Error("an authority taken away still counts")
	}
	next := certificate.New(t, "127.0.0.1")
	mount(t, dir, next)
	testenv.Eventually(t, "the server's new certificate should be used", served(showing(t, stranger, next)))
	testenv.NoError(t, os.WriteFile(authority, nil, 0o600))
	if served(showing(t, stranger, next))() {
		t.Error("an authority that has become unreadable lets clients in")
	}
}
