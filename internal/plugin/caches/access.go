// SPDX-License-Identifier: Apache-2.0

package caches

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/client"

	cachev1alpha1 "github.com/example/memcached-operator/apis/v1alpha1"
	"github.com/example/memcached-operator/internal/memcached"
)

const (
	// authorityKey is the key of the authorities in the Secret of spec.tls.
	authorityKey = "ca.crt"
	// defaultUsersKey is the key of the users in the Secret of spec.auth unless it names another one.
	defaultUsersKey = "auth"

	// The fields that name Secrets.
	tlsField  = "spec.tls.secretName"
	authField = "spec.auth.secretName"
)

// Access returns what memcached requires of clients, by NewAccess. It reads the Secrets that the Memcached names with the
// permissions of the user.
func (c *Client) Access(ctx context.Context, mc *cachev1alpha1.Memcached) (access memcached.Access, err error) {
	var pair, users *corev1.Secret
	if spec := mc.Spec.TLS; spec != nil {
		if pair, err = c.secret(ctx, mc, string(spec.SecretName), tlsField, "connect to memcached by TLS"); err != nil {
			return access, err
		}
	}
	if spec := mc.Spec.Auth; spec != nil {
		if users, err = c.secret(ctx, mc, string(spec.SecretName), authField, "authenticate to memcached"); err != nil {
			return access, err
		}
	}
	return NewAccess(mc, pair, users)
}

// NewAccess returns what the memcacheds of mc require of clients: TLS, a certificate, and a user with a password. The
// Secrets are those of spec.tls and of spec.auth.
func NewAccess(mc *cachev1alpha1.Memcached, pair, users *corev1.Secret) (access memcached.Access, err error) {
	if spec := mc.Spec.TLS; spec != nil {
		if access.TLS, err = tlsConfig(pair, spec.ClientAuth); err != nil {
			return access, secretError(mc, pair.Name, tlsField, err)
		}
	}
	if spec := mc.Spec.Auth; spec != nil {
		key := defaultUsersKey
		if spec.Key != nil {
			key = *spec.Key
		}
		if access.User, access.Password, err = firstUser(users, key); err != nil {
			return access, secretError(mc, users.Name, authField, err)
		}
	}
	return access, nil
}

func (c *Client) secret(ctx context.Context, mc *cachev1alpha1.Memcached, name, field, purpose string) (*corev1.Secret, error) {
	secret := &corev1.Secret{}
	err := c.api.Get(ctx, client.ObjectKey{Namespace: mc.Namespace, Name: name}, secret)
	switch {
	case apierrors.IsNotFound(err):
		return nil, secretError(mc, name, field, errors.New("it does not exist"))
	case err != nil:
		return nil, c.explain(err, need{verb: "get", resource: "secrets", name: name, namespace: mc.Namespace, purpose: purpose})
	default:
		return secret, nil
	}
}

func secretError(mc *cachev1alpha1.Memcached, name, field string, err error) error {
	return fmt.Errorf("the Secret %s in namespace %s, %s of the Memcached %s: %w", name, mc.Namespace, field, mc.Name, err)
}

// tlsConfig returns a configuration that accepts the certificate in secret, and any that an authority in it signed. The
// name in a certificate is not compared: the connection comes from the API server, which names the pod, and certificates
// name Services. The client's certificate is the server's own, as the exporter's is.
func tlsConfig(secret *corev1.Secret, clientAuth *cachev1alpha1.ClientAuth) (*tls.Config, error) {
	trusted := x509.NewCertPool()
	if !trusted.AppendCertsFromPEM(secret.Data[corev1.TLSCertKey]) {
		return nil, fmt.Errorf("its key %s has no certificate", corev1.TLSCertKey)
	}
	trusted.AppendCertsFromPEM(secret.Data[authorityKey])
	config := &tls.Config{
		MinVersion: tls.VersionTLS12,
		// VerifyConnection verifies everything but the name.
		InsecureSkipVerify: true,
		VerifyConnection:   func(state tls.ConnectionState) error { return verify(state.PeerCertificates, trusted) },
	}
	if clientAuth == nil || *clientAuth == cachev1alpha1.ClientAuthNone {
		return config, nil
	}
	pair, err := tls.X509KeyPair(secret.Data[corev1.TLSCertKey], secret.Data[corev1.TLSPrivateKeyKey])
	if err != nil {
		return nil, err
	}
	config.Certificates = []tls.Certificate{pair}
	return config, nil
}

// verify returns an error unless the first of certificates is valid now and trusted, or signed by a trusted one.
func verify(certificates []*x509.Certificate, trusted *x509.CertPool) error {
	intermediates := x509.NewCertPool()
	for _, certificate := range certificates[1:] {
		intermediates.AddCert(certificate)
	}
	_, err := certificates[0].Verify(x509.VerifyOptions{Roots: trusted, Intermediates: intermediates})
	if _, unknown := errors.AsType[x509.UnknownAuthorityError](err); unknown {
		return errors.New("its certificate is not the one in the Secret, nor signed by ca.crt: after a change of the Secret, pods need up to two minutes")
	}
	return err
}

// firstUser returns the first user in a key of secret, which has one user:password per line. All users have the same rights.
func firstUser(secret *corev1.Secret, key string) (user, password string, err error) {
	content, found := secret.Data[key]
	if !found {
		return "", "", fmt.Errorf("it has no key %s", key)
	}
	if user, password, found = memcached.FirstUser(string(content)); !found {
		return "", "", fmt.Errorf("the first line of its key %s is not user:password", key)
	}
	return user, password, nil
}
