// SPDX-License-Identifier: Apache-2.0

package operator

import (
	"bytes"
	"errors"
	"flag"
	"io"
	"maps"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/util/intstr"
	ctrlzap "sigs.k8s.io/controller-runtime/pkg/log/zap"

	"github.com/example/memcached-operator/internal/templates"
	"github.com/example/memcached-operator/reconcilers/guarded"
)

// environment is what getenv answers in a test.
type environment map[string]string

func (e environment) get(name string) string { return e[name] }

func parsed(t *testing.T, env environment, args ...string) *options {
	t.Helper()
	o, err := parse(args, env.get, io.Discard)
	if err != nil {
		t.Fatalf("%q: %v", args, err)
	}
	return o
}

func TestParse_Defaults(t *testing.T) {
	t.Parallel()
	o := parsed(t, nil)
	for name, test := range map[string]struct{ got, want any }{
		"namespaces":        {len(o.watchNamespaces), 0},
		"kubeconfig":        {o.kubeconfig, ""},
		"manifests dir":     {o.templates.Dir, ""},
		"concurrency":       {o.concurrency, 8},
		"rolling":           {o.maxRolling, intstr.FromString("10%")},
		"leader election":   {o.leaderElect, false},
		"lease's namespace": {o.leaderElectionNS, ""},
		"metrics address":   {o.metricsAddress, ":8443"},
		"metrics secure":    {o.metricsSecure, true},
		"certificate path":  {o.metricsCertPath, ""},
		"certificate":       {o.metricsCertName, "tls.crt"},
		"key":               {o.metricsCertKey, "tls.key"},
		"HTTP/2":            {o.enableHTTP2, false},
		"probe address":     {o.healthProbeAddress, ":8081"},
		"image":             {o.templates.MemcachedImage, ""},
		"exporter's image":  {o.templates.ExporterImage, ""},
		"reloader's image":  {o.templates.ReloaderImage, ""},
		"privileged fields": {o.templates.PrivilegedFields, false},
		"version":           {o.version, false},
		"development logs":  {o.zap.Development, false},
	} {
		if test.got != test.want {
			t.Errorf("%s: %v, want %v", name, test.got, test.want)
		}
	}
}

func TestParse_WatchNamespaces(t *testing.T) {
	t.Parallel()
	for sentence, test := range map[string]struct {
		env  environment
		args []string
		want []string
	}{
		"none means all":                   {nil, nil, nil},
		"an empty list means all":          {nil, []string{"--watch-namespaces="}, nil},
		"only commas mean all":             {nil, []string{"--watch-namespaces= , ,"}, nil},
		"one":                              {nil, []string{"--watch-namespaces=a"}, []string{"a"}},
		"several, sorted":                  {nil, []string{"--watch-namespaces=b,a"}, []string{"a", "b"}},
		"spaces around and a comma at end": {nil, []string{"--watch-namespaces= a , b ,"}, []string{"a", "b"}},
		"duplicates":                       {nil, []string{"--watch-namespaces=a,b,a"}, []string{"a", "b"}},
		"from the environment":             {environment{"WATCH_NAMESPACE": "b, a"}, nil, []string{"a", "b"}},
		"the flag counts more":             {environment{"WATCH_NAMESPACE": "a"}, []string{"--watch-namespaces=b"}, []string{"b"}},
		"the flag, empty, counts more":     {environment{"WATCH_NAMESPACE": "a"}, []string{"--watch-namespaces="}, nil},
	} {
		t.Run(sentence, func(t *testing.T) {
			t.Parallel()
			if got := parsed(t, test.env, test.args...).watchNamespaces; !slices.Equal(got, test.want) {
				t.Errorf("the namespaces are %q, want %q", got, test.want)
			}
		})
	}
}

func TestParse_SetsOptions(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	write(t, filepath.Join(dir, "components", "site", "kustomization.yaml"), "")
	o := parsed(t, environment{
		"RELATED_IMAGE_MEMCACHED":          "registry:5000/memcached@sha256:0a",
		"RELATED_IMAGE_MEMCACHED_EXPORTER": "registry:5000/exporter:1",
		"RELATED_IMAGE_MEMCACHED_RELOADER": "registry:5000/reloader:1",
		"RELATED_IMAGE_EXPORTER":           "registry:5000/own:1",
	},
		"--kubeconfig=admin.conf", "--manifests-dir", dir, "--max-concurrent-reconciles=256", "--max-rolling=3", "--leader-elect", "--leader-elect-namespace=ops",
		"--webhook-bind-address=:9443", "--webhook-cert-path=/certs", "--metrics-bind-address=0", "--metrics-secure=false", "--enable-http2", "--health-probe-bind-address=127.0.0.1:0",
		"--allow-privileged-fields", "--operand-images=memcached,registry:5000/cache/*", "--zap-devel", "--version")
	if !o.zap.Development {
		t.Error("--zap-devel does not turn on development logs")
	}
	got := *o
	got.zap = ctrlzap.Options{} // It holds functions.
	want := options{
		kubeconfig: "admin.conf", concurrency: 256, maxRolling: intstr.FromInt32(3), leaderElect: true, leaderElectionNS: "ops",
		leaderElectionName: "memcached-operator.cache.example.com",
		webhookAddress:     ":9443", webhookCertPath: "/certs",
		metricsAddress: "0", metricsCertName: "tls.crt", metricsCertKey: "tls.key", enableHTTP2: true, healthProbeAddress: "127.0.0.1:0",
		templates: templates.Options{
			Dir: dir, PrivilegedFields: true, OperandImages: guarded.Images{"memcached", "registry:5000/cache/*"},
			MemcachedImage: "registry:5000/memcached@sha256:0a", ExporterImage: "registry:5000/exporter:1", ReloaderImage: "registry:5000/reloader:1", AccessExporterImage: "registry:5000/own:1",
		},
		version: true,
	}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("the options are\n%+v, want\n%+v", got, want)
	}
}

func TestParse_PrivilegedFieldsFromFlagOrEnvironment(t *testing.T) {
	t.Parallel()
	on := environment{"ALLOW_PRIVILEGED_FIELDS": "true"}
	if !parsed(t, on).templates.PrivilegedFields {
		t.Error("the environment does not turn them on")
	}
	if parsed(t, on, "--allow-privileged-fields=false").templates.PrivilegedFields {
		t.Error("the flag does not turn off what the environment turns on")
	}
	if parsed(t, environment{}).templates.PrivilegedFields {
		t.Error("they are on by themselves")
	}
}

func TestParse_OperandImagesFromFlagOrEnvironment(t *testing.T) {
	t.Parallel()
	env := environment{"OPERAND_IMAGES": "memcached, registry.example.com/cache/*"}
	for name, test := range map[string]struct {
		env  environment
		args []string
		want guarded.Images
	}{
		"has none by default":    {},
		"reads the environment":  {env: env, want: guarded.Images{"memcached", "registry.example.com/cache/*"}},
		"prefers the flag":       {env: env, args: []string{"--operand-images=example.com/memcached"}, want: guarded.Images{"example.com/memcached"}},
		"returns to the default": {env: env, args: []string{"--operand-images="}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if got := parsed(t, test.env, test.args...).templates.OperandImages; !slices.Equal(got, test.want) {
				t.Errorf("the images are %q, want %q", got, test.want)
			}
		})
	}
}

func TestParse_LeaderElectionNamespaceInCluster(t *testing.T) {
	t.Parallel()
	if o := parsed(t, environment{"KUBERNETES_SERVICE_HOST": "10.0.0.1"}, "--leader-elect"); !o.leaderElect {
		t.Error("leader election is off")
	}
}

// invalidOptions are the environment and arguments of an operator, and passages of the error. DIR is a
// directory with a file, a certificate in broken that is none, and no templates in elsewhere.
var invalidOptions = map[string]struct {
	env  environment
	args []string
	want []string
}{
	"an unknown flag":            {nil, []string{"--bogus"}, []string{"flag provided but not defined: -bogus"}},
	"a flag without its value":   {nil, []string{"--manifests-dir"}, []string{"flag needs an argument: -manifests-dir"}},
	"a flag that is no number":   {nil, []string{"--max-concurrent-reconciles=many"}, []string{`invalid value "many" for flag -max-concurrent-reconciles`}},
	"a flag that is no boolean":  {nil, []string{"--leader-elect=perhaps"}, []string{`invalid boolean value "perhaps" for -leader-elect`}},
	"an argument":                {nil, []string{"--leader-elect=false", "start"}, []string{`unexpected argument "start"`, "takes flags only"}},
	"an unknown log level":       {nil, []string{"--zap-log-level=loud"}, []string{"-zap-log-level", `"loud"`}},
	"no worker":                  {nil, []string{"--max-concurrent-reconciles=0"}, []string{"--max-concurrent-reconciles: 0 is not between 1 and 256"}},
	"too many workers":           {nil, []string{"--max-concurrent-reconciles=257"}, []string{"--max-concurrent-reconciles: 257 is not between 1 and 256"}},
	"no roll-out":                {nil, []string{"--max-rolling=0"}, []string{`--max-rolling: "0" is neither a number from 1 nor a percentage from 1% to 100%`}},
	"a namespace with a capital": {nil, []string{"--watch-namespaces=a,Bad"}, []string{`--watch-namespaces: invalid namespace "Bad"`}},
	"a namespace with a space":   {nil, []string{"--watch-namespaces=a b"}, []string{`--watch-namespaces: invalid namespace "a b"`}},
	"a bad namespace from the environment": {
		environment{"WATCH_NAMESPACE": "*"}, nil, []string{`--watch-namespaces: invalid namespace "*"`},
	},
	"an image with a space": {
		environment{"RELATED_IMAGE_MEMCACHED": "mem cached"}, nil, []string{`RELATED_IMAGE_MEMCACHED: "mem cached" is not an image reference`},
	},
	"operand images with a tag": {
		environment{}, []string{"--operand-images=memcached:1.6.45"}, []string{`operand-images: "memcached:1.6.45" has a tag or a digest; leave it out`},
	},
	"operand images of the environment with a wildcard amid them": {
		environment{"OPERAND_IMAGES": "registry.example.com*"}, nil, []string{`OPERAND_IMAGES: "registry.example.com*" has * elsewhere than behind its last slash`},
	},
	"privileged fields that are neither on nor off": {
		environment{"ALLOW_PRIVILEGED_FIELDS": "guarded"}, nil, []string{`ALLOW_PRIVILEGED_FIELDS: "guarded" is neither true nor false`},
	},
	"an exporter's image with a space": {
		environment{"RELATED_IMAGE_MEMCACHED_EXPORTER": "an image"}, nil, []string{`RELATED_IMAGE_MEMCACHED_EXPORTER: "an image" is not an image reference`},
	},
	"a reloader's image with a space": {
		environment{"RELATED_IMAGE_MEMCACHED_RELOADER": "an image"}, nil, []string{`RELATED_IMAGE_MEMCACHED_RELOADER: "an image" is not an image reference`},
	},
	"a webhook address without a port":      {nil, []string{"--webhook-bind-address=localhost"}, []string{`--webhook-bind-address: "localhost" is neither [host]:port nor 0`}},
	"a metrics address without a port":      {nil, []string{"--metrics-bind-address=localhost"}, []string{`--metrics-bind-address: "localhost" is neither [host]:port nor 0`}},
	"a metrics address that is empty":       {nil, []string{"--metrics-bind-address="}, []string{`--metrics-bind-address: "" is neither [host]:port nor 0`}},
	"a metrics port that is too high":       {nil, []string{"--metrics-bind-address=:99999"}, []string{`--metrics-bind-address: ":99999"`, "invalid port"}},
	"a probe address that is only a number": {nil, []string{"--health-probe-bind-address=8081"}, []string{`--health-probe-bind-address: "8081" is neither [host]:port nor 0`}},
	"a certificate for plain metrics": {
		nil, []string{"--metrics-secure=false", "--metrics-cert-path=x"}, []string{"--metrics-cert-path has no use with --metrics-secure=false"},
	},
	"a certificate that is missing": {
		nil, []string{"--metrics-cert-path=DIR"}, []string{"--metrics-cert-path: open ", "tls.crt: no such file or directory"},
	},
	"a certificate of another name that is missing": {
		nil, []string{"--metrics-cert-path=DIR", "--metrics-cert-name=cert.pem", "--metrics-cert-key=file"}, []string{"--metrics-cert-path: open ", "cert.pem: no such file or directory"},
	},
	"a certificate that is none": {
		nil, []string{"--metrics-cert-path=DIR/broken"}, []string{"--metrics-cert-path: ", "failed to find any PEM data in certificate input"},
	},
	"client certificates for plain metrics": {
		nil, []string{"--metrics-secure=false", "--metrics-client-ca-file=x"}, []string{"--metrics-client-ca-file would guard nothing with --metrics-secure=false"},
	},
	"an authority that is missing": {
		nil, []string{"--metrics-client-ca-file=DIR/ca.crt"}, []string{"--metrics-client-ca-file: open ", "ca.crt: no such file or directory"},
	},
	"an authority that is none": {
		nil, []string{"--metrics-client-ca-file=DIR/file"}, []string{"--metrics-client-ca-file: ", "file contains no PEM-encoded certificate"},
	},
	"a lease of no name": {nil, []string{"--leader-elect-resource-name="}, []string{`--leader-elect-resource-name: invalid name ""`}},
	"leader election outside a cluster without a namespace": {
		nil, []string{"--leader-elect"}, []string{"--leader-elect: outside a cluster --leader-elect-namespace has to say where the lease is"},
	},
	"a lease in no namespace":                     {nil, []string{"--leader-elect-namespace=a.b"}, []string{`--leader-elect-namespace: invalid namespace "a.b"`}},
	"a directory of templates that is missing":    {nil, []string{"--manifests-dir=DIR/missing"}, []string{"--manifests-dir: open ", "missing: no such file or directory"}},
	"a directory of templates that is a file":     {nil, []string{"--manifests-dir=DIR/file"}, []string{"--manifests-dir: open ", "file: not a directory"}},
	"a directory of templates that lacks its own": {nil, []string{"--manifests-dir=DIR/elsewhere"}, []string{"--manifests-dir: ", "holds neither base nor components"}},
}

func TestParse_RejectsInvalidOptions(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	write(t, filepath.Join(dir, "file"), "")
	write(t, filepath.Join(dir, "elsewhere", "bases", "deployment.yaml"), "")
	write(t, filepath.Join(dir, "broken", "tls.crt"), "no certificate")
	write(t, filepath.Join(dir, "broken", "tls.key"), "no key")
	for sentence, test := range invalidOptions {
		t.Run(sentence, func(t *testing.T) {
			t.Parallel()
			args := slices.Clone(test.args)
			for i := range args {
				args[i] = strings.ReplaceAll(args[i], "DIR", dir)
			}
			_, err := parse(args, test.env.get, io.Discard)
			if err == nil {
				t.Fatal("it is not refused")
			}
			if strings.Contains(err.Error(), "\n") {
				t.Errorf("the message has more than one line:\n%v", err)
			}
			for _, want := range test.want {
				if !strings.Contains(err.Error(), want) {
					t.Errorf("the message does not say %q:\n%v", want, err)
				}
			}
		})
	}
}

func TestParse_HelpDescribesEveryFlag(t *testing.T) {
	t.Parallel()
	var usage bytes.Buffer
	if _, err := parse([]string{"--help"}, environment{}.get, &usage); !errors.Is(err, flag.ErrHelp) {
		t.Fatalf("--help gives %v", err)
	}
	described := map[string]bool{}
	for line := range strings.Lines(usage.String()) {
		if name, ok := strings.CutPrefix(line, "  -"); ok {
			described[strings.Fields(name)[0]] = true
		}
	}
	for _, name := range []string{
		"allow-privileged-fields", "operand-images", "watch-namespaces", "manifests-dir", "max-concurrent-reconciles", "max-rolling", "leader-elect", "leader-elect-namespace",
		"leader-elect-resource-name", "metrics-client-ca-file",
		"webhook-bind-address", "webhook-cert-path", "metrics-bind-address", "metrics-secure", "metrics-cert-path", "metrics-cert-name", "metrics-cert-key",
		"enable-http2", "health-probe-bind-address", "kubeconfig", "version", "zap-devel", "zap-log-level", "zap-encoder",
	} {
		if !described[name] {
			t.Errorf("--help does not describe --%s, but %q", name, slices.Sorted(maps.Keys(described)))
		}
	}
}
