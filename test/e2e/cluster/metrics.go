// SPDX-License-Identifier: Apache-2.0

//go:build e2e

package cluster

import (
	"context"
	"crypto/tls"
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"testing"

	authenticationv1 "k8s.io/api/authentication/v1"
	authorizationv1 "k8s.io/api/authorization/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/example/memcached-operator/test/testenv"
)

// MetricsPort is where the operator serves its metrics.
const MetricsPort = 8443

// Metrics are those of a pod of the operator, read with the bearer token; it waits until they
// are served. [Operator.AskForMetrics] tells whether they are.
func (o *Operator) Metrics(t testing.TB, pod, token string) string {
	t.Helper()
	var body string
	Eventually(t, "pod "+pod+" serves its metrics", func(context.Context) (bool, string, error) {
		var status int
		status, body = o.AskForMetrics(t, pod, token, nil)
		return status == http.StatusOK, fmt.Sprintf("status %d: %s", status, body), nil
	})
	return body
}

// AskForMetrics asks a pod of the operator once for its metrics, with a bearer token unless that
// is empty. It returns the HTTP status and the answer, or 0 and the error where there is none.
// config says which servers it trusts; nil trusts any, since the operator's certificate is its own
// unless it is given one.
func (o *Operator) AskForMetrics(t testing.TB, pod, token string, config *tls.Config) (status int, body string) {
	t.Helper()
	if config == nil {
		config = &tls.Config{InsecureSkipVerify: true}
	}
	client := &http.Client{Transport: &http.Transport{TLSClientConfig: config, DisableKeepAlives: true}}
	return testenv.HTTPGet(t, client, "https://"+o.Forward(t, o.Namespace, pod, MetricsPort)+"/metrics", token)
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

// Reader is a token of an account that may read the operator's metrics, by the ClusterRole role. The
// API server knows of it by then.
func (c *Cluster) Reader(t testing.TB, namespace, role string) string {
	t.Helper()
	binding := &rbacv1.ClusterRoleBinding{
		ObjectMeta: metav1.ObjectMeta{Name: namespace + "-reader"},
		RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: role},
		Subjects:   []rbacv1.Subject{{Kind: rbacv1.ServiceAccountKind, Namespace: namespace, Name: "reader"}},
	}
	Must(t, c.Create(t.Context(), binding))
	t.Cleanup(func() { Must(t, c.Delete(context.WithoutCancel(t.Context()), binding)) })
	token := c.Token(t, namespace, "reader")
	Eventually(t, "the account reader in "+namespace+" may read metrics", func(ctx context.Context) (bool, string, error) {
		review, err := c.Clients.AuthorizationV1().SubjectAccessReviews().Create(ctx, &authorizationv1.SubjectAccessReview{
			Spec: authorizationv1.SubjectAccessReviewSpec{
				User:                  "system:serviceaccount:" + namespace + ":reader",
				NonResourceAttributes: &authorizationv1.NonResourceAttributes{Path: "/metrics", Verb: "get"},
			},
		}, metav1.CreateOptions{})
		if err != nil {
			return false, "", err
		}
		return review.Status.Allowed, review.Status.Reason, nil
	})
	return token
}

// Value is the sum of a metric's samples whose labels contain every one of labels, each as `name="value"`.
func Value(t testing.TB, metrics, name string, labels ...string) float64 {
	t.Helper()
	sum := 0.0
	for line := range strings.Lines(metrics) {
		series, value, _ := strings.Cut(strings.TrimSpace(line), " ")
		if bare, _, _ := strings.Cut(series, "{"); bare != name || !ContainsAll(series, labels) {
			continue
		}
		number, err := strconv.ParseFloat(value, 64)
		Must(t, err)
		sum += number
	}
	return sum
}

// ContainsAll reports whether text contains every one of parts.
func ContainsAll(text string, parts []string) bool {
	for _, part := range parts {
		if !strings.Contains(text, part) {
			return false
		}
	}
	return true
}
