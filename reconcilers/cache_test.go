// SPDX-License-Identifier: Apache-2.0

package reconcilers_test

import (
	"reflect"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	toolscache "k8s.io/client-go/tools/cache"

	cachev1alpha1 "github.com/example/memcached-operator/apis/v1alpha1"
	"github.com/example/memcached-operator/reconcilers"
)

// memcachedTransform returns what the cache does to a Memcached before it keeps it.
func memcachedTransform(t *testing.T) toolscache.TransformFunc {
	t.Helper()
	options, err := reconcilers.CacheOptions(nil)
	fatal(t, err)
	for object, by := range options.ByObject {
		if _, ok := object.(*cachev1alpha1.Memcached); ok {
			return by.Transform
		}
	}
	t.Fatal("the cache has no options for Memcacheds")
	return nil
}

func TestCache_KeepsOfAMemcachedWhatIsRead(t *testing.T) {
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
	fatal(t, err)
	if !reflect.DeepEqual(got, want) {
		t.Errorf("the cache keeps\n%+v, want\n%+v", got, want)
	}
}
