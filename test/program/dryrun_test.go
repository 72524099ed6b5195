// SPDX-License-Identifier: Apache-2.0

package program_test

import (
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/example/memcached-operator/test/testenv"
)

// reports returns a directory for --manifests-dir with a CronJob.
func reports(t *testing.T, schedule string) string {
	t.Helper()
	return site(t, map[string]string{"report.yaml": "apiVersion: batch/v1\nkind: CronJob\nmetadata: {name: report}\nspec:\n  schedule: \"" + schedule + "\"\n" +
		"  jobTemplate: {spec: {template: {spec: {restartPolicy: Never, containers: [{name: report, image: busybox}]}}}}\n"})
}

// TestTemplates_RejectedByTheAPIServer: a mistake that only the API server finds ends the new operator
// before it writes anything.
func TestTemplates_RejectedByTheAPIServer(t *testing.T) {
	t.Parallel()
	namespace := suite.NewNamespace(t)
	args := []string{"--kubeconfig=" + suite.Kubeconfig, "--watch-namespaces=" + namespace}
	p := start(t, append(args, "--health-probe-bind-address=127.0.0.1:0", "--metrics-bind-address=0")...)
	p.Ready(t)
	mc := suite.NewMemcached(t, namespace, "cache", 0)
	before := settled(t, &suite, mc).ResourceVersion
	if status := p.Terminate(t); status != 0 {
		t.Fatalf("the operator exits with %d", status)
	}
	suite.Get(t, mc)
	version := mc.ResourceVersion

	text := refuse(t, append(args, "--manifests-dir="+reports(t, "every day"))...)
	const want = "memcached-operator: templates: components/site/report.yaml:5: CronJob report: spec.schedule: the API server rejects it: "
	if !strings.HasPrefix(text, want) {
		t.Errorf("the message is\n%s\nwant\n%s", text, want)
	}
	suite.Get(t, mc)
	if after := suite.Deployment(t, namespace, "cache").ResourceVersion; after != before || mc.ResourceVersion != version {
		t.Errorf("the operator changes the Memcached, from %s to %s, or its Deployment, from %s to %s", version, mc.ResourceVersion, before, after)
	}

	p = start(t, append(args, "--health-probe-bind-address=127.0.0.1:0", "--metrics-bind-address=0", "--manifests-dir="+reports(t, "@daily"))...)
	p.Ready(t)
	testenv.Eventually(t, "the CronJob should exist", func() bool {
		report := testenv.Parse(t, "{apiVersion: batch/v1, kind: CronJob, metadata: {name: cache-report, namespace: "+namespace+"}}")
		return suite.Client.Get(t.Context(), client.ObjectKeyFromObject(report), report) == nil
	})
}

// A namespace that cannot be used for dry-runs does not keep the operator from starting.
func TestTemplates_StartWithoutDryRun(t *testing.T) {
	t.Parallel()
	p := start(t, "--kubeconfig="+suite.Kubeconfig, "--watch-namespaces=not-yet-created", "--health-probe-bind-address=127.0.0.1:0", "--metrics-bind-address=0",
		"--manifests-dir="+site(t, map[string]string{"configmap.yaml": configMap}))
	p.Ready(t)
	contains(t, p.Log.String(), "Templates not checked by dry-run", `namespaces \"not-yet-created\" not found`)
}

// TestTemplates_NotCheckedInTime: dry-runs of the examples that the API server does not answer hold a reload, since the templates of
// before are checked, but not a start. Those of live objects, whose requests an author's webhook may end, hold neither.
func TestTemplates_NotCheckedInTime(t *testing.T) {
	t.Parallel()
	own, tenant := suite.NewNamespace(t), suite.NewNamespace(t)
	own, tenant = min(own, tenant), max(own, tenant) // The example is in the first one.
	suite.NewMemcached(t, tenant, "cache", 0)
	failing := failingWebhook(t, own)
	dir := site(t, map[string]string{"configmap.yaml": configMap})
	p := start(t, "--kubeconfig="+suite.Kubeconfig, "--watch-namespaces="+own+","+tenant, "--health-probe-bind-address=127.0.0.1:0",
		"--metrics-bind-address=0", "--manifests-dir="+dir)
	minute := testenv.Patience(time.Minute)
	logged := func(message, reason string) {
		t.Helper()
		testenv.Within(t, minute, message+" should be logged", func() bool {
			return slices.ContainsFunc(strings.Split(p.Log.String(), "\n"), func(line string) bool {
				return strings.Contains(line, message) && strings.Contains(line, reason)
			})
		})
	}
	logged("Templates not checked by dry-run", "failed calling webhook")
	p.Ready(t)
	testenv.WriteFile(t, filepath.Join(dir, "components", "site", "configmap.yaml"), strings.Replace(configMap, "a: b", "a: c", 1))
	logged("Changed templates rejected", "failed calling webhook")
	if strings.Contains(p.Log.String(), "Templates reloaded") {
		t.Error("templates that were not checked are in use")
	}
	failing.Webhooks[0].NamespaceSelector = inNamespace(tenant)
	testenv.NoError(t, suite.Client.Update(t.Context(), failing))
	logged("Templates reloaded", "configmap.yaml")
	logged("Object of a template not checked by dry-run", "failed calling webhook")
}

// failingWebhook makes the API server refuse ConfigMaps in namespace, since it cannot call a webhook.
func failingWebhook(t *testing.T, namespace string) *admissionregistrationv1.ValidatingWebhookConfiguration {
	t.Helper()
	configuration := &admissionregistrationv1.ValidatingWebhookConfiguration{
		ObjectMeta: metav1.ObjectMeta{Name: namespace},
		Webhooks: []admissionregistrationv1.ValidatingWebhook{{
			Name:         "configmaps.example.com",
			ClientConfig: admissionregistrationv1.WebhookClientConfig{URL: new("https://127.0.0.1:1/")},
			Rules: []admissionregistrationv1.RuleWithOperations{{
				Operations: []admissionregistrationv1.OperationType{admissionregistrationv1.OperationAll},
				Rule:       admissionregistrationv1.Rule{APIGroups: []string{""}, APIVersions: []string{"v1"}, Resources: []string{"configmaps"}},
			}},
			NamespaceSelector:       inNamespace(namespace),
			SideEffects:             new(admissionregistrationv1.SideEffectClassNone),
			AdmissionReviewVersions: []string{"v1"},
		}},
	}
	suite.Create(t, configuration)
	probe := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "probe"}}
	testenv.Eventually(t, "the API server should call the webhook", func() bool {
		return apierrors.IsInternalError(suite.Client.Create(t.Context(), probe.DeepCopy(), client.DryRunAll))
	})
	return configuration
}

func inNamespace(name string) *metav1.LabelSelector {
	return &metav1.LabelSelector{MatchLabels: map[string]string{corev1.LabelMetadataName: name}}
}
