// SPDX-License-Identifier: Apache-2.0

package operator

import (
	"context"
	"crypto/tls"
	"net"
	"path/filepath"
	"time"

	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/log"
	"sigs.k8s.io/controller-runtime/pkg/webhook"
	"sigs.k8s.io/controller-runtime/pkg/webhook/admission"

	"github.com/example/memcached-operator/reconcilers"
)

const (
	// webhookPath is the path of the validating webhook, which its configurations name.
	webhookPath = "/validate-cache-example-com-v1alpha1-memcached"
	// webhookRetry is the delay before the webhook server is started again, for example since its certificate is not
	// mounted yet.
	webhookRetry = 5 * time.Second
)

// webhookServer serves the validating webhook. The operator does not depend on it: without a certificate it waits
// for one, and reconciles meanwhile.
type webhookServer struct {
	options webhook.Options
	handler *admission.Webhook
}

// newWebhookServer returns the server of the webhook with the options o, which are valid.
func newWebhookServer(o *options, scheme *runtime.Scheme, validator reconcilers.Validator) *webhookServer {
	host, text, _ := net.SplitHostPort(o.webhookAddress)
	port, _ := net.LookupPort("tcp", text)
	s := &webhookServer{
		options: webhook.Options{Host: host, Port: port, CertDir: o.webhookCertPath},
		handler: admission.WithValidator(scheme, validator),
	}
	if !o.enableHTTP2 {
		s.options.TLSOpts = append(s.options.TLSOpts, func(c *tls.Config) { c.NextProtos = []string{"http/1.1"} })
	}
	return s
}

// NeedLeaderElection implements manager.LeaderElectionRunnable. Every replica serves the webhook.
func (s *webhookServer) NeedLeaderElection() bool { return false }

// Start implements manager.Runnable. It serves until ctx is done.
func (s *webhookServer) Start(ctx context.Context) error {
	logged := ""
	for {
		err := s.serve(ctx)
		if ctx.Err() != nil {
			return nil //nolint:nilerr // it has stopped because ctx is done
		}
		if err != nil && err.Error() != logged {
			logged = err.Error()
			log.FromContext(ctx).Info("Webhook not served; trying again", "interval", webhookRetry.String(), "reason", logged)
		}
		select {
		case <-ctx.Done():
			return nil
		case <-time.After(webhookRetry):
		}
	}
}

// serve serves until ctx is done. The certificate is read again when it changes.
func (s *webhookServer) serve(ctx context.Context) error {
	dir := s.options.CertDir
	if _, err := tls.LoadX509KeyPair(filepath.Join(dir, "tls.crt"), filepath.Join(dir, "tls.key")); err != nil {
		return err
	}
	server := webhook.NewServer(s.options)
	server.Register(webhookPath, s.handler)
	return server.Start(ctx)
}
