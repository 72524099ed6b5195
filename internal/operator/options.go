// SPDX-License-Identifier: Apache-2.0

package operator

import (
	"cmp"
	"crypto/tls"
	"errors"
	"flag"
	"fmt"
	"io"
	"net"
	"path/filepath"
	"slices"
	"strings"

	"go.uber.org/zap"
	"go.uber.org/zap/zapcore"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/apimachinery/pkg/util/validation"
	ctrlzap "sigs.k8s.io/controller-runtime/pkg/log/zap"

	"github.com/example/memcached-operator/internal/templates"
	"github.com/example/memcached-operator/reconcilers"
	"github.com/example/memcached-operator/reconcilers/pacing"
)

// options are the operator's flags and environment, validated.
type options struct {
	watchNamespaces    []string
	kubeconfig         string
	concurrency        int
	maxRolling         intstr.IntOrString
	leaderElect        bool
	leaderElectionNS   string
	leaderElectionName string
	metricsAddress     string
	webhookAddress     string
	webhookCertPath    string
	metricsSecure      bool
	metricsCertPath    string
	metricsCertName    string
	metricsCertKey     string
	metricsClientCA    string
	enableHTTP2        bool
	healthProbeAddress string
	memoryLimit        int64
	templates          templates.Options
	version            bool
	zap                ctrlzap.Options
}

// parse parses the flags in args and the environment variables that getenv returns. The error is one line that
// names the flag. It is flag.ErrHelp after printing the usage.
func parse(args []string, getenv func(string) string, usage io.Writer) (*options, error) {
	o := &options{zap: ctrlzap.Options{
		TimeEncoder: zapcore.RFC3339NanoTimeEncoder,
		// A stack trace for every failed write would hide the message.
		StacktraceLevel: zapcore.DPanicLevel,
		ZapOpts:         []zap.Option{zap.WrapCore(newQuietCore)},
	}}
	var namespaces, maxRolling string
	flags := flag.NewFlagSet("memcached-operator", flag.ContinueOnError)
	flags.SetOutput(io.Discard)
	flags.Usage = printUsage(flags)
	flags.StringVar(&namespaces, "watch-namespaces", getenv("WATCH_NAMESPACE"),
		"Namespaces to watch, separated by commas; empty watches all. Defaults to the environment variable WATCH_NAMESPACE.")
	flags.StringVar(&maxRolling, "max-rolling", reconcilers.DefaultMaxRolling,
		"How many Memcacheds replace their pods at the same time after a change of the templates or of the operator: a number, or a "+
			"percentage of all Memcacheds, rounded down; at least 1.")
	o.bind(flags)
	errTemplates := o.templates.Bind(flags, getenv)
	flags.BoolVar(&o.version, "version", false, "Print the version and exit.")
	o.zap.BindFlags(flags)

	if err := flags.Parse(args); err != nil {
		if errors.Is(err, flag.ErrHelp) {
			flags.SetOutput(usage)
			flags.Usage()
		}
		return nil, err
	}
	if errTemplates != nil {
		return nil, errTemplates
	}
	if flags.NArg() > 0 {
		return nil, fmt.Errorf("unexpected argument %q: the operator takes flags only, such as --version; its subcommands are render, check, diff, version and exporter", flags.Arg(0))
	}
	for namespace := range strings.SplitSeq(namespaces, ",") {
		if namespace = strings.TrimSpace(namespace); namespace != "" {
			o.watchNamespaces = append(o.watchNamespaces, namespace)
		}
	}
	slices.Sort(o.watchNamespaces)
	o.watchNamespaces = slices.Compact(o.watchNamespaces)
	var errMemory, errRolling error
	if o.maxRolling, errRolling = pacing.Parse(maxRolling); errRolling != nil {
		errRolling = fmt.Errorf("--max-rolling: %w", errRolling)
	}
	o.memoryLimit, errMemory = parseMemoryLimit(getenv)
	inCluster := getenv("KUBERNETES_SERVICE_HOST") != ""
	return o, cmp.Or(errMemory, errRolling, o.validate(), o.validateMetrics(), o.validateLeaderElection(inCluster), o.templates.Validate())
}

// bind binds the flags whose values need no conversion.
func (o *options) bind(flags *flag.FlagSet) {
	flags.StringVar(&o.kubeconfig, "kubeconfig", "",
		"Kubeconfig of the API server. Defaults to KUBECONFIG, else the cluster that the operator runs in, else ~/.kube/config.")
	flags.IntVar(&o.concurrency, "max-concurrent-reconciles", 8, "How many Memcacheds are reconciled at once, 1 to 256.")
	flags.BoolVar(&o.leaderElect, "leader-elect", false, "Let one of several replicas work at a time. The lease is released on shutdown.")
	flags.StringVar(&o.leaderElectionNS, "leader-elect-namespace", "", "Namespace of the lease; needed outside a cluster only.")
	flags.StringVar(&o.leaderElectionName, "leader-elect-resource-name", "memcached-operator.cache.example.com",
		"Name of the lease. Operators in one namespace that watch different namespaces need one each.")
	flags.StringVar(&o.webhookAddress, "webhook-bind-address", "0", "Address of the validating webhook, such as :9443; 0 turns it off.")
	flags.StringVar(&o.webhookCertPath, "webhook-cert-path", "/tmp/k8s-webhook-server/serving-certs",
		"Directory of the webhook's certificate and key, tls.crt and tls.key, which are read again when they change.")
	flags.StringVar(&o.metricsAddress, "metrics-bind-address", ":8443", "Address of the metrics endpoint; 0 turns it off.")
	flags.BoolVar(&o.metricsSecure, "metrics-secure", true,
		"Serve metrics by HTTPS to those whom TokenReview and SubjectAccessReview let through, or whose certificate "+
			"--metrics-client-ca-file does; false serves plain HTTP to anyone.")
	flags.StringVar(&o.metricsCertPath, "metrics-cert-path", "",
		"Directory of the metrics endpoint's certificate, re-read when it changes; empty makes a self-signed one.")
	flags.StringVar(&o.metricsCertName, "metrics-cert-name", "tls.crt", "File name of the certificate in --metrics-cert-path.")
	flags.StringVar(&o.metricsCertKey, "metrics-cert-key", "tls.key", "File name of the private key in --metrics-cert-path.")
	flags.StringVar(&o.metricsClientCA, "metrics-client-ca-file", "",
		"Serve metrics to clients whose certificate is signed by an authority in this file, instead of asking the API server "+
			"about them, which needs a ClusterRole. Read anew when it changes.")
	flags.BoolVar(&o.enableHTTP2, "enable-http2", false, "Serve metrics and the webhook by HTTP/2 too, which has had denial-of-service flaws.")
	flags.StringVar(&o.healthProbeAddress, "health-probe-bind-address", ":8081", "Address of /healthz and /readyz; 0 turns them off.")
}

func (o *options) validate() error {
	for _, namespace := range o.watchNamespaces {
		if err := validateNamespace("--watch-namespaces", namespace); err != nil {
			return err
		}
	}
	if o.concurrency < 1 || o.concurrency > 256 {
		return fmt.Errorf("--max-concurrent-reconciles: %d is not between 1 and 256", o.concurrency)
	}
	return validateAddress("--health-probe-bind-address", o.healthProbeAddress)
}

func (o *options) validateMetrics() error {
	if err := validateAddress("--webhook-bind-address", o.webhookAddress); err != nil {
		return err
	}
	if err := validateAddress("--metrics-bind-address", o.metricsAddress); err != nil {
		return err
	}
	if !o.metricsSecure && o.metricsClientCA != "" {
		return errors.New("--metrics-client-ca-file would guard nothing with --metrics-secure=false; leave one of them out")
	}
	if o.metricsClientCA != "" {
		if _, err := readAuthorities(o.metricsClientCA); err != nil {
			return fmt.Errorf("--metrics-client-ca-file: %w", err)
		}
	}
	if o.metricsCertPath == "" {
		return nil
	}
	if !o.metricsSecure {
		return errors.New("--metrics-cert-path has no use with --metrics-secure=false; leave one of them out")
	}
	// The metrics server would replace a missing certificate by a self-signed one, which no client
	// trusts.
	_, err := tls.LoadX509KeyPair(filepath.Join(o.metricsCertPath, o.metricsCertName), filepath.Join(o.metricsCertPath, o.metricsCertKey))
	if err != nil {
		return fmt.Errorf("--metrics-cert-path: %w", err)
	}
	return nil
}

func (o *options) validateLeaderElection(inCluster bool) error {
	if problems := validation.IsDNS1123Subdomain(o.leaderElectionName); len(problems) > 0 {
		return fmt.Errorf("--leader-elect-resource-name: invalid name %q: %s", o.leaderElectionName, strings.Join(problems, "; "))
	}
	switch {
	case o.leaderElectionNS != "":
		return validateNamespace("--leader-elect-namespace", o.leaderElectionNS)
	case o.leaderElect && !inCluster:
		return errors.New("--leader-elect: outside a cluster --leader-elect-namespace has to say where the lease is")
	}
	return nil
}

func validateNamespace(flag, namespace string) error {
	if problems := validation.IsDNS1123Label(namespace); len(problems) > 0 {
		return fmt.Errorf("%s: invalid namespace %q: %s", flag, namespace, strings.Join(problems, "; "))
	}
	return nil
}

// validateAddress accepts [host]:port and 0.
func validateAddress(flag, address string) error {
	if address == "0" {
		return nil
	}
	_, port, err := net.SplitHostPort(address)
	if err == nil {
		_, err = net.LookupPort("tcp", port)
	}
	if err != nil {
		return fmt.Errorf("%s: %q is neither [host]:port nor 0: %w", flag, address, err)
	}
	return nil
}
