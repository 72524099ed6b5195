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

// Two files that a user adds, of kinds that the base does not contain.
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
	// addedReplacements set the name of the Memcached in both.
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

func TestTemplates_FilesAddedToTheBase(t *testing.T) {
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
		// The roles still include the kinds of the removed files, so that they can be pruned.
		writeFile(t, filepath.Join(base, "kustomization.yaml"), string(shipped))
		makeRoles(t, cluster, source)
		runOperator(t, build(t, source), kubeconfig)
	})
}

func TestTemplates_FilesInAManifestsDir(t *testing.T) {
	t.Parallel()
	cluster, kubeconfig := startCluster(t)
	binary := build(t, controlplane.Root())
	grant(t, cluster)
	dir := t.TempDir()
	site := filepath.Join(dir, "components", "site")
	addTo(t, site, `apiVersion: kustomize.config.k8s.io/v1alpha1
kind: Component
resources: [configmap.yaml, networkpolicy.yaml]
replacements:`+addedReplacements)
	stop := runOperator(t, binary, kubeconfig, "--manifests-dir", dir)
	check(t, cluster, func() {
		stop()
		writeFile(t, filepath.Join(site, "kustomization.yaml"), `apiVersion: kustomize.config.k8s.io/v1alpha1
kind: Component
resources: []
`)
		runOperator(t, binary, kubeconfig, "--manifests-dir", dir)
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

// grant grants the operator access to the kinds of the two files, as an administrator would.
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

// check checks that the added objects of two Memcacheds in one namespace are created, that
// drift of them is reverted, and that they are pruned after remove, while other objects are kept.
func check(t *testing.T, cluster *controlplane.ControlPlane, remove func()) {
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
		eventually(t, cluster, configMap(namespace, name+"-settings"), "the ConfigMap has the name of the Memcached", func(c *corev1.ConfigMap) bool { return c.Data["owner"] == name })
		policy := &networkingv1.NetworkPolicy{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name}}
		eventually(t, cluster, policy, "the NetworkPolicy selects the pods of the Memcached", func(p *networkingv1.NetworkPolicy) bool {
			return p.Spec.PodSelector.MatchLabels["memcached_cr"] == name
		})

		changed := configMap(namespace, name+"-settings")
		fatal(t, cluster.Client.Patch(t.Context(), changed, client.RawPatch("application/merge-patch+json", []byte(`{"data":{"greeting":"bye","mine":"stays"}}`))))
		eventually(t, cluster, changed, "the greeting is reverted, and the key of another owner is kept", func(c *corev1.ConfigMap) bool {
			return c.Data["greeting"] == "hello" && c.Data["mine"] == "stays"
		})
		uid := policy.UID
		fatal(t, cluster.Client.Delete(t.Context(), policy))
		eventually(t, cluster, policy, "the NetworkPolicy is created again", func(p *networkingv1.NetworkPolicy) bool { return p.UID != uid })
	}

	remove()
	for _, name := range names {
		for _, object := range []client.Object{configMap(namespace, name+"-settings"), &networkingv1.NetworkPolicy{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name}}} {
			poll(t, "objects that are no longer in the templates are pruned", func(ctx context.Context) (bool, error) {
				err := cluster.Client.Get(ctx, client.ObjectKeyFromObject(object), object)
				return apierrors.IsNotFound(err), client.IgnoreNotFound(err)
			})
		}
		mc := &cachev1alpha1.Memcached{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name}}
		eventually(t, cluster, mc, "the Memcached is ready", isReady)
	}
	fatal(t, cluster.Client.Get(t.Context(), client.ObjectKeyFromObject(foreign), foreign))
}
