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

	cachev1alpha1 "github.com/example/memcached-operator/apis/v1alpha1"
	"github.com/example/memcached-operator/reconcilers"
	"github.com/example/memcached-operator/reconcilers/status"
	"github.com/example/memcached-operator/test/testenv"
)

// memcachedTransform returns what the cache does to a Memcached before it keeps it.
func memcachedTransform(t *testing.T) toolscache.TransformFunc {
	t.Helper()
	options, err := reconcilers.CacheOptions(nil)
	testenv.NoError(t, err)
	for object, by := range options.ByObject {
		if _, ok := object.(*cachev1alpha1.Memcached); ok {
			return by.Transform
		}
	}
	t.Fatal("the cache has no options for Memcacheds")
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
	got, err := memcachedTransform(t)(fat)
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
