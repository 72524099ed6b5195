// SPDX-License-Identifier: Apache-2.0

package reconcilers_test

import (
	"context"
	"strings"
	"testing"

	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/discovery"
	"sigs.k8s.io/controller-runtime/pkg/client"

	cachev1alpha1 "github.com/example/memcached-operator/apis/v1alpha1"
	"github.com/example/memcached-operator/test/controlplane"
	"github.com/example/memcached-operator/test/testenv"
)

// monitors is a kind like ServiceMonitor. Definitions are the cluster's, so each test
// has a group of its own.
type monitors struct {
	namespace, group string
}

func newMonitors(t *testing.T) monitors {
	t.Helper()
	namespace := suite.NewNamespace(t)
	return monitors{namespace, namespace + ".example.test"}
}

// options are those of an operator that creates a Monitor where a Memcached has labels for its pods.
func (m monitors) options() testenv.ManagerOptions {
	return testenv.ManagerOptions{DiscoveryInterval: often, Templates: map[string]string{
		"components/podMetadata/kustomization.yaml": "apiVersion: kustomize.config.k8s.io/v1alpha1\nkind: Component\nresources: [monitor.yaml]\n",
		"components/podMetadata/monitor.yaml":       "apiVersion: " + m.group + "/v1\nkind: Monitor\nmetadata: {name: memcached}\nspec: {endpoints: [{port: metrics, interval: 30s}]}\n",
	}}
}

// install creates the CustomResourceDefinition; the operator finds out by itself.
func (m monitors) install(t *testing.T, scope string) {
	t.Helper()
	testenv.NoError(t, suite.ApplyYAML(t.Context(), m.definition(scope)))
}

func (m monitors) definition(scope string) string {
	return testenv.CustomResource(m.group, "Monitor", scope,
		`{type: object, properties: {spec: {type: object, properties: {endpoints: {type: array, items: {type: object, x-kubernetes-preserve-unknown-fields: true}}}}}}`)
}

// installAndWait waits until a client can read Monitors and their schema, which is published later.
func (m monitors) installAndWait(t *testing.T) {
	t.Helper()
	m.install(t, "Namespaced")
	testenv.Eventually(t, "Monitors should be served", func(ctx context.Context) (bool, error) {
		list := &unstructured.UnstructuredList{}
		list.SetGroupVersionKind(schema.GroupVersionKind{Group: m.group, Version: "v1", Kind: "MonitorList"})
		return suite.Client.List(ctx, list, client.InNamespace(m.namespace)) == nil, nil
	})
	discovered, err := discovery.NewDiscoveryClientForConfig(suite.Config)
	testenv.NoError(t, err)
	testenv.Eventually(t, "the schema of Monitors should be published", func(context.Context) (bool, error) {
		paths, err := discovered.OpenAPIV3().Paths()
		if err != nil || paths["apis/"+m.group+"/v1"] == nil {
			return false, err
		}
		schema, err := paths["apis/"+m.group+"/v1"].Schema("application/json")
		return strings.Contains(string(schema), `"Monitor"`), err
	})
}

// grant lets the operator work with Monitors.
func (m monitors) grant(t *testing.T) {
	t.Helper()
	metadata := metav1.ObjectMeta{Name: m.group}
	suite.Create(t, &rbacv1.ClusterRole{ObjectMeta: metadata, Rules: []rbacv1.PolicyRule{{
		APIGroups: []string{m.group}, Resources: []string{"monitors"}, Verbs: []string{"get", "list", "watch", "create", "patch", "delete"},
	}}}, &rbacv1.ClusterRoleBinding{
		ObjectMeta: metadata,
		RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: m.group},
		Subjects:   []rbacv1.Subject{{Kind: rbacv1.ServiceAccountKind, Namespace: controlplane.OperatorNamespace, Name: controlplane.OperatorServiceAccount}},
	})
}

func (m monitors) monitor(name string) *unstructured.Unstructured {
	object := &unstructured.Unstructured{}
	object.SetGroupVersionKind(schema.GroupVersionKind{Group: m.group, Version: "v1", Kind: "Monitor"})
	object.SetNamespace(m.namespace)
	object.SetName(name)
	return object
}

// eventuallyApplied waits until the Monitor of the Memcached sample is as the template says.
func (m monitors) eventuallyApplied(t *testing.T) *unstructured.Unstructured {
	t.Helper()
	object := m.monitor("sample")
	testenv.Eventually(t, "the Monitor should be applied", func(ctx context.Context) (bool, error) {
		err := suite.Client.Get(ctx, client.ObjectKeyFromObject(object), object)
		if meta.IsNoMatchError(err) {
			return false, nil
		}
		endpoints, _, _ := unstructured.NestedSlice(object.Object, "spec", "endpoints")
		return err == nil && len(endpoints) == 1 && endpoints[0].(map[string]any)["interval"] == "30s", client.IgnoreNotFound(err)
	})
	return object
}

// newMonitored creates a Memcached with a Monitor.
func (m monitors) newMonitored(t *testing.T, name string) *cachev1alpha1.Memcached {
	t.Helper()
	mc := memcached(m.namespace, name)
	mc.Spec.PodMetadata = &cachev1alpha1.PodMetadata{Labels: map[string]cachev1alpha1.LabelValue{"team": "web"}}
	suite.Create(t, mc)
	return mc
}

// eventuallySays waits until mc is ready with a message that ends with words, or mentions no skipped
// kind when words is empty.
func eventuallySays(t *testing.T, mc *cachev1alpha1.Memcached, words string) {
	t.Helper()
	eventually(t, mc, "ready, and it should say "+words, func(mc *cachev1alpha1.Memcached) bool {
		message := messageOf(mc, cachev1alpha1.ConditionReady)
		return isReady(mc) && strings.HasSuffix(message, words) && (words != "" || !strings.Contains(message, "skipped"))
	})
}
