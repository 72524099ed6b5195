// SPDX-License-Identifier: Apache-2.0

//go:build e2e

package cluster

import (
	"context"
	"fmt"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/example/memcached-operator/test/certificate"
)

// Reviewed returns a Memcached without pods as YAML. Its patch adds a field to the Deployment.
func Reviewed(namespace, name, field string) string {
	return fmt.Sprintf(`
apiVersion: cache.example.com/v1alpha1
kind: Memcached
metadata: {namespace: %s, name: %s}
spec:
  size: 0
  patches: [{target: {kind: Deployment}, patch: "{spec: {template: {spec: {%s}}}}"}]
`, namespace, name, field)
}

// TryApply applies objects by kubectl and returns what it prints, warnings included, and its error.
func (c *Cluster) TryApply(ctx context.Context, objects string) (string, error) {
	return c.kubectl(ctx, objects, "apply", "--server-side", "--warnings-as-errors", "-f", "-")
}

// EventuallyReviewed waits until the webhook rejects a Memcached in namespace, whose patch adds an unknown field, with want in
// its message.
func (c *Cluster) EventuallyReviewed(t testing.TB, namespace, want string) {
	t.Helper()
	Eventually(t, "the webhook rejects a patch", func(ctx context.Context) (bool, string, error) {
		output, err := c.TryApply(ctx, Reviewed(namespace, "rejected", "nodeNames: a"))
		if err == nil {
			_, err = c.kubectl(ctx, "", "delete", "memcached", "--namespace="+namespace, "rejected")
			return false, output, err
		}
		return strings.Contains(err.Error(), "denied the request") && strings.Contains(err.Error(), want), err.Error(), nil
	})
}

// WantWarning fails unless kubectl prints want, a warning, when the number of threads of a Memcached changes.
func (c *Cluster) WantWarning(t testing.TB, namespace, name, want string) {
	t.Helper()
	_, err := c.kubectl(t.Context(), "", "patch", "memcached", "--namespace="+namespace, name, "--type=merge", "--warnings-as-errors", `--patch={"spec":{"threads":3}}`)
	if err == nil || !strings.Contains(err.Error(), "Warning: "+want) {
		t.Errorf("kubectl says %v, want the warning %s", err, want)
	}
}

// WebhookSecret creates a Secret with a certificate for a Service, and returns the certificate.
func (c *Cluster) WebhookSecret(t testing.TB, namespace, name, service string) string {
	t.Helper()
	pair := certificate.New(t, service+"."+namespace+".svc")
	secret := &corev1.Secret{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name},
		Type:       corev1.SecretTypeTLS,
		Data:       map[string][]byte{corev1.TLSCertKey: pair.Certificate, corev1.TLSPrivateKeyKey: pair.Key},
	}
	Must(t, c.Create(t.Context(), secret))
	return string(pair.Certificate)
}
