// SPDX-License-Identifier: Apache-2.0

package reconcilers_test

import (
	"context"
	"net/http"
	"reflect"
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	cachev1alpha1 "github.com/example/memcached-operator/apis/v1alpha1"
	"github.com/example/memcached-operator/test/testenv"
)

func withStableNames(s *cachev1alpha1.MemcachedSpec) { s.StableNames = &cachev1alpha1.StableNames{} }

// namesOf returns the pods in the slice of the Memcached called name by their stable names.
func namesOf(slice *discoveryv1.EndpointSlice) map[string]string {
	pods := map[string]string{}
	for _, endpoint := range slice.Endpoints {
		if *endpoint.Conditions.Ready {
			pods[*endpoint.Hostname] = endpoint.TargetRef.Name + " " + endpoint.Addresses[0]
		}
	}
	return pods
}

func sliceOf(mc *cachev1alpha1.Memcached) *discoveryv1.EndpointSlice {
	return &discoveryv1.EndpointSlice{ObjectMeta: metav1.ObjectMeta{Namespace: mc.Namespace, Name: mc.Name + "-nodes-ipv4"}}
}

// eventuallyNamed waits until the count ready pods of mc, none of which is terminating, have a stable name each, and returns them.
func eventuallyNamed(t *testing.T, mc *cachev1alpha1.Memcached, count int) map[string]string {
	t.Helper()
	slice := sliceOf(mc)
	eventually(t, slice, "each pod should have a name", func(slice *discoveryv1.EndpointSlice) bool {
		var named, running []string
		for _, pod := range namesOf(slice) {
			named = append(named, pod)
		}
		for _, pod := range podsIn(t, mc.Namespace) {
			running = append(running, pod.Name+" "+pod.Status.PodIP)
		}
		slices.Sort(named)
		slices.Sort(running)
		return len(named) == count && slices.Equal(named, running)
	})
	return namesOf(slice)
}

func TestStableNames_OutliveThePods(t *testing.T) {
	t.Parallel()
	namespace := suite.NewNamespace(t)
	o := startOperator(t, namespace)
	mc := suite.NewMemcached(t, namespace, "cache", 3, withStableNames)
	suite.EventuallyReady(t, mc)
	before := eventuallyNamed(t, mc, 3)
	want := []string{"cache-0.cache-nodes." + namespace + ".svc:11211", "cache-1.cache-nodes." + namespace + ".svc:11211", "cache-2.cache-nodes." + namespace + ".svc:11211"}
	if !slices.Equal(mc.Status.Servers, want) {
		t.Errorf("servers are %v", mc.Status.Servers)
	}
	for _, pod := range podsIn(t, namespace) {
		if before["cache-1"] == pod.Name+" "+pod.Status.PodIP {
			suite.Delete(t, &pod)
		}
	}
	after := eventuallyNamed(t, mc, 3)
	if before["cache-1"] == after["cache-1"] || before["cache-0"] != after["cache-0"] || before["cache-2"] != after["cache-2"] {
		t.Errorf("before %v, after the replacement of 1 %v", before, after)
	}
	suite.EventuallyReady(t, mc)

	pod := podsIn(t, namespace)[0]
	patched := pod.DeepCopy()
	for i := range patched.Status.Conditions {
		if patched.Status.Conditions[i].Type == corev1.PodReady {
			patched.Status.Conditions[i].Status = corev1.ConditionFalse
		}
	}
	testenv.NoError(t, suite.Client.Status().Patch(t.Context(), patched, client.MergeFrom(&pod)))
	eventually(t, sliceOf(mc), "no name for the pod that is not ready", func(slice *discoveryv1.EndpointSlice) bool {
		return len(slice.Endpoints) == 3 && len(namesOf(slice)) == 2
	})
	unready := patched.DeepCopy()
	patched.Status.Conditions = pod.Status.Conditions
	testenv.NoError(t, suite.Client.Status().Patch(t.Context(), patched, client.MergeFrom(unready)))
	if again := eventuallyNamed(t, mc, 3); !reflect.DeepEqual(again, after) {
		t.Errorf("before %v, after one was not ready %v", after, again)
	}

	o.stop()
	restarted := startOperator(t, namespace)
	suite.Patch(t, mc, `{"spec":{"size":4}}`)
	grown := eventuallyNamed(t, mc, 4)
	delete(grown, "cache-3")
	if !reflect.DeepEqual(grown, after) {
		t.Errorf("before the restart %v, after it and with a fourth pod %v", after, grown)
	}
	for _, request := range restarted.Matching("/endpointslices/") {
		if request.Method != http.MethodGet && request.Status >= http.StatusBadRequest {
			t.Errorf("request %v", request)
		}
	}
}

func TestStableNames_StayAtAScaleDown(t *testing.T) {
	t.Parallel()
	namespace := suite.NewNamespace(t)
	startOperator(t, namespace)
	mc := suite.NewMemcached(t, namespace, "cache", 4, withStableNames)
	before := eventuallyNamed(t, mc, 4)
	eventuallyCost(t, namespace, 4)
	suite.Patch(t, mc, `{"spec":{"size":2}}`)
	after := eventuallyNamed(t, mc, 2)
	delete(before, "cache-2")
	delete(before, "cache-3")
	if !reflect.DeepEqual(after, before) {
		t.Errorf("before %v, after %v", before, after)
	}
}

// eventuallyCost waits until there are count pods, each with a deletion cost.
func eventuallyCost(t *testing.T, namespace string, count int) {
	t.Helper()
	testenv.Eventually(t, "each pod should have a deletion cost", func(context.Context) (bool, error) {
		pods := podsIn(t, namespace)
		return len(pods) == count && !slices.ContainsFunc(pods, func(pod corev1.Pod) bool { return pod.Annotations[corev1.PodDeletionCost] == "" }), nil
	})
}

// A new leader can have a cache of pods that is behind that of EndpointSlices.
func TestStableNames_OfPodsThatTheCacheDoesNotShow(t *testing.T) {
	t.Parallel()
	namespace := suite.NewNamespace(t)
	o := startOperator(t, namespace)
	mc := suite.NewMemcached(t, namespace, "cache", 2, withStableNames)
	before := eventuallyNamed(t, mc, 2)
	o.stop()
	for _, pod := range podsIn(t, namespace) {
		if before["cache-0"] == pod.Name+" "+pod.Status.PodIP {
			suite.Patch(t, &pod, `{"metadata":{"labels":{"hidden":"true"}}}`)
		}
	}
	startWith(t, &suite, namespace, testenv.ManagerOptions{Wrap: withoutHiddenPods})
	suite.Patch(t, mc, `{"spec":{"size":3}}`)
	after := eventuallyNamed(t, mc, 3)
	delete(after, "cache-2")
	if !reflect.DeepEqual(after, before) {
		t.Errorf("before %v, after %v", before, after)
	}
}

// withoutHiddenPods leaves the pods with the label hidden out of what fills the cache.
func withoutHiddenPods(next http.RoundTripper) http.RoundTripper {
	return testenv.RoundTripper(func(req *http.Request) (*http.Response, error) {
		query := req.URL.Query()
		if !strings.HasSuffix(req.URL.Path, "/pods") || !query.Has("watch") && !query.Has("resourceVersion") {
			return next.RoundTrip(req)
		}
		query.Set("labelSelector", query.Get("labelSelector")+",!hidden")
		req = req.Clone(req.Context())
		req.URL.RawQuery = query.Encode()
		return next.RoundTrip(req)
	})
}

func TestStableNames_ComeAndGoWithoutPods(t *testing.T) {
	t.Parallel()
	namespace := suite.NewNamespace(t)
	startOperator(t, namespace)
	mc := suite.NewMemcached(t, namespace, "cache", 2)
	suite.EventuallyReady(t, mc)
	before := podNames(t, namespace)
	suite.Patch(t, mc, `{"spec":{"stableNames":{}}}`)
	eventuallyNamed(t, mc, 2)
	suite.EventuallyReady(t, mc)
	suite.Patch(t, mc, `{"spec":{"stableNames":null}}`)
	suite.EventuallyGone(t, service(namespace, "cache-nodes"))
	suite.EventuallyGone(t, sliceOf(mc))
	eventually(t, mc, "no servers", func(mc *cachev1alpha1.Memcached) bool { return len(mc.Status.Servers) == 0 })
	if after := podNames(t, namespace); !slices.Equal(after, before) {
		t.Errorf("pods were %v and are %v", before, after)
	}
}

func TestStableNames_ConflictWithOthers(t *testing.T) {
	t.Parallel()
	namespace := suite.NewNamespace(t)
	suite.Create(t, &corev1.Service{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "cache-nodes"},
		Spec:       corev1.ServiceSpec{ClusterIP: corev1.ClusterIPNone, Ports: []corev1.ServicePort{{Port: 80}}},
	})
	startOperator(t, namespace)
	mc := suite.NewMemcached(t, namespace, "cache", 1, withStableNames)
	eventuallyIs(t, mc, cachev1alpha1.ConditionStalled, cachev1alpha1.ReasonOwnershipConflict)
	eventuallyNamed(t, mc, 1)
}
