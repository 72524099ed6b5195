// SPDX-License-Identifier: Apache-2.0

//go:build e2e

package cluster

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"io"
	"net/http"
	"strconv"
	"strings"
	"testing"

	authenticationv1 "k8s.io/api/authentication/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// MetricsPort is where the operator serves its metrics.
const MetricsPort = 8443

// Metrics asks a pod of the operator for its metrics, with a bearer token unless that is empty,
// and returns the HTTP status and the answer.
func (o *Operator) Metrics(t testing.TB, pod, token string) (status int, body string) {
	t.Helper()
	// Its certificate is its own unless it is given one.
	return o.metrics(t, pod, token, &tls.Config{InsecureSkipVerify: true})
}

// MetricsTrusting is Metrics for a client that trusts nobody but roots, and knows
// the operator as host.
func (o *Operator) MetricsTrusting(t testing.TB, pod, token string, roots *x509.CertPool, host string) (status int, body string) {
	t.Helper()
	return o.metrics(t, pod, token, &tls.Config{RootCAs: roots, ServerName: host})
}

func (o *Operator) metrics(t testing.TB, pod, token string, config *tls.Config) (status int, body string) {
	t.Helper()
	ctx := t.Context()
	config.MinVersion = tls.VersionTLS12
	transport := &http.Transport{TLSClientConfig: config, DisableKeepAlives: true}
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, "https://"+o.Forward(t, o.Namespace, pod, MetricsPort)+"/metrics", nil)
	Must(t, err)
	if token != "" {
		request.Header.Set("Authorization", "Bearer "+token)
	}
	response, err := (&http.Client{Transport: transport}).Do(request)
	if err != nil {
		return 0, err.Error()
	}
	defer response.Body.Close()
	content, err := io.ReadAll(response.Body)
	Must(t, err)
	return response.StatusCode, string(content)
}

// Token makes a service account in namespace and returns a token of it.
func (c *Cluster) Token(t testing.TB, namespace, name string) string {
	t.Helper()
	ctx := t.Context()
	account := &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name}}
	Must(t, c.Create(ctx, account))
	token, err := c.Clients.CoreV1().ServiceAccounts(namespace).CreateToken(ctx, name, &authenticationv1.TokenRequest{}, metav1.CreateOptions{})
	Must(t, err)
	return token.Status.Token
}

// Reader is a token of an account that may read the operator's metrics, by the ClusterRole role.
func (c *Cluster) Reader(t testing.TB, namespace, role string) string {
	t.Helper()
	binding := &rbacv1.ClusterRoleBinding{
		ObjectMeta: metav1.ObjectMeta{Name: namespace + "-reader"},
		RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: role},
		Subjects:   []rbacv1.Subject{{Kind: rbacv1.ServiceAccountKind, Namespace: namespace, Name: "reader"}},
	}
	Must(t, c.Create(t.Context(), binding))
	t.Cleanup(func() { Must(t, c.Delete(context.WithoutCancel(t.Context()), binding)) })
	return c.Token(t, namespace, "reader")
}

// Value is the sum of a metric's samples whose labels contain every one of labels, each as `name="value"`.
func Value(t testing.TB, metrics, name string, labels ...string) float64 {
	t.Helper()
	sum := 0.0
	for line := range strings.Lines(metrics) {
		series, value, _ := strings.Cut(strings.TrimSpace(line), " ")
		if bare, _, _ := strings.Cut(series, "{"); bare != name || !containsAll(series, labels) {
			continue
		}
		number, err := strconv.ParseFloat(value, 64)
		Must(t, err)
		sum += number
	}
	return sum
}

func containsAll(text string, parts []string) bool {
	for _, part := range parts {
		if !strings.Contains(text, part) {
			return false
		}
	}
	return true
}
