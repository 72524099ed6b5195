// SPDX-License-Identifier: Apache-2.0

package reconcilers

import (
	"fmt"
	goruntime "runtime"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/uuid"
	toolscache "k8s.io/client-go/tools/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"

	cachev1alpha1 "github.com/example/memcached-operator/apis/v1alpha1"
	"github.com/example/memcached-operator/manifests"
	"github.com/example/memcached-operator/reconcilers/apply"
	"github.com/example/memcached-operator/reconcilers/render"
	"github.com/example/memcached-operator/reconcilers/status"
)

// BenchmarkCache_Memory measures how much memory the caches take for each plain Memcached, and
// for each of its children: live-B/op in objects, inuse-B/op with the holes between them.
func BenchmarkCache_Memory(b *testing.B) {
	tree, err := render.LoadTree(manifests.FS)
	if err != nil {
		b.Fatal(err)
	}
	renderer, err := render.New(tree, render.Defaults{})
	if err != nil {
		b.Fatal(err)
	}
	for kind, empty := range map[string]client.Object{
		"Memcached": nil, "Deployment": &appsv1.Deployment{}, "Service": &corev1.Service{}, "PodDisruptionBudget": &policyv1.PodDisruptionBudget{},
	} {
		b.Run(kind, func(b *testing.B) {
			reduce := transform(reduce)
			indexers := toolscache.Indexers{toolscache.NamespaceIndex: toolscache.MetaNamespaceIndexFunc}
			if empty == nil {
				reduce = stripMemcached
			} else {
				indexers["owner"] = apply.OwnerIndexers["field:"+apply.OwnerIndex]
			}
			indexer := toolscache.NewIndexer(toolscache.MetaNamespaceKeyFunc, indexers)
			var before, after goruntime.MemStats
			goruntime.GC()
			goruntime.ReadMemStats(&before)
			for i := range b.N {
				var object client.Object = numbered(i)
				if empty != nil {
					object = childOf(b, renderer, numbered(i), kind, empty.DeepCopyObject().(client.Object))
				}
				kept, err := reduce(object)
				if err != nil {
					b.Fatal(err)
				}
				if err := indexer.Add(kept); err != nil {
					b.Fatal(err)
				}
			}
			goruntime.GC()
			goruntime.ReadMemStats(&after)
			b.ReportMetric((float64(after.HeapAlloc)-float64(before.HeapAlloc))/float64(b.N), "live-B/op")
			b.ReportMetric((float64(after.HeapInuse)-float64(before.HeapInuse))/float64(b.N), "inuse-B/op")
			goruntime.KeepAlive(indexer)
		})
	}
}

// numbered returns a plain Memcached with its status, as the API server has it.
func numbered(i int) *cachev1alpha1.Memcached {
	mc := &cachev1alpha1.Memcached{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: fmt.Sprintf("scale-%d", i%10), Name: fmt.Sprintf("cache-%d", i),
			UID: uuid.NewUUID(), Generation: 1, ResourceVersion: fmt.Sprint(100_000 + i),
		},
		Spec: cachev1alpha1.MemcachedSpec{Size: new(int32(0)), ContainerPort: new(int32(11211))},
	}
	mc.Status = status.Compute(status.Observation{Memcached: mc})
	return mc
}

// childOf returns the child of mc of kind in the form of empty, as the API server has it.
func childOf(b *testing.B, renderer *render.Renderer, mc *cachev1alpha1.Memcached, kind string, empty client.Object) client.Object {
	b.Helper()
	children, err := renderer.Render(mc)
	if err != nil {
		b.Fatal(err)
	}
	for _, child := range children {
		if child.GetKind() != kind {
			continue
		}
		if err := runtime.DefaultUnstructuredConverter.FromUnstructured(child.Object, empty); err != nil {
			b.Fatal(err)
		}
	}
	empty.SetUID(uuid.NewUUID())
	empty.SetResourceVersion(mc.ResourceVersion)
	empty.SetManagedFields([]metav1.ManagedFieldsEntry{{
		Manager: apply.FieldManager, Operation: metav1.ManagedFieldsOperationApply, FieldsType: "FieldsV1",
		FieldsV1: metav1.NewFieldsV1(`{"f:spec":{"f:replicas":{},"f:selector":{}}}`),
	}})
	return empty
}
