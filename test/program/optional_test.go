// SPDX-License-Identifier: Apache-2.0

package program

import (
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	cachev1alpha1 "github.com/example/memcached-operator/apis/v1alpha1"
	"github.com/example/memcached-operator/test/controlplane"
	"github.com/example/memcached-operator/test/testenv"
)

// newWatched makes a Memcached that is watched by Prometheus.
func (w world) newWatched(t *testing.T, namespace, name string) *cachev1alpha1.Memcached {
	t.Helper()
	mc := &cachev1alpha1.Memcached{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name},
		Spec: cachev1alpha1.MemcachedSpec{Size: new(int32(0)), Metrics: &cachev1alpha1.Metrics{
			ServiceMonitor: &cachev1alpha1.ServiceMonitor{},
			Rules:          &cachev1alpha1.Rules{},
		}},
	}
	fatal(t, w.Client.Create(t.Context(), mc))
	return mc
}

func isReady(mc *cachev1alpha1.Memcached) *metav1.Condition {
	return meta.FindStatusCondition(mc.Status.Conditions, cachev1alpha1.ConditionReady)
}

func TestWithoutPrometheusTheRestIsMade(t *testing.T) {
	t.Parallel()
	namespace := suite.newNamespace(t)
	p, _ := startReady(t, namespace, "--allow-privileged-fields")
	mc := suite.newWatched(t, namespace, "cache")
	suite.settled(t, mc)
	const want = "; left out, since this API server does not serve them: PrometheusRule, ServiceMonitor"
	if message := isReady(mc).Message; !strings.HasSuffix(message, want) {
		t.Errorf("Ready says %q", message)
	}
	if errors := p.Log.Errors(); len(errors) > 0 {
		t.Errorf("errors are logged: %q", errors)
	}
}

// defineMonitoring installs the two kinds of Prometheus' operator, as far as we know them.
func defineMonitoring(t *testing.T, plane *controlplane.ControlPlane) {
	t.Helper()
	for plural, kind := range map[string]string{"servicemonitors": "ServiceMonitor", "prometheusrules": "PrometheusRule"} {
		object := &unstructured.Unstructured{}
		fatal(t, yaml.Unmarshal([]byte(`apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: `+plural+`.monitoring.coreos.com}
spec:
  group: monitoring.coreos.com
  names: {kind: `+kind+`, plural: `+plural+`}
  scope: Namespaced
  versions:
  - name: v1
    served: true
    storage: true
    schema:
      openAPIV3Schema:
        type: object
        properties:
          spec: {type: object, x-kubernetes-preserve-unknown-fields: true}
`), &object.Object))
		fatal(t, plane.Apply(t.Context(), object))
	}
	for _, kind := range []string{"ServiceMonitorList", "PrometheusRuleList"} {
		eventually(t, kind+" should be served", func() bool {
			list := &unstructured.UnstructuredList{}
			list.SetGroupVersionKind(monitoringKind(kind))
			return plane.Client.List(t.Context(), list) == nil
		})
	}
}

func monitoringKind(kind string) schema.GroupVersionKind {
	return schema.GroupVersionKind{Group: "monitoring.coreos.com", Version: "v1", Kind: kind}
}

// withPrometheus is a subtest in a control plane where Prometheus' operator is.
func withPrometheus(t *testing.T, plane *controlplane.ControlPlane) {
	t.Helper()
	defineMonitoring(t, plane)
	w := world{plane}
	namespace := w.newNamespace(t)
	p := start(t, "--kubeconfig="+plane.Kubeconfig, "--watch-namespaces="+namespace, "--health-probe-bind-address=127.0.0.1:0", "--metrics-bind-address=0", "--allow-privileged-fields")
	p.Ready(t)
	mc := w.newWatched(t, namespace, "cache")
	// The schema may be published a moment after the kind: then the operator comes back.
	for _, kind := range []string{"ServiceMonitor", "PrometheusRule"} {
		object := &unstructured.Unstructured{}
		object.SetGroupVersionKind(monitoringKind(kind))
		eventually(t, "the "+kind+" should be made", func() bool {
			return w.Client.Get(t.Context(), client.ObjectKeyFromObject(mc), object) == nil
		})
	}
	eventually(t, "nothing should be left out", func() bool {
		w.settled(t, mc)
		return !strings.Contains(isReady(mc).Message, "left out")
	})
}

func TestPrivilegedFieldsAreTakenWithTheFlagOnly(t *testing.T) {
	t.Parallel()
	namespace := suite.newNamespace(t)
	mc := &cachev1alpha1.Memcached{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "cache"},
		Spec:       cachev1alpha1.MemcachedSpec{Size: new(int32(0)), ServiceAccountName: new(cachev1alpha1.ObjectName("cache"))},
	}
	fatal(t, suite.Client.Create(t.Context(), mc))
	p, _ := startReady(t, namespace)
	eventually(t, "the Memcached should be stalled", func() bool {
		fatal(t, suite.Client.Get(t.Context(), client.ObjectKeyFromObject(mc), mc))
		return meta.IsStatusConditionTrue(mc.Status.Conditions, cachev1alpha1.ConditionStalled)
	})
	if c := isReady(mc); c.Reason != cachev1alpha1.ReasonPrivilegedField {
		t.Errorf("Ready is %v", c)
	}
	contains(t, isReady(mc).Message, "spec.serviceAccountName", "--allow-privileged-fields")
	p.Terminate(t)

	startReady(t, namespace, "--allow-privileged-fields")
	if name := suite.settled(t, mc).Spec.Template.Spec.ServiceAccountName; name != "cache" {
		t.Errorf("the pods' service account is %q", name)
	}
}

// Taking OpenShift for something else would roll all pods.
func TestRefusesToStartWhenItCannotTellOpenShift(t *testing.T) {
	t.Parallel()
	target, err := url.Parse(suite.operator.Host)
	fatal(t, err)
	transport, err := rest.TransportFor(suite.operator)
	fatal(t, err)
	proxy := httputil.NewSingleHostReverseProxy(target)
	proxy.Transport = transport
	server := httptest.NewServer(http.HandlerFunc(func(out http.ResponseWriter, in *http.Request) {
		if in.URL.Path == "/apis/security.openshift.io" {
			http.Error(out, "not now", http.StatusServiceUnavailable)
			return
		}
		proxy.ServeHTTP(out, in)
	}))
	t.Cleanup(server.Close)
	text := refuse(t, "--kubeconfig="+testenv.Kubeconfig(t, &rest.Config{BearerToken: suite.operator.BearerToken}, server.URL), "--watch-namespaces="+suite.newNamespace(t))
	contains(t, text, "asking the API server whether it is OpenShift's (group security.openshift.io)")
}
