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
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"

	cachev1alpha1 "github.com/example/memcached-operator/apis/v1alpha1"
	"github.com/example/memcached-operator/test/testenv"
)

func TestReconcile_CreatesScalesAndDeletes(t *testing.T) {
	t.Parallel()
	namespace := suite.NewNamespace(t)
	startOperator(t, namespace)

	mc := suite.NewMemcached(t, namespace, "sample", 3)
	suite.EventuallyReady(t, mc)
	if got := podNames(t, namespace); !slices.Equal(mc.Status.Nodes, got) || len(got) != 3 {
		t.Errorf("status.nodes are %v, the pods are %v", mc.Status.Nodes, got)
	}
	if want := "sample." + namespace + ".svc:11211"; mc.Status.Endpoint != want {
		t.Errorf("status.endpoint is %s, not %s", mc.Status.Endpoint, want)
	}
	if *mc.Status.Replicas != 3 || *mc.Status.ReadyReplicas != 3 || mc.Status.Selector != "app=memcached,memcached_cr=sample" {
		t.Errorf("the status is %+v", mc.Status)
	}

	suite.Patch(t, mc, `{"spec":{"size":5}}`)
	eventuallyReadyWith(t, mc, 5)
	suite.Patch(t, mc, `{"spec":{"size":0}}`)
	eventuallyReadyWith(t, mc, 0)
	if got := podNames(t, namespace); len(got) != 0 {
		t.Errorf("ready at size 0 with pods %v", got)
	}

	suite.Delete(t, mc)
	suite.EventuallyGone(t, mc)
	suite.EventuallyGone(t, deployment(namespace, "sample"))
	suite.EventuallyGone(t, service(namespace, "sample"))
	suite.EventuallyGone(t, &policyv1.PodDisruptionBudget{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "sample"}})
}

func TestReconcile_WritesEachObjectOnce(t *testing.T) {
	t.Parallel()
	for name, size := range map[string]int32{
		"a Memcached of size 0 writes each child once and its status once": 0,
		"with pods the status is written at most once an observed change":  3,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			namespace := suite.NewNamespace(t)
			o := startOperator(t, namespace)
			suite.EventuallyReady(t, suite.NewMemcached(t, namespace, "counted", size))
			for _, child := range []string{"/deployments/counted", "/services/counted", "/poddisruptionbudgets/counted"} {
				if got := o.Matching("PATCH", child); len(got) != 1 {
					t.Errorf("writes of %s: %v", child, got)
				}
			}
			statuses := o.Matching("/memcacheds/counted/status")
			// Each pod appears and becomes ready, the Deployment reports replicas, ready
			// and available ones: no more than that can be observed.
			if limit := max(1, 4*int(size)); len(statuses) > limit {
				t.Errorf("%d writes of the status, at most %d changes could be observed", len(statuses), limit)
			}
			// Before the children are written the Memcached is verified.
			if all := o.Matching(); len(all) != 1+3+len(statuses) {
				t.Errorf("requests beside the Memcached's, the children's and the status': %v", all)
			}
		})
	}
}

func TestReconcile_SendsNothingWhenUnchanged(t *testing.T) {
	t.Parallel()
	namespace := suite.NewNamespace(t)
	o := startOperator(t, namespace)
	mc := suite.NewMemcached(t, namespace, "settled", 1)
	suite.EventuallyReady(t, mc)
	before := len(o.Matching())

	// Changes that are none of ours each wake the loop. The last one is ours to put
	// back: once that is seen, the others have been looked at.
	for i := range 5 {
		x := strings.Repeat("x", i+1)
		suite.Patch(t, service(namespace, "settled"), `{"metadata":{"annotations":{"example.com/n":"`+x+`"}}}`)
		suite.Patch(t, deployment(namespace, "settled"), `{"metadata":{"labels":{"example.com/n":"`+x+`"}}}`)
	}
	suite.Patch(t, deployment(namespace, "settled"), `{"spec":{"replicas":4}}`)
	eventually(t, mc, "settled again", func(mc *cachev1alpha1.Memcached) bool {
		return isReady(mc) && len(o.Matching("PATCH", "/deployments/settled")) == 2
	})
	verified := 0
	for _, request := range o.Matching()[before:] {
		switch {
		case strings.HasSuffix(request.Path, "/memcacheds/settled"):
			verified++
		case !strings.HasSuffix(request.Path, "/deployments/settled") && !strings.HasSuffix(request.Path, "/memcacheds/settled/status"):
			t.Errorf("a request with nothing to do: %s", request)
		}
	}
	if verified != 1 {
		t.Errorf("the Memcached was verified %d times for one write of a child", verified)
	}
	if got := suite.Deployment(t, namespace, "settled").Labels["example.com/n"]; got != "xxxxx" {
		t.Errorf("another owner's label is %q", got)
	}
}

func TestReconcile_WritesNothingAfterRestart(t *testing.T) {
	t.Parallel()
	namespace := suite.NewNamespace(t)
	first := startOperator(t, namespace)
	for i := range 100 {
		suite.Create(t, memcached(namespace, fmt.Sprintf("settled-%03d", i)))
	}
	list := &cachev1alpha1.MemcachedList{}
	testenv.Eventually(t, "all should be ready", func(ctx context.Context) (bool, error) {
		err := suite.Client.List(ctx, list, client.InNamespace(namespace))
		return !slices.ContainsFunc(list.Items, func(mc cachev1alpha1.Memcached) bool { return !isReady(&mc) }), err
	})
	first.stop()
	before := resourceVersions(t, namespace)

	second := startOperator(t, namespace)
	// A new Memcached is served after those that were there before; one more settles
	// what the workers still had in hand.
	for _, name := range []string{"after", "the-last"} {
		suite.EventuallyReady(t, suite.NewMemcached(t, namespace, name, 0))
	}
	for _, request := range second.Matching() {
		if !strings.Contains(request.Path, "/after") && !strings.Contains(request.Path, "/the-last") {
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
	for _, kind := range []schema.GroupVersionKind{cachev1alpha1.MemcachedKind, corev1.SchemeGroupVersion.WithKind("Service")} {
		list := &metav1.PartialObjectMetadataList{}
		list.SetGroupVersionKind(kind)
		testenv.NoError(t, suite.Client.List(t.Context(), list, client.InNamespace(namespace)))
		for _, object := range list.Items {
			versions[kind.Kind+" "+object.Name] = object.ResourceVersion
		}
	}
	return versions
}

// podsIn returns the pods in namespace that are not being deleted.
func podsIn(t *testing.T, namespace string) []corev1.Pod {
	t.Helper()
	pods := &corev1.PodList{}
	testenv.NoError(t, suite.Client.List(t.Context(), pods, client.InNamespace(namespace)))
	return slices.DeleteFunc(pods.Items, func(pod corev1.Pod) bool { return pod.DeletionTimestamp != nil })
}

func podNames(t *testing.T, namespace string) []string {
	t.Helper()
	var names []string
	for _, pod := range podsIn(t, namespace) {
		names = append(names, pod.Name)
	}
	slices.Sort(names)
	return names
}
