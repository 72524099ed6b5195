// SPDX-License-Identifier: Apache-2.0

package reconcilers_test

import (
	"context"
	"strings"
	"testing"

	eventsv1 "k8s.io/api/events/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/discovery"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	cachev1alpha1 "github.com/example/memcached-operator/apis/v1alpha1"
	"github.com/example/memcached-operator/test/controlplane"
)

// monitors is a kind like ServiceMonitor. Definitions are the cluster's, so each test
// has a group of its own.
type monitors struct {
	group string
}

func newMonitors(namespace string) monitors {
	return monitors{namespace + ".example.test"}
}

// edits bring a Monitor where a Memcached has labels for its pods.
func (m monitors) edits() edit {
	return edit{
		"components/podMetadata/kustomization.yaml": "apiVersion: kustomize.config.k8s.io/v1alpha1\nkind: Component\nresources: [monitor.yaml]\n",
		"components/podMetadata/monitor.yaml":       "apiVersion: " + m.group + "/v1\nkind: Monitor\nmetadata: {name: memcached}\nspec: {endpoints: [{port: metrics, interval: 30s}]}\n",
	}
}

func (m monitors) definition(t *testing.T) *unstructured.Unstructured {
	t.Helper()
	return definition(t, m.group, "monitors", "Monitor", "Namespaced")
}

// definition is a minimal CustomResourceDefinition of version v1.
func definition(t *testing.T, group, plural, kind, scope string) *unstructured.Unstructured {
	t.Helper()
	object := &unstructured.Unstructured{}
	fatal(t, yaml.Unmarshal([]byte(`apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: `+plural+`.`+group+`}
spec:
  group: `+group+`
  names: {kind: `+kind+`, plural: `+plural+`}
  scope: `+scope+`
  versions:
  - name: v1
    served: true
    storage: true
    schema:
      openAPIV3Schema:
        type: object
        properties:
          spec:
            type: object
            properties:
              endpoints:
                type: array
                items: {type: object, x-kubernetes-preserve-unknown-fields: true}
`), &object.Object))
	return object
}

// newServedMonitors returns a kind that is served, and that the operator may use.
func newServedMonitors(t *testing.T, namespace string) monitors {
	t.Helper()
	m := newMonitors(namespace)
	m.grant(t)
	m.install(t)
	m.served(t, namespace)
	return m
}

// install makes the definition; the operator finds out by itself.
func (m monitors) install(t *testing.T) {
	t.Helper()
	fatal(t, suite.Apply(t.Context(), m.definition(t)))
}

// served waits until a client can read Monitors and their schema, which is published later.
func (m monitors) served(t *testing.T, namespace string) {
	t.Helper()
	poll(t, "Monitors should be served", func(ctx context.Context) (bool, error) {
		list := &unstructured.UnstructuredList{}
		list.SetGroupVersionKind(schema.GroupVersionKind{Group: m.group, Version: "v1", Kind: "MonitorList"})
		return suite.Client.List(ctx, list, client.InNamespace(namespace)) == nil, nil
	})
	discovered, err := discovery.NewDiscoveryClientForConfig(suite.Config)
	fatal(t, err)
	poll(t, "the schema of Monitors should be published", func(context.Context) (bool, error) {
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
	fatal(t, suite.Client.Create(t.Context(), &rbacv1.ClusterRole{ObjectMeta: metadata, Rules: []rbacv1.PolicyRule{{
		APIGroups: []string{m.group}, Resources: []string{"monitors"}, Verbs: []string{"get", "list", "watch", "create", "patch", "delete"},
	}}}))
	fatal(t, suite.Client.Create(t.Context(), &rbacv1.ClusterRoleBinding{
		ObjectMeta: metadata,
		RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: m.group},
		Subjects:   []rbacv1.Subject{{Kind: rbacv1.ServiceAccountKind, Namespace: controlplane.OperatorNamespace, Name: controlplane.OperatorServiceAccount}},
	}))
}

func (m monitors) monitor(namespace, name string) *unstructured.Unstructured {
	object := &unstructured.Unstructured{}
	object.SetGroupVersionKind(schema.GroupVersionKind{Group: m.group, Version: "v1", Kind: "Monitor"})
	object.SetNamespace(namespace)
	object.SetName(name)
	return object
}

// made waits until the Monitor of a Memcached is as the template says.
func (m monitors) made(t *testing.T, namespace, name string) *unstructured.Unstructured {
	t.Helper()
	object := m.monitor(namespace, name)
	poll(t, "the Monitor should be made", func(ctx context.Context) (bool, error) {
		err := suite.Client.Get(ctx, client.ObjectKeyFromObject(object), object)
		if meta.IsNoMatchError(err) {
			return false, nil
		}
		endpoints, _, _ := unstructured.NestedSlice(object.Object, "spec", "endpoints")
		return err == nil && len(endpoints) == 1 && endpoints[0].(map[string]any)["interval"] == "30s", client.IgnoreNotFound(err)
	})
	return object
}

// newMonitored makes a Memcached with a Monitor.
func newMonitored(t *testing.T, namespace, name string) *cachev1alpha1.Memcached {
	t.Helper()
	mc := &cachev1alpha1.Memcached{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name},
		Spec: cachev1alpha1.MemcachedSpec{
			Size:        new(int32(0)),
			PodMetadata: &cachev1alpha1.PodMetadata{Labels: map[string]cachev1alpha1.LabelValue{"team": "web"}},
		},
	}
	fatal(t, suite.Client.Create(t.Context(), mc))
	return mc
}

// skippedEvent waits until count events have reported that the kind is skipped.
func skippedEvent(t *testing.T, namespace string, count int) {
	t.Helper()
	poll(t, "an event should say so", func(ctx context.Context) (bool, error) {
		list := &eventsv1.EventList{}
		err := suite.Client.List(ctx, list, client.InNamespace(namespace))
		found := 0
		for _, event := range list.Items {
			if event.Reason == "KindUnavailable" && event.Type == "Warning" && strings.HasSuffix(notServed, event.Note) {
				found++
			}
		}
		return found == count, err
	})
}

// says waits until mc is ready with a message that ends with words, or mentions no skipped kind when
// words is empty.
func says(t *testing.T, mc *cachev1alpha1.Memcached, words string) {
	t.Helper()
	eventually(t, mc, "ready, and it should say "+words, func(mc *cachev1alpha1.Memcached) bool {
		message := ""
		if c := meta.FindStatusCondition(mc.Status.Conditions, cachev1alpha1.ConditionReady); c != nil {
			message = c.Message
		}
		return isReady(mc) && strings.HasSuffix(message, words) && (words != "" || !strings.Contains(message, "skipped"))
	})
}
