// SPDX-License-Identifier: Apache-2.0

package reconcilers_test

import (
	"reflect"
	"strings"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	toolscache "k8s.io/client-go/tools/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"

	cachev1alpha1 "github.com/example/memcached-operator/apis/v1alpha1"
	"github.com/example/memcached-operator/reconcilers"
	"github.com/example/memcached-operator/reconcilers/status"
	"github.com/example/memcached-operator/test/testenv"
)

// transformOf returns what the cache does to objects of the type of an empty one before it keeps them.
func transformOf(t *testing.T, empty client.Object) toolscache.TransformFunc {
	t.Helper()
	options, err := reconcilers.CacheOptions(nil)
	testenv.NoError(t, err)
	for object, by := range options.ByObject {
		if reflect.TypeOf(object) == reflect.TypeOf(empty) {
			return by.Transform
		}
	}
	t.Fatalf("the cache has no options for %T", empty)
	return nil
}

func TestCache_StripsMemcacheds(t *testing.T) {
	t.Parallel()
	deleted := metav1.NewTime(time.Unix(1, 0))
	want := &cachev1alpha1.Memcached{
		ObjectMeta: metav1.ObjectMeta{Namespace: "namespace", Name: "name", UID: "uid", ResourceVersion: "2", Generation: 3, DeletionTimestamp: &deleted},
		Spec:       cachev1alpha1.MemcachedSpec{Size: new(int32(3))},
		Status:     cachev1alpha1.MemcachedStatus{ObservedGeneration: 2},
	}
	fat := want.DeepCopy()
	fat.Annotations = map[string]string{"note": strings.Repeat("x", 256<<10)}
	fat.Labels = map[string]string{"team": "a"}
	fat.Finalizers = []string{"example.com/finalizer"}
	fat.OwnerReferences = []metav1.OwnerReference{{Name: "owner"}}
	fat.ManagedFields = []metav1.ManagedFieldsEntry{{Manager: "kubectl"}}
	fat.CreationTimestamp = deleted
	got, err := transformOf(t, &cachev1alpha1.Memcached{})(fat)
	testenv.NoError(t, err)
	if !reflect.DeepEqual(got, want) {
		t.Errorf("the cache keeps\n%+v, want\n%+v", got, want)
	}
}

// TestCache_OmitsTheShippedSelector: from a Deployment in the cache, the status has the selector of the live one.
func TestCache_OmitsTheShippedSelector(t *testing.T) {
	t.Parallel()
	options, err := reconcilers.CacheOptions(nil)
	testenv.NoError(t, err)
	for want, isKept := range map[string]bool{
		"app=memcached,memcached_cr=cache":          false,
		"app=memcached,memcached_cr=other":          true,
		"app=memcached,memcached_cr=cache,site=one": true,
		"app=memcached":                             true,
	} {
		selector, err := metav1.ParseToLabelSelector(want)
		testenv.NoError(t, err)
		cached, err := options.DefaultTransform(&appsv1.Deployment{ObjectMeta: metav1.ObjectMeta{Name: "cache"}, Spec: appsv1.DeploymentSpec{Selector: selector}})
		testenv.NoError(t, err)
		deployment := cached.(*appsv1.Deployment)
		got := status.Compute(status.Observation{Memcached: testenv.Memcached("default", "cache", 1), Deployment: deployment}).Selector
		if got != want || (deployment.Spec.Selector != nil) != isKept {
			t.Errorf("%s is %s in the status, and kept: %t", want, got, deployment.Spec.Selector != nil)
		}
	}
}

// The conditions are those of a pod whose node does not answer, and of one that is started.
func TestCache_KeepsThatANodeIsLost(t *testing.T) {
	t.Parallel()
	condition := func(kind corev1.PodConditionType, is corev1.ConditionStatus) corev1.PodCondition {
		return corev1.PodCondition{Type: kind, Status: is}
	}
	strip := transformOf(t, &corev1.Pod{})
	for isLost, containers := range map[bool]corev1.ConditionStatus{true: corev1.ConditionTrue, false: corev1.ConditionFalse} {
		cached, err := strip(&corev1.Pod{Status: corev1.PodStatus{Phase: corev1.PodRunning, Conditions: []corev1.PodCondition{
			condition(corev1.PodReadyToStartContainers, corev1.ConditionTrue), condition(corev1.PodInitialized, corev1.ConditionTrue),
			condition(corev1.PodReady, corev1.ConditionFalse), condition(corev1.ContainersReady, containers), condition(corev1.PodScheduled, corev1.ConditionTrue),
		}}})
		testenv.NoError(t, err)
		if kept := cached.(*corev1.Pod).Status.Conditions; status.NodeIsLost(kept) != isLost {
			t.Errorf("with containers that are ready: %s, the cache keeps %+v", containers, kept)
		}
	}
}

func TestCache_ReducesDeploymentStatus(t *testing.T) {
	t.Parallel()
	options, err := reconcilers.CacheOptions(nil)
	testenv.NoError(t, err)
	condition := func(kind appsv1.DeploymentConditionType, is corev1.ConditionStatus) appsv1.DeploymentCondition {
		return appsv1.DeploymentCondition{Type: kind, Status: is, Reason: "Reason", Message: "message", LastUpdateTime: metav1.NewTime(time.Unix(1, 0))}
	}
	type conditions = []appsv1.DeploymentCondition
	for name, test := range map[string]struct {
		live, want conditions
	}{
		"drops progress": {
			conditions{condition(appsv1.DeploymentProgressing, corev1.ConditionTrue)}, nil},
		"keeps why there is no progress": {
			conditions{condition(appsv1.DeploymentProgressing, corev1.ConditionFalse)},
			conditions{{Type: appsv1.DeploymentProgressing, Status: corev1.ConditionFalse, Reason: "Reason"}}},
		"keeps why pods are not created": {
			conditions{condition(appsv1.DeploymentReplicaFailure, corev1.ConditionTrue)},
			conditions{{Type: appsv1.DeploymentReplicaFailure, Status: corev1.ConditionTrue, Reason: "Reason", Message: "message"}}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			live := &appsv1.Deployment{Status: appsv1.DeploymentStatus{
				ObservedGeneration: 2, Replicas: 4, UpdatedReplicas: 3, ReadyReplicas: 2, AvailableReplicas: 1,
				UnavailableReplicas: 1, CollisionCount: new(int32(1)), Conditions: test.live,
			}}
			got, err := options.DefaultTransform(live)
			testenv.NoError(t, err)
			want := appsv1.DeploymentStatus{
				ObservedGeneration: 2, Replicas: 4, UpdatedReplicas: 3, ReadyReplicas: 2, AvailableReplicas: 1, Conditions: test.want,
			}
			if kept := got.(*appsv1.Deployment).Status; !reflect.DeepEqual(kept, want) {
				t.Errorf("the cache keeps\n%+v, want\n%+v", kept, want)
			}
		})
	}
}
