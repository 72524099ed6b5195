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
	"github.com/example/memcached-operator/test/certificate"
	"github.com/example/memcached-operator/test/e2e/cluster"
)

const (
	// cacheHost is the name that the caches' certificates are for.
	cacheHost     = "cache.example.com"
	plaintextPort = 11212
)

// newCertificate makes a Secret with a certificate for cacheHost, and the authorities of clients: the
// certificate's own, as the exporter shows it, and that of others.
func newCertificate(t *testing.T, namespace string, others ...certificate.Pair) (*corev1.Secret, certificate.Pair) {
	t.Helper()
	pair := certificate.New(t, cacheHost)
	secret := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "certificate"}}
	secret.Data = certificateData(pair, others...)
	cluster.Must(t, suite.Create(t.Context(), secret))
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
func refuses(t *testing.T, pod *corev1.Pod, access cluster.Access, want ...string) {
	t.Helper()
	switch _, err := suite.Dial(t, pod.Namespace, pod.Name, access); {
	case err == nil:
		t.Errorf("pod %s takes the client", pod.Name)
	case !slices.ContainsFunc(want, func(words string) bool { return strings.Contains(err.Error(), words) }):
		t.Errorf("pod %s refuses the client by %q, want one of %q", pod.Name, err, want)
	}
}

func TestTLS_ServesPlaintextOnItsOwnPort(t *testing.T) {
	t.Parallel()
	namespace := suite.NewNamespace(t)
	secret, pair := newCertificate(t, namespace)
	suite.Ready(t, suite.NewMemcached(t, namespace, "secured", 1, func(spec *cachev1alpha1.MemcachedSpec) {
		spec.TLS = &cachev1alpha1.TLS{SecretName: cachev1alpha1.ObjectName(secret.Name), PlaintextPort: new(int32(plaintextPort))}
	}))
	pod := &suite.Pods(t, namespace, "secured")[0]
	suite.CacheBy(t, namespace, pod.Name, cluster.Access{TLS: trusting(pair)}).Set("key", "value")
	refuses(t, pod, cluster.Access{TLS: trusting(certificate.New(t, cacheHost))}, "certificate")
	refuses(t, pod, cluster.Access{}, "does not answer")
	if got := suite.Cache(t, namespace, pod.Name, plaintextPort).Get("key"); got != "value" {
		t.Errorf("in plain text the key is %q", got)
	}
	got := suite.Inside(t, namespace).Ask(t, "secured."+namespace+".svc", plaintextPort, "get key")
	if !slices.Contains(got, "value") {
		t.Errorf("within the cluster the plain-text port answers %q", got)
	}
}

func TestTLS_RequiresClientCertificates(t *testing.T) {
	t.Parallel()
	namespace := suite.NewNamespace(t)
	known, stranger := certificate.New(t, "client"), certificate.New(t, "client")
	secret, pair := newCertificate(t, namespace, known)
	access := func(shown ...tls.Certificate) cluster.Access { return cluster.Access{TLS: trusting(pair, shown...)} }
	refused := []string{"tls: ", "does not answer"}
	for clientAuth, takesNone := range map[cachev1alpha1.ClientAuth]bool{cachev1alpha1.ClientAuthRequest: true, cachev1alpha1.ClientAuthRequire: false} {
		name := strings.ToLower(string(clientAuth))
		mc := suite.NewMemcached(t, namespace, name, 1, func(spec *cachev1alpha1.MemcachedSpec) {
			spec.TLS = &cachev1alpha1.TLS{SecretName: cachev1alpha1.ObjectName(secret.Name), ClientAuth: &clientAuth}
		})
		t.Run(string(clientAuth), func(t *testing.T) {
			t.Parallel()
			suite.Ready(t, mc)
			pod := &suite.Pods(t, namespace, name)[0]
			suite.CacheBy(t, namespace, pod.Name, access(known.TLS(t))).Set("key", "value")
			// What Go sends to a server that names other authorities is no certificate at all.
			always := access()
			always.TLS.GetClientCertificate = func(*tls.CertificateRequestInfo) (*tls.Certificate, error) { return new(stranger.TLS(t)), nil }
			refuses(t, pod, always, refused...)
			if takesNone {
				suite.CacheBy(t, namespace, pod.Name, access()).Set("key", "value")
			} else {
				refuses(t, pod, access(), refused...)
			}
		})
	}
}
