// SPDX-License-Identifier: Apache-2.0

package main

import (
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"

	"go.uber.org/zap/zapcore"
	"k8s.io/apimachinery/pkg/util/validation"
	"sigs.k8s.io/controller-runtime/pkg/client/config"
	ctrlzap "sigs.k8s.io/controller-runtime/pkg/log/zap"
)

// options are the operator's flags and environment, validated.
type options struct {
	watchNamespaces    []string
	manifestsDir       string
	concurrency        int
	leaderElect        bool
	leaderElectionNS   string
	metricsAddress     string
	metricsSecure      bool
	metricsCertPath    string
	metricsCertName    string
	metricsCertKey     string
	enableHTTP2        bool
	healthProbeAddress string
	memcachedImage     string
	version            bool
	zap                ctrlzap.Options
}

// parse reads flags from args and the environment through getenv. The error is one
// line that names the flag; flag.ErrHelp says that usage was asked for and printed.
func parse(args []string, getenv func(string) string, usage *os.File) (*options, error) {
	o := &options{zap: ctrlzap.Options{
		TimeEncoder: zapcore.RFC3339NanoTimeEncoder,
		// A stack trace under every failed write would bury the line that matters.
		StacktraceLevel: zapcore.DPanicLevel,
	}}
	var namespaces string
	flags := flag.NewFlagSet("memcached-operator", flag.ContinueOnError)
	flags.SetOutput(io.Discard)
	flags.StringVar(&namespaces, "watch-namespaces", getenv("WATCH_NAMESPACE"),
		"Namespaces to watch, separated by commas; empty watches all. Defaults to the environment variable WATCH_NAMESPACE.")
	flags.StringVar(&o.manifestsDir, "manifests-dir", "",
		"Directory whose base and components are laid over the embedded templates, file by file.")
	flags.IntVar(&o.concurrency, "max-concurrent-reconciles", 8, "How many Memcacheds are reconciled at once, 1 to 256.")
	flags.BoolVar(&o.leaderElect, "leader-elect", false, "Let one of several replicas work at a time. The lease is released on shutdown.")
	flags.StringVar(&o.leaderElectionNS, "leader-elect-namespace", "", "Namespace of the lease; needed outside a cluster only.")
	flags.StringVar(&o.metricsAddress, "metrics-bind-address", ":8443", "Address of the metrics endpoint; 0 turns it off.")
	flags.BoolVar(&o.metricsSecure, "metrics-secure", true,
		"Serve metrics by HTTPS to those whom TokenReview and SubjectAccessReview let through; false serves plain HTTP to anyone.")
	flags.StringVar(&o.metricsCertPath, "metrics-cert-path", "",
		"Directory of the metrics endpoint's certificate, re-read when it changes; empty makes a self-signed one.")
	flags.StringVar(&o.metricsCertName, "metrics-cert-name", "tls.crt", "File name of the certificate in --metrics-cert-path.")
	flags.StringVar(&o.metricsCertKey, "metrics-cert-key", "tls.key", "File name of the private key in --metrics-cert-path.")
	flags.BoolVar(&o.enableHTTP2, "enable-http2", false, "Serve metrics by HTTP/2 too, which has had denial-of-service flaws.")
	flags.StringVar(&o.healthProbeAddress, "health-probe-bind-address", ":8081", "Address of /healthz and /readyz; 0 turns them off.")
	flags.BoolVar(&o.version, "version", false, "Print the version and exit.")
	config.RegisterFlags(flags)
	o.zap.BindFlags(flags)

	if err := flags.Parse(args); err != nil {
		if errors.Is(err, flag.ErrHelp) {
			flags.SetOutput(usage)
			flags.Usage()
		}
		return nil, err
	}
	if flags.NArg() > 0 {
		return nil, fmt.Errorf("unexpected argument %q: the operator takes flags only", flags.Arg(0))
	}
	for namespace := range strings.SplitSeq(namespaces, ",") {
		if namespace = strings.TrimSpace(namespace); namespace != "" {
			o.watchNamespaces = append(o.watchNamespaces, namespace)
		}
	}
	slices.Sort(o.watchNamespaces)
	o.watchNamespaces = slices.Compact(o.watchNamespaces)
	o.memcachedImage = getenv("RELATED_IMAGE_MEMCACHED")
	return o, o.validate()
}

func (o *options) validate() error {
	for _, namespace := range o.watchNamespaces {
		if problems := validation.IsDNS1123Label(namespace); len(problems) > 0 {
			return fmt.Errorf("--watch-namespaces: %q is not a namespace: %s", namespace, strings.Join(problems, "; "))
		}
	}
	if o.concurrency < 1 || o.concurrency > 256 {
		return fmt.Errorf("--max-concurrent-reconciles: %d is not between 1 and 256", o.concurrency)
	}
	if o.metricsCertPath != "" && !o.metricsSecure {
		return errors.New("--metrics-cert-path has no use with --metrics-secure=false; leave one of them out")
	}
	if o.manifestsDir != "" {
		info, err := os.Stat(o.manifestsDir)
		if err != nil {
			return fmt.Errorf("--manifests-dir: %w", err)
		}
		if !info.IsDir() {
			return fmt.Errorf("--manifests-dir: %s is not a directory", o.manifestsDir)
		}
	}
	if strings.ContainsAny(o.memcachedImage, " \t\n") {
		return fmt.Errorf("RELATED_IMAGE_MEMCACHED: %q is not an image reference", o.memcachedImage)
	}
	return nil
}
