// SPDX-License-Identifier: Apache-2.0

//go:build e2e

package e2e

import (
	"crypto/tls"
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	cachev1alpha1 "github.com/example/memcached-operator/apis/v1alpha1"
	"github.com/example/memcached-operator/internal/memcached"
	"github.com/example/memcached-operator/test/certificate"
)

// cacheHost is the name that the caches' certificates are for.
const cacheHost = "cache.example.com"

// newCertificate makes a Secret with a certificate for cacheHost, and the authorities of clients: the
// certificate's own, as the exporter shows it, and that of others.
func newCertificate(t *testing.T, namespace string, others ...certificate.Pair) (*corev1.Secret, certificate.Pair) {
	t.Helper()
	pair := certificate.New(t, cacheHost)
	secret := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "certificate"}}
	secret.Data = certificateData(pair, others...)
	suite.Create(t, secret)
	return secret, pair
}

func certificateData(pair certificate.Pair, others ...certificate.Pair) map[string][]byte {
	authorities := slices.Clone(pair.Certificate)
	for _, other := range others {
		authorities = append(authorities, other.Certificate...)
	}
	return map[string][]byte{corev1.TLSCertKey: pair.Certificate, corev1.TLSPrivateKeyKey: pair.Key, "ca.crt": authorities}
}

// trusting is a client that trusts the certificate of pair alone, and so sees whether it is shown.
func trusting(pair certificate.Pair, shown ...tls.Certificate) *tls.Config {
	return &tls.Config{RootCAs: pair.Roots(), ServerName: cacheHost, Certificates: shown, MinVersion: tls.VersionTLS12}
}

// refuses wants that a pod's memcached refuses access, with one of want in what the client gets to see.
func refuses(t *testing.T, pod *corev1.Pod, access memcached.Access, want ...string) {
	t.Helper()
	switch _, err := suite.Dial(t, pod.Namespace, pod.Name, access); {
	case err == nil:
		t.Errorf("pod %s takes the client", pod.Name)
	case !slices.ContainsFunc(want, func(words string) bool { return strings.Contains(err.Error(), words) }):
		t.Errorf("pod %s refuses the client by %q, want one of %q", pod.Name, err, want)
	}
}

// user is the only user of the caches that require a password.
const user = "alice"

// newUsers makes a Secret that gives user a password.
func newUsers(t *testing.T, namespace, password string) *corev1.Secret {
	t.Helper()
	secret := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "users"}, Data: usersData(password)}
	suite.Create(t, secret)
	return secret
}

func usersData(password string) map[string][]byte {
	return map[string][]byte{"auth": []byte(user + ":" + password + "\n")}
}

// TestSecrets_MissingOneIsNamed names a Secret that does not exist: the kubelet says so in an event of the pod only.
func TestSecrets_MissingOneIsNamed(t *testing.T) {
	parallel(t)
	namespace := suite.NewNamespace(t)
	mc := suite.NewMemcached(t, namespace, "locked", 1, func(spec *cachev1alpha1.MemcachedSpec) {
		spec.Auth = &cachev1alpha1.Auth{SecretName: "users"}
	})
	suite.NotReady(t, mc, "it mounts Secret users with auth: create what is missing", cachev1alpha1.ReasonVolumesNotReady)
	newUsers(t, namespace, "password")
	suite.Ready(t, mc)
}
