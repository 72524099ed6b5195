// SPDX-License-Identifier: Apache-2.0

package diff_test

import (
	"context"
	"os"
	"slices"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/example/memcached-operator/internal/diff"
	"github.com/example/memcached-operator/reconcilers/render"
	"github.com/example/memcached-operator/test/testenv"
)

// suite has controllers and a simulated node.
var suite testenv.Env

func TestMain(m *testing.M) {
	os.Exit(testenv.Main(m, &suite, testenv.Setup{}))
}

// templates are files, by path, laid over the shipped ones.
type templates map[string]string

func (files templates) renderer(t *testing.T) *render.Renderer {
	t.Helper()
	renderer, err := testenv.Renderer(files)
	testenv.NoError(t, err)
	return renderer
}

// runOperator runs an operator for namespace, with the rights for objects of any kind, until the returned
// function is called.
func runOperator(t *testing.T, namespace string, files templates) (stop func()) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	manager, err := suite.StartManager(ctx, testenv.ManagerOptions{Config: suite.Config, Namespaces: []string{namespace}, Templates: files})
	testenv.NoError(t, err)
	return func() {
		cancel()
		testenv.NoError(t, manager.Wait())
	}
}

// newMemcacheds creates Memcacheds, with an operator that has the shipped templates with files, waits until
// they are ready and stops the operator.
func newMemcacheds(t *testing.T, namespace string, files templates, memcacheds ...client.Object) {
	t.Helper()
	stop := runOperator(t, namespace, files)
	defer stop()
	suite.Create(t, memcacheds...)
	for _, mc := range memcacheds {
		suite.EventuallyReady(t, testenv.Memcached(namespace, mc.GetName(), 0))
	}
}

// newCluster returns the cluster of cfg with the kinds of the shipped templates and more.
func newCluster(t *testing.T, cfg *rest.Config, renderers ...*render.Renderer) *diff.Cluster {
	t.Helper()
	var kinds []schema.GroupVersionKind
	for _, renderer := range append(renderers, templates(nil).renderer(t)) {
		kinds = append(kinds, renderer.Kinds()...)
	}
	cluster, err := diff.NewCluster(cfg, kinds)
	testenv.NoError(t, err)
	return cluster
}

// compare compares the Memcacheds of namespace with the shipped templates and files.
func compare(t *testing.T, cluster *diff.Cluster, namespace string, renderer *render.Renderer) []diff.Comparison {
	t.Helper()
	memcacheds, err := cluster.List(t.Context(), namespace)
	testenv.NoError(t, err)
	comparisons, err := diff.Compare(t.Context(), cluster, renderer, memcacheds)
	testenv.NoError(t, err)
	return comparisons
}

// newReader returns a user who may only get and list what the shipped templates contain, and ConfigMaps, in
// namespace, without the denied resources.
func newReader(t *testing.T, namespace string, deniedResources ...string) *rest.Config {
	t.Helper()
	rules := []rbacv1.PolicyRule{
		{APIGroups: []string{"cache.example.com"}, Resources: []string{"memcacheds"}, Verbs: []string{"get", "list"}},
		{APIGroups: []string{""}, Resources: []string{"services", "configmaps"}, Verbs: []string{"get", "list"}},
		{APIGroups: []string{"apps"}, Resources: []string{"deployments"}, Verbs: []string{"get", "list"}},
		{APIGroups: []string{"policy"}, Resources: []string{"poddisruptionbudgets"}, Verbs: []string{"get", "list"}},
		{APIGroups: []string{"discovery.k8s.io"}, Resources: []string{"endpointslices"}, Verbs: []string{"get", "list"}},
		{APIGroups: []string{"networking.k8s.io"}, Resources: []string{"networkpolicies"}, Verbs: []string{"get", "list"}},
	}
	rules = slices.DeleteFunc(rules, func(rule rbacv1.PolicyRule) bool { return slices.Contains(deniedResources, rule.Resources[0]) })
	role := &rbacv1.Role{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "reader"}, Rules: rules}
	binding := &rbacv1.RoleBinding{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "reader"},
		RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "Role", Name: "reader"},
		Subjects:   []rbacv1.Subject{{APIGroup: rbacv1.GroupName, Kind: rbacv1.UserKind, Name: "reader-" + namespace}},
	}
	suite.Create(t, role, binding)
	cfg := rest.CopyConfig(suite.Config)
	cfg.Impersonate.UserName = "reader-" + namespace
	return cfg
}

// generationsOf returns the generations of the Deployments in namespace by name, which change with their specs.
func generationsOf(t *testing.T, namespace string) map[string]int64 {
	t.Helper()
	list := &appsv1.DeploymentList{}
	testenv.NoError(t, suite.Client.List(t.Context(), list, client.InNamespace(namespace)))
	result := map[string]int64{}
	for _, deployment := range list.Items {
		result[deployment.Name] = deployment.Generation
	}
	return result
}
