// SPDX-License-Identifier: Apache-2.0

package operator

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"fmt"
	"math/big"
	"os"
	"time"

	metricsserver "sigs.k8s.io/controller-runtime/pkg/metrics/server"
)

// metricsOptions returns the options of the metrics server. It serves clients with a certificate of
// --metrics-client-ca-file, or else clients that the API server authenticates and authorizes.
func metricsOptions(o *options) (metricsserver.Options, error) {
	metrics := metricsserver.Options{BindAddress: o.metricsAddress, SecureServing: o.metricsSecure}
	if !o.metricsSecure {
		return metrics, nil
	}
	if o.metricsCertPath == "" {
		certificate, err := selfSigned()
		if err != nil {
			return metrics, fmt.Errorf("creating a certificate for the metrics endpoint: %w", err)
		}
		metrics.TLSOpts = append(metrics.TLSOpts, func(c *tls.Config) {
			c.GetCertificate = func(*tls.ClientHelloInfo) (*tls.Certificate, error) { return certificate, nil }
		})
	} else {
		metrics.CertDir = o.metricsCertPath
		metrics.CertName = o.metricsCertName
		metrics.KeyName = o.metricsCertKey
	}
	if !o.enableHTTP2 {
		metrics.TLSOpts = append(metrics.TLSOpts, func(c *tls.Config) { c.NextProtos = []string{"http/1.1"} })
	}
	if o.metricsClientCA != "" {
		metrics.TLSOpts = append(metrics.TLSOpts, func(c *tls.Config) { requireClientCertificate(c, o.metricsClientCA) })
	} else {
		metrics.FilterProvider = reviewed
	}
	return metrics, nil
}

// selfSigned returns a self-signed certificate, for clients that do not verify it. controller-runtime would
// generate one with an RSA key, which takes up to a second with the CPU limit of the operator's pod; this
// takes a millisecond.
func selfSigned() (*tls.Certificate, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, err
	}
	now := time.Now()
	template := x509.Certificate{
		SerialNumber: big.NewInt(now.UnixNano()),
		Subject:      pkix.Name{CommonName: "memcached-operator"},
		DNSNames:     []string{"localhost"},
		NotBefore:    now.Add(-time.Hour),   // clocks differ
		NotAfter:     now.AddDate(10, 0, 0), // longer than a process lives
		KeyUsage:     x509.KeyUsageDigitalSignature,
		ExtKeyUsage:  []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth},
	}
	certificate, err := x509.CreateCertificate(rand.Reader, &template, &template, key.Public(), key)
	if err != nil {
		return nil, err
	}
	return &tls.Certificate{Certificate: [][]byte{certificate}, PrivateKey: key}, nil
}

// requireClientCertificate requires client certificates that an authority in file signed. The file is read at
// each handshake, so that a change takes effect with the next one. All clients are rejected if it cannot be
// read.
func requireClientCertificate(server *tls.Config, file string) {
	server.GetConfigForClient = func(*tls.ClientHelloInfo) (*tls.Config, error) {
		authorities, err := readAuthorities(file)
		if err != nil {
			return nil, err
		}
		// Cloned at the handshake, since the server's certificate is set after this function.
		config := server.Clone()
		config.GetConfigForClient = nil
		config.ClientCAs = authorities
		config.ClientAuth = tls.RequireAndVerifyClientCert
		return config, nil
	}
}

// readAuthorities reads PEM-encoded certificates. The file must contain at least one.
func readAuthorities(file string) (*x509.CertPool, error) {
	content, err := os.ReadFile(file)
	if err != nil {
		return nil, err
	}
	authorities := x509.NewCertPool()
	if !authorities.AppendCertsFromPEM(content) {
		return nil, fmt.Errorf("%s contains no PEM-encoded certificate", file)
	}
	return authorities, nil
}
