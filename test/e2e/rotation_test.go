// SPDX-License-Identifier: Apache-2.0

//go:build e2e

package e2e

import (
	"context"
	"slices"
	"strings"
	"testing"
	"time"

	cachev1alpha1 "github.com/example/memcached-operator/apis/v1alpha1"
	"github.com/example/memcached-operator/internal/memcached"
	"github.com/example/memcached-operator/test/certificate"
	"github.com/example/memcached-operator/test/e2e/cluster"
	"github.com/example/memcached-operator/test/testenv"
)

// TestTLS_RotationKeepsTheCache replaces a certificate and a password under caches that are in use. The kubelet
// brings Secrets to the pods when it looks at them the next time, within a minute or so.
func TestTLS_RotationKeepsTheCache(t *testing.T) {
	parallel(t)
	namespace := suite.NewNamespace(t)
	users := newUsers(t, namespace, "first")
	secret, first := newCertificate(t, namespace)
	const size = 2
	mc := suite.NewMemcached(t, namespace, "rotated", size, func(spec *cachev1alpha1.MemcachedSpec) {
		spec.TLS, spec.Auth = &cachev1alpha1.TLS{SecretName: cachev1alpha1.ObjectName(secret.Name)}, &cachev1alpha1.Auth{SecretName: cachev1alpha1.ObjectName(users.Name)}
	})
	access := func(pair certificate.Pair, password string) memcached.Access {
		return memcached.Access{TLS: trusting(pair), User: user, Password: password}
	}
	f := suite.FillBy(t, mc, access(first, "first"))

	second := certificate.New(t, cacheHost)
	secret.Data, users.Data = certificateData(second), usersData("second")
	testenv.NoError(t, suite.Client.Update(t.Context(), secret))
	testenv.NoError(t, suite.Client.Update(t.Context(), users))
	changed := time.Now()
	for _, pod := range f.Pods {
		testenv.Eventually(t, pod.Name+" shows the second certificate and takes the second password", func(context.Context) (bool, string, error) {
			client, err := suite.Dial(t, namespace, pod.Name, access(second, "second"))
			if err != nil {
				return false, "", err
			}
			if got, err := client.Get("kept"); got != pod.Name {
				t.Errorf("pod %s has %q for its key, %v", pod.Name, got, err)
			}
			return true, "", client.Close()
		})
		refuses(t, &pod, access(first, "second"), "certificate")
		refuses(t, &pod, access(second, "first"), "authentication failure")
	}
	t.Logf("rotated within %s", time.Since(changed).Round(100*time.Millisecond))
	f.WantKept(t, "the rotation")
	if lives := cluster.Lives(f.Pods); !strings.Contains(lives, "memcached restarted 0 times") {
		t.Errorf("the pods' lives are\n%s", lives)
	}
	readsNoSecrets(t)
}

// readsNoSecrets looks at what the operator may do, and at what it did.
func readsNoSecrets(t *testing.T) {
	t.Helper()
	ofSecrets := func(permission string) bool { return strings.Contains(permission, "secrets") }
	granted, err := suite.operator.Granted(t.Context())
	testenv.NoError(t, err)
	if len(granted) == 0 || slices.ContainsFunc(granted, ofSecrets) {
		t.Errorf("the operator may %q", granted)
	}
	requests := suite.operator.Requests(t)
	if len(requests) == 0 && suite.AuditLog != "" {
		t.Error("the audit log has no request of the operator")
	}
	for _, request := range requests {
		if ofSecrets(request.Permission) {
			t.Errorf("the operator asked for %s: %s", request.Permission, request.URI)
		}
	}
}
