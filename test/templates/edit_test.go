// SPDX-License-Identifier: Apache-2.0

package templates

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	cachev1alpha1 "github.com/example/memcached-operator/apis/v1alpha1"
	"github.com/example/memcached-operator/test/controlplane"
	"github.com/example/memcached-operator/test/testenv"
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
  - select: {kind: ConfigMap, name: settings}
    fieldPaths: [data.owner]
`
)

// extraRole grants the operator access to the kinds of the two files, as an administrator would.
const extraRole = `apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRole
metadata: {name: extra}
rules:
- {apiGroups: [""], resources: [configmaps], verbs: &verbs [get, list, watch, create, patch, delete]}
- {apiGroups: [networking.k8s.io], resources: [networkpolicies], verbs: *verbs}
`

const extraRoleBinding = `apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRoleBinding
metadata: {name: extra}
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: extra}
subjects: [{kind: ServiceAccount, namespace: ` + controlplane.OperatorNamespace + `, name: ` + controlplane.OperatorServiceAccount + `}]
`

// addTo adds the two files to the kustomization in dir.
func addTo(t *testing.T, dir, kustomization string) {
	t.Helper()
	testenv.WriteFile(t, filepath.Join(dir, "configmap.yaml"), addedConfigMap)
	testenv.WriteFile(t, filepath.Join(dir, "networkpolicy.yaml"), addedNetworkPolicy)
	testenv.WriteFile(t, filepath.Join(dir, "kustomization.yaml"), kustomization)
}

// newCluster returns a control plane and a kubeconfig of the operator's service account.
func newCluster(t *testing.T) (cluster *testenv.Env, kubeconfig string) {
	t.Helper()
	cluster = testenv.New(t, testenv.Setup{Identity: true})
	return cluster, testenv.Kubeconfig(t, cluster.Operator, "")
}

func TestTemplates_FilesAddedToTheBase(t *testing.T) {
	t.Parallel()
	cluster, kubeconfig := newCluster(t)
	source := copyTree(t)
	base := filepath.Join(source, "manifests", "base")
	shipped, err := os.ReadFile(filepath.Join(base, "kustomization.yaml"))
	testenv.NoError(t, err)

	addTo(t, base, strings.Replace(string(shipped), "- deployment.yaml\n", "- deployment.yaml\n- configmap.yaml\n- networkpolicy.yaml\n", 1)+addedReplacements)
	makeRoles(t, cluster, source)
	stop := runOperator(t, build(t, source), kubeconfig)
	check(t, cluster, func() {
		stop()
		// The roles still include the kinds of the removed files, so that they can be pruned.
		testenv.WriteFile(t, filepath.Join(base, "kustomization.yaml"), string(shipped))
		makeRoles(t, cluster, source)
		runOperator(t, build(t, source), kubeconfig)
	})
}

func TestTemplates_FilesInAManifestsDir(t *testing.T) {
	t.Parallel()
	cluster, kubeconfig := newCluster(t)
	cluster.Create(t, testenv.Parse(t, extraRole), testenv.Parse(t, extraRoleBinding))
	dir := t.TempDir()
	site := filepath.Join(dir, "components", "site")
	const component = "apiVersion: kustomize.config.k8s.io/v1alpha1\nkind: Component\n"
	addTo(t, site, component+"resources: [configmap.yaml, networkpolicy.yaml]\nreplacements:"+addedReplacements)
	stop := runOperator(t, suite.Binary, kubeconfig, "--manifests-dir="+dir)
	check(t, cluster, func() {
		stop()
		testenv.WriteFile(t, filepath.Join(site, "kustomization.yaml"), component+"resources: []\n")
		runOperator(t, suite.Binary, kubeconfig, "--manifests-dir="+dir)
	})
}

// makeRoles generates the operator's roles from the templates in source, as
// `make manifests` does, and applies them.
func makeRoles(t *testing.T, cluster *testenv.Env, source string) {
	t.Helper()
	command(t, source, "go", "run", "-trimpath", "./hack/rbac")
	content, err := os.ReadFile(filepath.Join(source, "config", "rbac", "templates_role.yaml"))
	testenv.NoError(t, err)
	role := testenv.Parse(t, string(content))
	role.SetName("memcached-operator-" + role.GetName())
	testenv.NoError(t, cluster.Apply(t.Context(), role))
}

// check checks that the added objects of two Memcacheds in one namespace are created, that
// drift of them is reverted, and that they are pruned after remove, while other objects are kept.
func check(t *testing.T, cluster *testenv.Env, remove func()) {
	t.Helper()
	foreign := configMap("foreign")
	foreign.Labels = map[string]string{"app.kubernetes.io/managed-by": "memcached-operator"}
	cluster.Create(t, foreign)
	memcacheds := []*cachev1alpha1.Memcached{cluster.NewMemcached(t, namespace, "one", 0), cluster.NewMemcached(t, namespace, "two", 0)}
	for _, mc := range memcacheds {
		settings, policy := configMap(mc.Name+"-settings"), networkPolicy(mc.Name)
		testenv.EventuallyObject(t, cluster, settings, "the ConfigMap should have the name of the Memcached", func(c *corev1.ConfigMap) bool {
			return c.Data["owner"] == mc.Name
		})
		testenv.EventuallyObject(t, cluster, policy, "the NetworkPolicy should select the pods of the Memcached", func(p *networkingv1.NetworkPolicy) bool {
			return p.Spec.PodSelector.MatchLabels["memcached_cr"] == mc.Name
		})

		cluster.Patch(t, settings, `{"data":{"greeting":"bye","mine":"stays"}}`)
		testenv.EventuallyObject(t, cluster, settings, "the greeting should be reverted, and the key of another owner kept", func(c *corev1.ConfigMap) bool {
			return c.Data["greeting"] == "hello" && c.Data["mine"] == "stays"
		})
		uid := policy.UID
		cluster.Delete(t, policy)
		testenv.EventuallyObject(t, cluster, policy, "the NetworkPolicy should be created again", func(p *networkingv1.NetworkPolicy) bool { return p.UID != uid })
	}

	remove()
	for _, mc := range memcacheds {
		cluster.EventuallyGone(t, configMap(mc.Name+"-settings"))
		cluster.EventuallyGone(t, networkPolicy(mc.Name))
		cluster.EventuallyReady(t, mc)
	}
	cluster.Get(t, foreign)
}

const namespace = "default"

func configMap(name string) *corev1.ConfigMap {
	return &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name}}
}

func networkPolicy(name string) *networkingv1.NetworkPolicy {
	return &networkingv1.NetworkPolicy{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name}}
}
