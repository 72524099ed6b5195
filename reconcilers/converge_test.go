// SPDX-License-Identifier: Apache-2.0

package reconcilers_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	cachev1alpha1 "github.com/example/memcached-operator/apis/v1alpha1"
)

func TestReconcile_CreatesScalesAndDeletes(t *testing.T) {
	t.Parallel()
	namespace := newNamespace(t)
	startOperator(t, suite.operator, namespace, nil)

	mc := newMemcached(t, namespace, "sample", 3)
	ready(t, mc)
	if got := podNames(t, namespace); !slices.Equal(mc.Status.Nodes, got) || len(got) != 3 {
		t.Errorf("status.nodes are %v, the pods are %v", mc.Status.Nodes, got)
	}
	if want := "sample." + namespace + ".svc:11211"; mc.Status.Endpoint != want {
		t.Errorf("status.endpoint is %s, not %s", mc.Status.Endpoint, want)
	}
	if *mc.Status.Replicas != 3 || *mc.Status.ReadyReplicas != 3 || mc.Status.Selector != "app=memcached,memcached_cr=sample" {
		t.Errorf("the status is %+v", mc.Status)
	}

	patch(t, mc, `{"spec":{"size":5}}`)
	eventually(t, mc, "five pods", func(mc *cachev1alpha1.Memcached) bool { return isReady(mc) && len(mc.Status.Nodes) == 5 })
	patch(t, mc, `{"spec":{"size":0}}`)
	eventually(t, mc, "no pods", func(mc *cachev1alpha1.Memcached) bool { return isReady(mc) && len(mc.Status.Nodes) == 0 })
	if got := podNames(t, namespace); len(got) != 0 {
		t.Errorf("ready at size 0 with pods %v", got)
	}

	fatal(t, suite.Client.Delete(t.Context(), mc))
	gone(t, mc)
	gone(t, deployment(namespace, "sample"))
	gone(t, service(namespace, "sample"))
	gone(t, &policyv1.PodDisruptionBudget{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "sample"}})
}

func TestReconcile_WritesEachObjectOnce(t *testing.T) {
	t.Parallel()
	for name, size := range map[string]int32{
		"a Memcached of size 0 writes each child once and its status once": 0,
		"with pods the status is written at most once an observed change":  3,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			namespace := newNamespace(t)
			o := startOperator(t, suite.operator, namespace, nil)
			mc := newMemcached(t, namespace, "counted", size)
			ready(t, mc)
			for _, child := range []string{"/deployments/counted", "/services/counted", "/poddisruptionbudgets/counted"} {
				if got := o.matching("PATCH", child); len(got) != 1 {
					t.Errorf("writes of %s: %v", child, got)
				}
			}
			statuses := o.matching("/memcacheds/counted/status")
			// Each pod appears and becomes ready, the Deployment reports replicas, ready
			// and available ones: no more than that can be observed.
			if limit := max(1, 4*int(size)); len(statuses) > limit {
				t.Errorf("%d writes of the status, at most %d changes could be observed", len(statuses), limit)
			}
			// Before the children are written the Memcached is verified.
			if all := o.matching(); len(all) != 1+3+len(statuses) {
				t.Errorf("requests beside the Memcached's, the children's and the status': %v", all)
			}
		})
	}
}

func TestReconcile_SendsNothingWhenUnchanged(t *testing.T) {
	t.Parallel()
	namespace := newNamespace(t)
	o := startOperator(t, suite.operator, namespace, nil)
	mc := newMemcached(t, namespace, "settled", 1)
	ready(t, mc)
	before := len(o.matching())

	// Changes that are none of ours each wake the loop. The last one is ours to put
	// back: once that is seen, the others have been looked at.
	for i := range 5 {
		patch(t, service(namespace, "settled"), `{"metadata":{"annotations":{"example.com/n":"`+strings.Repeat("x", i+1)+`"}}}`)
		patch(t, deployment(namespace, "settled"), `{"metadata":{"labels":{"example.com/n":"`+strings.Repeat("x", i+1)+`"}}}`)
	}
	patch(t, deployment(namespace, "settled"), `{"spec":{"replicas":4}}`)
	eventually(t, mc, "settled again", func(mc *cachev1alpha1.Memcached) bool {
		return isReady(mc) && len(o.matching("PATCH", "/deployments/settled")) == 2
	})
	verified := 0
	for _, request := range o.matching()[before:] {
		switch {
		case strings.HasSuffix(request, "/memcacheds/settled"):
			verified++
		case !strings.HasSuffix(request, "/deployments/settled") && !strings.HasSuffix(request, "/memcacheds/settled/status"):
			t.Errorf("a request with nothing to do: %s", request)
		}
	}
	if verified != 1 {
		t.Errorf("the Memcached was verified %d times for one write of a child", verified)
	}
	if got := deploymentNow(t, namespace, "settled").Labels["example.com/n"]; got != "xxxxx" {
		t.Errorf("another owner's label is %q", got)
	}
}

func TestReconcile_WritesNothingAfterRestart(t *testing.T) {
	t.Parallel()
	namespace := newNamespace(t)
	first := startOperator(t, suite.operator, namespace, nil)
	const count = 500
	for i := range count {
		newMemcached(t, namespace, fmt.Sprintf("settled-%03d", i), 0)
	}
	list := &cachev1alpha1.MemcachedList{}
	poll(t, "all should be ready", func(ctx context.Context) (bool, error) {
		err := suite.Client.List(ctx, list, client.InNamespace(namespace))
		return !slices.ContainsFunc(list.Items, func(mc cachev1alpha1.Memcached) bool { return !isReady(&mc) }), err
	})
	first.stop()
	before := resourceVersions(t, namespace)

	second := startOperator(t, suite.operator, namespace, nil)
	// A new Memcached is served after those that were there before; one more settles
	// what the workers still had in hand.
	for _, name := range []string{"after", "the-last"} {
		ready(t, newMemcached(t, namespace, name, 0))
	}
	for _, request := range second.matching() {
		if !strings.Contains(request, "/after") && !strings.Contains(request, "/the-last") {
			t.Errorf("a request after the restart: %s", request)
		}
	}
	after := resourceVersions(t, namespace)
	for key, version := range before {
		if after[key] != version {
			t.Errorf("%s was written: %s -> %s", key, version, after[key])
		}
	}
}

// resourceVersions are those of all Memcacheds and Services of namespace.
func resourceVersions(t *testing.T, namespace string) map[string]string {
	t.Helper()
	versions := map[string]string{}
	memcacheds, services := &cachev1alpha1.MemcachedList{}, &corev1.ServiceList{}
	fatal(t, suite.Client.List(t.Context(), memcacheds, client.InNamespace(namespace)))
	fatal(t, suite.Client.List(t.Context(), services, client.InNamespace(namespace)))
	for _, mc := range memcacheds.Items {
		versions["Memcached "+mc.Name] = mc.ResourceVersion
	}
	for _, s := range services.Items {
		versions["Service "+s.Name] = s.ResourceVersion
	}
	return versions
}

func patch(t *testing.T, object client.Object, merge string) {
	t.Helper()
	fatal(t, suite.Client.Patch(t.Context(), object, client.RawPatch("application/merge-patch+json", []byte(merge)), client.FieldOwner("somebody")))
}

func podNames(t *testing.T, namespace string) []string {
	t.Helper()
	pods := &corev1.PodList{}
	fatal(t, suite.Client.List(t.Context(), pods, client.InNamespace(namespace)))
	var names []string
	for _, pod := range pods.Items {
		if pod.DeletionTimestamp == nil {
			names = append(names, pod.Name)
		}
	}
	slices.Sort(names)
	return names
}
