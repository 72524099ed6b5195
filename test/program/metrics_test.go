// SPDX-License-Identifier: Apache-2.0

package program

import (
	"crypto/tls"
	"crypto/x509"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"k8s.io/client-go/util/cert"
)

// ourMetrics are those that dashboards and alerts rest on.
var ourMetrics = []string{
	`memcached_operator_objects_total{action="created",kind="Deployment"} 1`,
	`memcached_operator_memcacheds{condition="Ready",status="True"} 1`,
	"memcached_operator_render_duration_seconds_count ",
	`controller_runtime_reconcile_total{controller="memcached",result="success"} `,
}

func TestServesPlainMetrics(t *testing.T) {
	t.Parallel()
	namespace, address := suite.newNamespace(t), freeAddress(t)
	startReady(t, namespace, "--metrics-bind-address="+address, "--metrics-secure=false")
	suite.settled(t, suite.newMemcached(t, namespace, "cache"))
	var body string
	eventually(t, "metrics should count the Memcached", func() bool {
		_, body = get(t, http.DefaultClient, "http://"+address+"/metrics", "")
		return strings.Contains(body, ourMetrics[1])
	})
	contains(t, body, ourMetrics...)
}

// trusting is a client that trusts roots, or anybody when there are none. It offers
// HTTP/2 and HTTP/1.1.
func trusting(roots *x509.CertPool) *http.Client {
	return &http.Client{Transport: &http.Transport{
		TLSClientConfig:   &tls.Config{RootCAs: roots, InsecureSkipVerify: roots == nil, MinVersion: tls.VersionTLS12},
		ForceAttemptHTTP2: true,
	}}
}

func TestGuardsMetrics(t *testing.T) {
	t.Parallel()
	stranger, _ := identity(t)
	reader, subject := identity(t)
	bind(t, subject, "", "memcached-operator-metrics-reader")
	address := freeAddress(t)
	startReady(t, suite.newNamespace(t), "--metrics-bind-address="+address)
	client, url := trusting(nil), "https://"+address+"/metrics"
	eventually(t, "metrics should be served", func() bool {
		status, _ := get(t, client, url, "")
		return status != 0
	})
	for sentence, test := range map[string]struct {
		token string
		want  int
	}{
		"anonymous":                   {"", http.StatusUnauthorized},
		"one who may not read them":   {stranger.BearerToken, http.StatusForbidden},
		"one who may":                 {reader.BearerToken, http.StatusOK},
		"the operator itself may not": {suite.operator.BearerToken, http.StatusForbidden},
	} {
		status, body := get(t, client, url, test.token)
		if status != test.want {
			t.Errorf("%s: the answer is %d, want %d: %s", sentence, status, test.want, body)
		}
		if got := strings.Contains(body, "memcached_operator"); got != (test.want == http.StatusOK) {
			t.Errorf("%s: the answer holds metrics: %t", sentence, got)
		}
	}
	if status, _ := get(t, client, url, "no-token-of-this-server"); status == http.StatusOK {
		t.Error("a token that is none is let through")
	}
	if status, _ := get(t, http.DefaultClient, "http://"+address+"/metrics", reader.BearerToken); status == http.StatusOK {
		t.Error("plain HTTP is served too")
	}
}

// protocol is the HTTP version of an answer from address.
func protocol(t *testing.T, client *http.Client, address string) string {
	t.Helper()
	var protocol string
	eventually(t, "metrics should be served", func() bool {
		request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "https://"+address+"/metrics", nil)
		fatal(t, err)
		response, err := client.Do(request)
		if err != nil {
			return false
		}
		protocol = response.Proto
		return response.Body.Close() == nil
	})
	return protocol
}

func TestMetricsUseTheGivenCertificate(t *testing.T) {
	t.Parallel()
	certificate, key, err := cert.GenerateSelfSignedCertKey("127.0.0.1", nil, nil)
	fatal(t, err)
	dir := t.TempDir()
	fatal(t, os.WriteFile(filepath.Join(dir, "tls.crt"), certificate, 0o600))
	fatal(t, os.WriteFile(filepath.Join(dir, "private.pem"), key, 0o600))
	roots := x509.NewCertPool()
	roots.AppendCertsFromPEM(certificate)
	address := freeAddress(t)
	startReady(t, suite.newNamespace(t), "--metrics-bind-address="+address, "--metrics-cert-path="+dir, "--metrics-cert-key=private.pem")
	if got := protocol(t, trusting(roots), address); got != "HTTP/1.1" {
		t.Errorf("metrics are served by %s, want HTTP/1.1", got)
	}
}

func TestMetricsSpeakHTTP2OnlyWhenAsked(t *testing.T) {
	t.Parallel()
	address := freeAddress(t)
	startReady(t, suite.newNamespace(t), "--metrics-bind-address="+address, "--enable-http2")
	if got := protocol(t, trusting(nil), address); got != "HTTP/2.0" {
		t.Errorf("with --enable-http2 metrics are served by %s", got)
	}
}
