// SPDX-License-Identifier: Apache-2.0

package exporter

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"os"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/client_golang/prometheus/promhttp"
	"github.com/prometheus/memcached_exporter/pkg/exporter"
	"golang.org/x/sync/errgroup"
)

// Options configure Run.
type Options struct {
	// Address is that of memcached, as host:port.
	Address string
	// ListenAddress is where metrics are served at /metrics, as [host]:port.
	ListenAddress string
	// TLSDir has tls.crt and tls.key, presented to a memcached with TLS. If there is none at the start, it is plain text: what is
	// mounted into the pod decides.
	TLSDir string
	// AuthFile has a user:password a line, of which the first is used. If there is none at the start, no user logs in.
	AuthFile string
	// Timeout is how long connecting to memcached and each of its answers may take.
	Timeout time.Duration
}

var expiryDesc = prometheus.NewDesc("memcached_certificate_expiry_timestamp_seconds",
	"When the certificate expires that memcached presents, in seconds since 1970.", nil, nil)

// Describe implements prometheus.Collector.
func (r *relay) Describe(descriptions chan<- *prometheus.Desc) { descriptions <- expiryDesc }

// Collect implements prometheus.Collector.
func (r *relay) Collect(collected chan<- prometheus.Metric) {
	if expiry := r.expiry.Load(); expiry != 0 {
		collected <- prometheus.MustNewConstMetric(expiryDesc, prometheus.GaugeValue, float64(expiry))
	}
}

// Run serves the metrics of a memcached until ctx ends.
func Run(ctx context.Context, options Options, logger *slog.Logger) error {
	listener, err := net.Listen("tcp", options.ListenAddress)
	if err != nil {
		return fmt.Errorf("--listen-address: %w", err)
	}
	return Serve(ctx, options, logger, listener)
}

// Serve serves them by listener, which it closes.
func Serve(ctx context.Context, options Options, logger *slog.Logger, listener net.Listener) error {
	// A name of its own: pods of the node's network share one namespace. The library takes an address with a slash for a socket.
	relayed, err := net.Listen("unix", "@memcached/"+rand.Text())
	if err != nil {
		return errors.Join(err, listener.Close())
	}
	r := &relay{options: options, logger: logger, tls: exists(options.TLSDir), auth: exists(options.AuthFile)}
	registry := prometheus.NewRegistry()
	registry.MustRegister(exporter.New(relayed.Addr().String(), options.Timeout, logger, nil), r,
		collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}))
	mux := http.NewServeMux()
	mux.Handle("/metrics", promhttp.HandlerFor(registry, promhttp.HandlerOpts{ErrorLog: slog.NewLogLogger(logger.Handler(), slog.LevelError)}))
	server := &http.Server{Handler: mux, ReadHeaderTimeout: 10 * time.Second}
	group, ctx := errgroup.WithContext(ctx)
	group.Go(func() error { return r.serve(ctx, relayed) })
	group.Go(func() error {
		if err := server.Serve(listener); !errors.Is(err, http.ErrServerClosed) {
			return fmt.Errorf("serving metrics: %w", err)
		}
		return nil
	})
	group.Go(func() error {
		<-ctx.Done()
		return errors.Join(relayed.Close(), server.Close())
	})
	return group.Wait()
}

func exists(name string) bool {
	_, err := os.Stat(name)
	return err == nil
}
