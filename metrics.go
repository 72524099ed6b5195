// SPDX-License-Identifier: Apache-2.0

package main

import (
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"os"

	"sigs.k8s.io/controller-runtime/pkg/metrics/filters"
	metricsserver "sigs.k8s.io/controller-runtime/pkg/metrics/server"
)

// metricsOptions says how metrics are served, and to whom: to clients with a
// certificate of the given authority, or else to those whom the API server lets
// through.
func metricsOptions(o *options) metricsserver.Options {
	metrics := metricsserver.Options{BindAddress: o.metricsAddress, SecureServing: o.metricsSecure}
	if !o.metricsSecure {
		return metrics
	}
	metrics.CertDir = o.metricsCertPath
	metrics.CertName = o.metricsCertName
	metrics.KeyName = o.metricsCertKey
	if !o.enableHTTP2 {
		metrics.TLSOpts = append(metrics.TLSOpts, func(c *tls.Config) { c.NextProtos = []string{"http/1.1"} })
	}
	if o.metricsClientCA != "" {
		metrics.TLSOpts = append(metrics.TLSOpts, func(c *tls.Config) { requireClientCertificate(c, o.metricsClientCA) })
	} else {
		metrics.FilterProvider = filters.WithAuthenticationAndAuthorization
	}
	return metrics
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
