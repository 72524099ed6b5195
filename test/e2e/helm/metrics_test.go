// SPDX-License-Identifier: Apache-2.0

//go:build e2e

package helm

import (
	"context"
	"crypto/tls"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/example/memcached-operator/test/certificate"
	"github.com/example/memcached-operator/test/e2e/cluster"
)

// metricsHost is whom the operator's certificate names.
const metricsHost = "metrics.example.com"

// TestMetrics_RequireClientCertificates has a release with Roles only serve its metrics, and changes both
// Secrets under way.
func TestMetrics_RequireClientCertificates(t *testing.T) {
	besideOthers(t, func(t *testing.T, h helm) {
		namespace := suite.NewNamespace(t)
		server, reader, stranger := certificate.New(t, metricsHost), certificate.New(t), certificate.New(t)
		own := secret(t, namespace, "own", corev1.SecretTypeTLS, pair(server))
		readers := secret(t, namespace, "readers", corev1.SecretTypeOpaque, authority(reader))
		r, _ := forSome(t, h, "metrics", []string{namespace}, "--set", "metrics.certificate.secretName="+own.Name, "--set", "metrics.clientCA.secretName="+readers.Name)
		pod := r.Settled(t)[0]

		wantRefused(t, &pod, server, nil)
		wantRefused(t, &pod, server, &stranger)
		wantRead(t, &pod, server, &reader)

		nextServer, nextReader := certificate.New(t, metricsHost), certificate.New(t)
		own.Data, readers.Data = pair(nextServer), authority(nextReader)
		cluster.Must(t, suite.Update(t.Context(), own))
		cluster.Must(t, suite.Update(t.Context(), readers))
		changed := time.Now()
		// The kubelet brings Secrets up to date when it looks at the pod the next time: within
		// a minute or so, or when the pod changes.
		suite.MergePatch(t, pod.DeepCopy(), `{"metadata":{"annotations":{"example.com/look":"now"}}}`)
		cluster.Eventually(t, "metrics are served with the next certificates", func(ctx context.Context) (bool, string, error) {
			status, answer := ask(ctx, t, &pod, nextServer, &nextReader)
			return status == http.StatusOK, answer, nil
		})
		t.Logf("served %s after the Secrets were changed", time.Since(changed).Round(100*time.Millisecond))
		wantRefused(t, &pod, nextServer, &reader)
		wantRefused(t, &pod, server, &nextReader)
		wantRead(t, &pod, nextServer, &nextReader)

		now := &corev1.Pod{}
		cluster.Must(t, suite.Get(t.Context(), client.ObjectKeyFromObject(&pod), now))
		if before, after := cluster.Lives([]corev1.Pod{pod}), cluster.Lives([]corev1.Pod{*now}); before != after {
			t.Errorf("before:\n%safter:\n%s", before, after)
		}
	})
}

func secret(t *testing.T, namespace, name string, kind corev1.SecretType, data map[string][]byte) *corev1.Secret {
	t.Helper()
	object := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name}, Type: kind, Data: data}
	cluster.Must(t, suite.Create(t.Context(), object))
	return object
}

func pair(of certificate.Pair) map[string][]byte {
	return map[string][]byte{corev1.TLSCertKey: of.Certificate, corev1.TLSPrivateKeyKey: of.Key}
}

func authority(of certificate.Pair) map[string][]byte {
	return map[string][]byte{"ca.crt": of.Certificate}
}

// wantRead fails unless a client that trusts server and shows reader's certificate reads metrics.
func wantRead(t *testing.T, pod *corev1.Pod, server certificate.Pair, reader *certificate.Pair) {
	t.Helper()
	if status, answer := ask(t.Context(), t, pod, server, reader); status != http.StatusOK || !strings.Contains(answer, "memcached_operator_") {
		t.Errorf("the answer to a reader is %d: %s", status, answer)
	}
}

// wantRefused fails unless such a client, which may have no certificate, gets no answer. Why it got none is
// often lost on the way: the server closes the connection while the client still writes.
func wantRefused(t *testing.T, pod *corev1.Pod, server certificate.Pair, reader *certificate.Pair) {
	t.Helper()
	if status, answer := ask(t.Context(), t, pod, server, reader); status != 0 {
		t.Errorf("the answer is %d, want none: %s", status, answer)
	}
}

// ask returns the HTTP status and the answer, or 0 and why there is none. It forwards a port each time: a
// connection that fails takes a forwarding along.
func ask(ctx context.Context, t *testing.T, pod *corev1.Pod, server certificate.Pair, reader *certificate.Pair) (status int, answer string) {
	t.Helper()
	config := &tls.Config{MinVersion: tls.VersionTLS12, RootCAs: server.Roots(), ServerName: metricsHost}
	if reader != nil {
		certificate := reader.TLS(t)
		// Shown to a server that asks for another authority's as well.
		config.GetClientCertificate = func(*tls.CertificateRequestInfo) (*tls.Certificate, error) { return &certificate, nil }
	}
	address := suite.Forward(t, pod.Namespace, pod.Name, cluster.MetricsPort)
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, fmt.Sprintf("https://%s/metrics", address), nil)
	cluster.Must(t, err)
	transport := &http.Transport{TLSClientConfig: config, DisableKeepAlives: true}
	response, err := (&http.Client{Transport: transport, Timeout: 10 * time.Second}).Do(request)
	if err != nil {
		return 0, err.Error()
	}
	defer response.Body.Close()
	content, err := io.ReadAll(response.Body)
	cluster.Must(t, err)
	return response.StatusCode, string(content)
}
