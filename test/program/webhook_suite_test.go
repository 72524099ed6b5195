// SPDX-License-Identifier: Apache-2.0

package program_test

import (
	"path/filepath"
	"strings"
	"testing"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"

	cachev1alpha1 "github.com/example/memcached-operator/apis/v1alpha1"
	"github.com/example/memcached-operator/test/certificate"
	"github.com/example/memcached-operator/test/testenv"
)

// webhook is an operator for one namespace, whose webhook the API server calls for it.
type webhook struct {
	t                           *testing.T
	namespace, address, certDir string
	pair                        certificate.Pair
	operator                    *testenv.Process
	client                      client.Client
	warnings                    *warnings
}

// warnings collects the warnings of API servers' answers.
type warnings struct{ texts []string }

// HandleWarningHeader implements rest.WarningHandler.
func (w *warnings) HandleWarningHeader(_ int, _ string, text string) { w.texts = append(w.texts, text) }

// take returns the warnings since the last call.
func (w *warnings) take() string {
	text := strings.Join(w.texts, "\n")
	w.texts = nil
	return text
}

// startWebhook starts an operator and waits until the API server calls its webhook.
func startWebhook(t *testing.T, args ...string) *webhook {
	t.Helper()
	w := &webhook{t: t, namespace: suite.NewNamespace(t), address: testenv.FreeAddress(t), certDir: t.TempDir(), warnings: &warnings{}}
	w.pair = certificate.New(t, w.host())
	w.writeCertificate()
	cfg := rest.CopyConfig(suite.Config)
	cfg.WarningHandler = w.warnings
	var err error
	w.client, err = client.New(cfg, client.Options{Scheme: suite.Client.Scheme()})
	testenv.NoError(t, err)
	w.configure()
	w.startOperator(args...)
	w.operator.Ready(t)
	w.eventuallyServes()
	return w
}

// host is that of the webhook's address.
func (w *webhook) host() string {
	host, _, _ := strings.Cut(w.address, ":")
	return host
}

func (w *webhook) startOperator(args ...string) {
	w.t.Helper()
	w.operator = testenv.StartBinary(w.t, suite.Binary, append([]string{
		"--kubeconfig=" + testenv.Kubeconfig(w.t, suite.Operator, ""), "--watch-namespaces=" + w.namespace,
		"--webhook-bind-address=" + w.address, "--webhook-cert-path=" + w.certDir,
		"--health-probe-bind-address=127.0.0.1:0", "--metrics-bind-address=0",
	}, args...)...)
}

// configure lets the API server call the webhook for the namespace.
func (w *webhook) configure() {
	w.t.Helper()
	configuration := &admissionregistrationv1.ValidatingWebhookConfiguration{
		ObjectMeta: metav1.ObjectMeta{Name: w.namespace},
		Webhooks: []admissionregistrationv1.ValidatingWebhook{{
			Name: "memcacheds.cache.example.com",
			ClientConfig: admissionregistrationv1.WebhookClientConfig{
				URL: new("https://" + w.address + "/validate-cache-example-com-v1alpha1-memcached"), CABundle: w.pair.Certificate,
			},
			Rules: []admissionregistrationv1.RuleWithOperations{{
				Operations: []admissionregistrationv1.OperationType{admissionregistrationv1.Create, admissionregistrationv1.Update},
				Rule: admissionregistrationv1.Rule{
					APIGroups: []string{cachev1alpha1.SchemeGroupVersion.Group}, APIVersions: []string{cachev1alpha1.SchemeGroupVersion.Version}, Resources: []string{"memcacheds"},
				},
			}},
			NamespaceSelector:       inNamespace(w.namespace),
			FailurePolicy:           new(admissionregistrationv1.Ignore),
			SideEffects:             new(admissionregistrationv1.SideEffectClassNone),
			TimeoutSeconds:          new(int32(2)),
			AdmissionReviewVersions: []string{"v1"},
		}},
	}
	suite.Create(w.t, configuration)
}

// eventuallyServes waits until a dry-run gets the webhook's warning.
func (w *webhook) eventuallyServes() {
	w.t.Helper()
	testenv.Eventually(w.t, "the webhook should answer", func() bool {
		mc := testenv.Memcached(w.namespace, "probe", 0)
		mc.Spec.Image = new(cachev1alpha1.Image("memcached:1.6.10"))
		testenv.NoError(w.t, w.client.Create(w.t.Context(), mc, client.DryRunAll))
		return w.warnings.take() != ""
	})
}

// writeCertificate writes the certificate and the key where the operator expects them.
func (w *webhook) writeCertificate() {
	w.t.Helper()
	testenv.WriteFile(w.t, filepath.Join(w.certDir, "tls.crt"), string(w.pair.Certificate))
	testenv.WriteFile(w.t, filepath.Join(w.certDir, "tls.key"), string(w.pair.Key))
}
