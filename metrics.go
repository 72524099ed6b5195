// SPDX-License-Identifier: Apache-2.0

package main

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

// metricsOptions says how metrics are served, and to whom: to clients with a
// certificate of the given authority, or else to those whom the API server lets
// through.
func metricsOptions(o *options) (metricsserver.Options, error) {
	metrics := metricsserver.Options{BindAddress: o.metricsAddress, SecureServing: o.metricsSecure}
	if !o.metricsSecure {
		return metrics, nil
	}
	if o.metricsCertPath == "" {
		certificate, err := selfSigned()
		if err != nil {
			return metrics, fmt.Errorf("making a certificate for the metrics endpoint: %w", err)
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

// selfSigned is a certificate of the operator's own, for clients that do not look at
// it. controller-runtime would make one with an RSA key, which takes up to a second on
// the half a core that the operator's pod may use; this takes a millisecond.
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

// requireClientCertificate lets only clients of the authority in file through. The
// file is read at each handshake, a few a minute, so that an authority changed under
// way counts from the next one on. A file that has become unreadable lets nobody in.
func requireClientCertificate(server *tls.Config, file string) {
	server.GetConfigForClient = func(*tls.ClientHelloInfo) (*tls.Config, error) {
		authorities, err := readAuthorities(file)
		if err != nil {
			return nil, err
		}
		// Copied now, not at the start: the server's certificate is set after this
		// function was.
		config := server.Clone()
		config.GetConfigForClient = nil
		config.ClientCAs = authorities
		config.ClientAuth = tls.RequireAndVerifyClientCert
		return config, nil
	}
}

// readAuthorities reads PEM-encoded certificates, of which there must be one.
func readAuthorities(file string) (*x509.CertPool, error) {
	content, err := os.ReadFile(file)
	if err != nil {
		return nil, err
	}
	authorities := x509.NewCertPool()
	if !authorities.AppendCertsFromPEM(content) {
		return nil, fmt.Errorf("%s holds no PEM-encoded certificate", file)
	}
	return authorities, nil
}
