// SPDX-License-Identifier: Apache-2.0

//go:build e2e

package olm

import (
	"os"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/example/memcached-operator/test/e2e/cluster"
)

// TestCatalog_ServesInlinedBundles has a catalog that needs no image of a bundle: it holds their objects, and
// OLM takes them from there.
func TestCatalog_ServesInlinedBundles(t *testing.T) {
	t.Parallel()
	directory, server := os.Getenv("E2E_OLM_INLINED"), os.Getenv("E2E_OLM_SERVER")
	if directory == "" || server == "" {
		t.Skip("E2E_OLM_INLINED and E2E_OLM_SERVER are not set: there is no catalog with inlined bundles")
	}
	namespace := suite.NewNamespace(t)
	serveInlined(t, namespace, directory, server)
	apply(t, `
apiVersion: operators.coreos.com/v1alpha1
kind: CatalogSource
metadata: {namespace: %[1]s, name: inlined}
spec: {sourceType: grpc, address: "catalog.%[1]s.svc:50051"}
`, namespace)
	serves(t, namespace, "inlined")
	newGroup(t, namespace, namespace, namespace)

	i := installIn(namespace, "inlined", namespace)
	i.subscribe(t, "Manual", "startingCSV: "+oldVersion)
	i.approve(t, i.proposes(t, oldVersion))
	until(t, csvs, namespace, oldVersion, "installed", func(c *csv) bool { return c.Status.Phase == "Succeeded" })
	f := suite.Fill(t, namespace, "kept", 1)
	i.approve(t, i.proposes(t, newVersion))
	i.succeeds(t, newVersion)
	replaces(t, i)
	f.WantKept(t, "the upgrade")
}

// serveInlined starts a pod that serves the catalog in directory, and a Service before it.
func serveInlined(t *testing.T, namespace, directory, server string) {
	t.Helper()
	suite.Kubectl(t, "--namespace="+namespace, "create", "configmap", "catalog", "--from-file="+directory)
	apply(t, `
apiVersion: v1
kind: Service
metadata: {namespace: %[1]s, name: catalog}
spec:
  selector: {app: catalog}
  ports: [{port: 50051}]
---
apiVersion: v1
kind: Pod
metadata: {namespace: %[1]s, name: catalog, labels: {app: catalog}}
spec:
  automountServiceAccountToken: false
  terminationGracePeriodSeconds: 0
  securityContext: {runAsNonRoot: true, seccompProfile: {type: RuntimeDefault}}
  containers:
  - name: opm
    image: %[2]s
    args: [serve, /catalog]
    securityContext: {allowPrivilegeEscalation: false, capabilities: {drop: [ALL]}}
    readinessProbe: {exec: {command: [grpc_health_probe, "-addr=:50051"]}, periodSeconds: 1}
    volumeMounts: [{name: catalog, mountPath: /catalog/catalog.yaml, subPath: catalog.yaml}]
  volumes: [{name: catalog, configMap: {name: catalog}}]
`, namespace, server)
	pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "catalog"}}
	cluster.Until(t, suite.Cluster, pod, "serving", cluster.IsReady)
}
