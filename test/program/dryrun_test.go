// SPDX-License-Identifier: Apache-2.0

package program_test

import (
	"strings"
	"testing"

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
