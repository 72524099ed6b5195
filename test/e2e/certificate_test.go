// SPDX-License-Identifier: Apache-2.0

//go:build e2e

package e2e

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"net/http"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/example/memcached-operator/test/certificate"
	"github.com/example/memcached-operator/test/e2e/cluster"
)

// TestMetrics_RotateTheCertificateWithoutRestart gives the operator a certificate in a Secret, and then
// another. It changes the operator, so it is not parallel.
func TestMetrics_RotateTheCertificateWithoutRestart(t *testing.T) {
	const host = "metrics.example.com"
	reader := suite.Reader(t, suite.NewNamespace(t), metricsReader)
	first, second := certificate.New(t, host), certificate.New(t, host)
	secret := &corev1.Secret{
		ObjectMeta: metav1.ObjectMeta{Namespace: suite.operator.Namespace, Name: "e2e-metrics-certificate"},
		Type:       corev1.SecretTypeTLS,
		Data:       map[string][]byte{corev1.TLSCertKey: first.Certificate, corev1.TLSPrivateKeyKey: first.Key},
	}
	cluster.Must(t, suite.Create(t.Context(), secret))
	pod := mountCertificate(t, secret)

	trusts := func(roots *x509.CertPool) bool {
		status, _ := suite.operator.AskForMetrics(t, pod.Name, reader, &tls.Config{RootCAs: roots, ServerName: host})
		return status == http.StatusOK
	}
	if !trusts(first.Roots()) || trusts(second.Roots()) {
		t.Fatal("the operator does not serve the certificate of the Secret")
	}
	secret.Data = map[string][]byte{corev1.TLSCertKey: second.Certificate, corev1.TLSPrivateKeyKey: second.Key}
	cluster.Must(t, suite.Update(t.Context(), secret))
	changed := time.Now()
	// The kubelet brings a Secret up to date when it looks at the pod the next time: within a
	// minute or so, or when the pod changes.
	suite.MergePatch(t, pod.DeepCopy(), `{"metadata":{"annotations":{"example.com/look":"now"}}}`)
	cluster.Eventually(t, "the operator serves the second certificate", func(context.Context) (bool, string, error) {
		return trusts(second.Roots()), "another certificate", nil
	})
	t.Logf("served %s after the Secret was changed", time.Since(changed).Round(100*time.Millisecond))
	if trusts(first.Roots()) {
		t.Error("the first certificate is served too")
	}
	now := &corev1.Pod{}
	cluster.Must(t, suite.Get(t.Context(), client.ObjectKeyFromObject(pod), now))
	if before, after := cluster.Lives([]corev1.Pod{*pod}), cluster.Lives([]corev1.Pod{*now}); before != after {
		t.Errorf("before:\n%safter:\n%s", before, after)
	}
}

// mountCertificate has the operator serve metrics with the certificate in secret
// until the test ends, and returns its pod.
func mountCertificate(t *testing.T, secret *corev1.Secret) *corev1.Pod {
	t.Helper()
	const directory = "/metrics-certificate"
	d := suite.Deployment(t, suite.operator.Namespace, suite.operator.Name)
	before := d.Spec.Template.DeepCopy()
	spec := &d.Spec.Template.Spec
	spec.Volumes = append(spec.Volumes, corev1.Volume{
		Name:         "metrics-certificate",
		VolumeSource: corev1.VolumeSource{Secret: &corev1.SecretVolumeSource{SecretName: secret.Name}},
	})
	manager := &spec.Containers[0]
	manager.Args = append(manager.Args, "--metrics-cert-path="+directory)
	manager.VolumeMounts = append(manager.VolumeMounts, corev1.VolumeMount{Name: "metrics-certificate", MountPath: directory, ReadOnly: true})
	cluster.Must(t, suite.Update(t.Context(), d))
	t.Cleanup(func() {
		ctx := context.WithoutCancel(t.Context())
		d := suite.operator.Manager()
		cluster.Must(t, suite.Get(ctx, client.ObjectKeyFromObject(d), d))
		d.Spec.Template = *before
		cluster.Must(t, suite.Update(ctx, d))
		suite.operator.Settled(t)
		cluster.Must(t, suite.Delete(ctx, secret))
	})
	return &suite.operator.Settled(t)[0]
}
