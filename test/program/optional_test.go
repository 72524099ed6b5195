// SPDX-License-Identifier: Apache-2.0

package program_test

import (
	"net/http"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"

	cachev1alpha1 "github.com/example/memcached-operator/apis/v1alpha1"
	"github.com/example/memcached-operator/test/testenv"
)

// newWatched makes a Memcached that is watched by Prometheus.
func newWatched(t *testing.T, env *testenv.Env, namespace, name string) *cachev1alpha1.Memcached {
	t.Helper()
	mc := &cachev1alpha1.Memcached{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name},
		Spec: cachev1alpha1.MemcachedSpec{Size: new(int32(0)), Metrics: &cachev1alpha1.Metrics{
			ServiceMonitor: &cachev1alpha1.ServiceMonitor{},
			Rules:          &cachev1alpha1.Rules{},
		}},
	}
	env.Create(t, mc)
	return mc
}

func isReady(mc *cachev1alpha1.Memcached) *metav1.Condition {
	return meta.FindStatusCondition(mc.Status.Conditions, cachev1alpha1.ConditionReady)
}

func TestOptionalKinds_AreSkippedWithoutPrometheusOperator(t *testing.T) {
	t.Parallel()
	namespace := suite.NewNamespace(t)
	p, _ := startReady(t, namespace, "--allow-privileged-fields")
	mc := newWatched(t, &suite, namespace, "cache")
	settled(t, &suite, mc)
	const want = "; skipped PrometheusRule, ServiceMonitor: not served by the API server"
	if message := isReady(mc).Message; !strings.HasSuffix(message, want) {
		t.Errorf("Ready says %q", message)
	}
	if errors := p.Log.Errors(); len(errors) > 0 {
		t.Errorf("errors are logged: %q", errors)
	}
}

// withPrometheus is a subtest in a control plane where Prometheus' operator is.
func withPrometheus(t *testing.T, w *testenv.Env) {
	t.Helper()
	testenv.NoError(t, w.InstallMonitoring(t.Context()))
	namespace := w.NewNamespace(t)
	p := start(t, "--kubeconfig="+w.Kubeconfig, "--watch-namespaces="+namespace, "--health-probe-bind-address=127.0.0.1:0", "--metrics-bind-address=0", "--allow-privileged-fields")
	p.Ready(t)
	mc := newWatched(t, w, namespace, "cache")
	// The schema may be published a moment after the kind: then the operator comes back.
	for _, kind := range []string{"ServiceMonitor", "PrometheusRule"} {
		object := &unstructured.Unstructured{}
		object.SetGroupVersionKind(testenv.MonitoringKind(kind))
		testenv.Eventually(t, "the "+kind+" should be made", func() bool {
			return w.Client.Get(t.Context(), client.ObjectKeyFromObject(mc), object) == nil
		})
	}
	testenv.Eventually(t, "no kind should be skipped", func() bool {
		settled(t, w, mc)
		return !strings.Contains(isReady(mc).Message, "skipped")
	})
}

func TestPrivilegedFields_RequireFlag(t *testing.T) {
	t.Parallel()
	namespace := suite.NewNamespace(t)
	mc := &cachev1alpha1.Memcached{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "cache"},
		Spec:       cachev1alpha1.MemcachedSpec{Size: new(int32(0)), ServiceAccountName: new(cachev1alpha1.ObjectName("cache"))},
	}
	suite.Create(t, mc)
	p, _ := startReady(t, namespace)
	testenv.Eventually(t, "the Memcached should be stalled", func() bool {
		suite.Get(t, mc)
		return meta.IsStatusConditionTrue(mc.Status.Conditions, cachev1alpha1.ConditionStalled)
	})
	if c := isReady(mc); c.Reason != cachev1alpha1.ReasonPrivilegedField {
		t.Errorf("Ready is %v", c)
	}
	contains(t, isReady(mc).Message, "spec.serviceAccountName", "--allow-privileged-fields")
	p.Terminate(t)

	startReady(t, namespace, "--allow-privileged-fields")
	if name := settled(t, &suite, mc).Spec.Template.Spec.ServiceAccountName; name != "cache" {
		t.Errorf("the pods' service account is %q", name)
	}
}

// TestStart_FailsWhenOpenShiftIsUndetermined: a wrong answer would replace all pods.
func TestStart_FailsWhenOpenShiftIsUndetermined(t *testing.T) {
	t.Parallel()
	server := testenv.Refusing(t, suite.Operator, "/apis/security.openshift.io", http.StatusServiceUnavailable, "not now")
	text := refuse(t, "--kubeconfig="+testenv.Kubeconfig(t, &rest.Config{BearerToken: suite.Operator.BearerToken}, server), "--watch-namespaces="+suite.NewNamespace(t))
	contains(t, text, "detecting OpenShift by the API group security.openshift.io")
}
