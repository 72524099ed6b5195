// SPDX-License-Identifier: Apache-2.0

package templates

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"

	cachev1alpha1 "github.com/example/memcached-operator/apis/v1alpha1"
	"github.com/example/memcached-operator/test/controlplane"
)

// Two files that a user adds, of kinds that the shipped templates do not hold.
const (
	addedConfigMap = `apiVersion: v1
kind: ConfigMap
metadata:
  name: settings
data:
  greeting: hello
  owner: nobody
`
	addedNetworkPolicy = `apiVersion: networking.k8s.io/v1
kind: NetworkPolicy
metadata:
  name: memcached
spec:
  podSelector:
    matchLabels:
      app: memcached
      memcached_cr: memcached
  ingress:
  - ports:
    - {port: 11211, protocol: TCP}
  policyTypes: [Ingress]
`
	// addedReplacements fills the name of the Memcached into both.
	addedReplacements = `
- source: {kind: Memcached, fieldPath: metadata.name}
  targets:
  - select: {kind: NetworkPolicy}
    fieldPaths: [spec.podSelector.matchLabels.memcached_cr]
  - select: {kind: ConfigMap}
    fieldPaths: [data.owner]
`
)

// addTo adds the two files to the kustomization in dir.
func addTo(t *testing.T, dir, kustomization string) {
	t.Helper()
	writeFile(t, filepath.Join(dir, "configmap.yaml"), addedConfigMap)
	writeFile(t, filepath.Join(dir, "networkpolicy.yaml"), addedNetworkPolicy)
	writeFile(t, filepath.Join(dir, "kustomization.yaml"), kustomization)
}

func TestFilesAddedUnderBaseReachTheClusterWithoutTouchingGo(t *testing.T) {
	t.Parallel()
	cluster, kubeconfig := startCluster(t)
	source := copyTree(t)
	base := filepath.Join(source, "manifests", "base")
	shipped, err := os.ReadFile(filepath.Join(base, "kustomization.yaml"))
	fatal(t, err)

	addTo(t, base, strings.Replace(string(shipped), "- deployment.yaml\n", "- deployment.yaml\n- configmap.yaml\n- networkpolicy.yaml\n", 1)+addedReplacements)
	makeRoles(t, cluster, source)
	stop := runOperator(t, build(t, source), kubeconfig)
	check(t, cluster, func() {
		stop()
		// Taken away again: the roles still cover the kinds, so that they can be pruned.
		writeFile(t, filepath.Join(base, "kustomization.yaml"), string(shipped))
		makeRoles(t, cluster, source)
		runOperator(t, build(t, source), kubeconfig)
	})
}

func TestFilesInAManifestsDirReachTheClusterWithoutARebuild(t *testing.T) {
	t.Parallel()
	cluster, kubeconfig := startCluster(t)
	program := build(t, controlplane.Root())
	grant(t, cluster)
	dir := t.TempDir()
	site := filepath.Join(dir, "components", "site")
	addTo(t, site, `apiVersion: kustomize.config.k8s.io/v1alpha1
kind: Component
resources: [configmap.yaml, networkpolicy.yaml]
replacements:`+addedReplacements)
	stop := runOperator(t, program, kubeconfig, "--manifests-dir", dir)
	check(t, cluster, func() {
		stop()
		writeFile(t, filepath.Join(site, "kustomization.yaml"), `apiVersion: kustomize.config.k8s.io/v1alpha1
kind: Component
resources: []
`)
		runOperator(t, program, kubeconfig, "--manifests-dir", dir)
	})
}

// makeRoles generates the operator's roles from the templates in source, as
// `make manifests` does, and applies them.
func makeRoles(t *testing.T, cluster *controlplane.ControlPlane, source string) {
	t.Helper()
	command(t, source, "go", "run", "-trimpath", "./hack/rbac")
	applyFile(t, cluster, filepath.Join(source, "config", "rbac", "templates_role.yaml"), func(role *unstructured.Unstructured) {
		role.SetName("memcached-operator-" + role.GetName())
	})
}

// grant gives the operator what the two files need, as an admin would by hand.
func grant(t *testing.T, cluster *controlplane.ControlPlane) {
	t.Helper()
	verbs := []any{"get", "list", "watch", "create", "patch", "delete"}
	fatal(t, cluster.Apply(t.Context(), &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "rbac.authorization.k8s.io/v1", "kind": "ClusterRole",
		"metadata": map[string]any{"name": "extra"},
		"rules": []any{
			map[string]any{"apiGroups": []any{""}, "resources": []any{"configmaps"}, "verbs": verbs},
			map[string]any{"apiGroups": []any{"networking.k8s.io"}, "resources": []any{"networkpolicies"}, "verbs": verbs},
		},
	}}))
	fatal(t, cluster.Apply(t.Context(), &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "rbac.authorization.k8s.io/v1", "kind": "ClusterRoleBinding",
		"metadata": map[string]any{"name": "extra"},
		"roleRef":  map[string]any{"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": "extra"},
		"subjects": []any{map[string]any{"kind": "ServiceAccount", "namespace": controlplane.OperatorNamespace, "name": controlplane.OperatorServiceAccount}},
	}}))
}

// check follows the two added objects of two Memcacheds in one namespace: made,
// watched, put back, and, after takeAway, pruned, while what is not theirs stays.
func check(t *testing.T, cluster *controlplane.ControlPlane, takeAway func()) {
	t.Helper()
	const namespace = "default"
	names := []string{"one", "two"}
	foreign := configMap(namespace, "foreign")
	foreign.Labels = map[string]string{"app.kubernetes.io/managed-by": "memcached-operator"}
	fatal(t, cluster.Client.Create(t.Context(), foreign))
	for _, name := range names {
		newMemcached(t, cluster, namespace, name, 0)
	}
	for _, name := range names {
		eventually(t, cluster, configMap(namespace, name+"-settings"), "the ConfigMap, filled in", func(c *corev1.ConfigMap) bool { return c.Data["owner"] == name })
		policy := &networkingv1.NetworkPolicy{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name}}
		eventually(t, cluster, policy, "the NetworkPolicy, filled in", func(p *networkingv1.NetworkPolicy) bool {
			return p.Spec.PodSelector.MatchLabels["memcached_cr"] == name
		})

		changed := configMap(namespace, name+"-settings")
		fatal(t, cluster.Client.Patch(t.Context(), changed, client.RawPatch("application/merge-patch+json", []byte(`{"data":{"greeting":"bye","mine":"stays"}}`))))
		eventually(t, cluster, changed, "the greeting put back, and somebody else's key kept", func(c *corev1.ConfigMap) bool {
			return c.Data["greeting"] == "hello" && c.Data["mine"] == "stays"
		})
		uid := policy.UID
		fatal(t, cluster.Client.Delete(t.Context(), policy))
		eventually(t, cluster, policy, "the NetworkPolicy made anew", func(p *networkingv1.NetworkPolicy) bool { return p.UID != uid })
	}

	takeAway()
	for _, name := range names {
		for _, object := range []client.Object{configMap(namespace, name+"-settings"), &networkingv1.NetworkPolicy{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name}}} {
			poll(t, "what is no longer in the templates is pruned", func(ctx context.Context) (bool, error) {
				err := cluster.Client.Get(ctx, client.ObjectKeyFromObject(object), object)
				return apierrors.IsNotFound(err), client.IgnoreNotFound(err)
			})
		}
		mc := &cachev1alpha1.Memcached{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name}}
		eventually(t, cluster, mc, "the rest is as it was", isReady)
	}
	fatal(t, cluster.Client.Get(t.Context(), client.ObjectKeyFromObject(foreign), foreign))
}
