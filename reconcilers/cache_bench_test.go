// SPDX-License-Identifier: Apache-2.0

package reconcilers

import (
	"fmt"
	"runtime"
	"strings"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	krt "k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/uuid"
	toolscache "k8s.io/client-go/tools/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"

	cachev1alpha1 "github.com/example/memcached-operator/apis/v1alpha1"
	"github.com/example/memcached-operator/manifests"
	"github.com/example/memcached-operator/reconcilers/apply"
	"github.com/example/memcached-operator/reconcilers/render"
	"github.com/example/memcached-operator/reconcilers/status"
)

// BenchmarkCache_Memory measures how much memory the caches take for each plain Memcached and
// each of its children.
func BenchmarkCache_Memory(b *testing.B) {
	tree, err := render.LoadTree(manifests.FS)
	if err != nil {
		b.Fatal(err)
	}
	r, err := render.New(tree, render.Defaults{})
	if err != nil {
		b.Fatal(err)
	}
	for name, make := range map[string]func() client.Object{
		"Memcached": nil, "Deployment": func() client.Object { return &appsv1.Deployment{} },
		"Service": func() client.Object { return &corev1.Service{} }, "PodDisruptionBudget": func() client.Object { return &policyv1.PodDisruptionBudget{} },
	} {
		b.Run(name, func(b *testing.B) {
			indexers := toolscache.Indexers{"namespace": toolscache.MetaNamespaceIndexFunc}
			transform := transform(reduce)
			if make == nil {
				transform = stripMemcached
			} else {
				indexers["field:"+apply.OwnerIndex] = apply.OwnerIndexers["field:"+apply.OwnerIndex]
			}
			indexer := toolscache.NewIndexer(toolscache.MetaNamespaceKeyFunc, indexers)
			var before, after runtime.MemStats
			runtime.GC()
			runtime.ReadMemStats(&before)
			for i := range b.N {
				mc := &cachev1alpha1.Memcached{ObjectMeta: metav1.ObjectMeta{Namespace: fmt.Sprintf("scale-%d", i%10), Name: fmt.Sprintf("cache-%d", i),
					UID: uuid.NewUUID(), Generation: 1, ResourceVersion: fmt.Sprint(100000 + i)}, Spec: cachev1alpha1.MemcachedSpec{Size: new(int32(0)), ContainerPort: new(int32(11211))}}
				var object client.Object = mc
				if make == nil {
					mc.Status = status.Compute(status.Observation{Memcached: mc})
				} else {
					object = child(b, r, mc, make())
				}
				kept, err := transform(object)
				if err != nil {
					b.Fatal(err)
				}
				_ = indexer.Add(kept)
			}
			runtime.GC()
			runtime.ReadMemStats(&after)
			b.ReportMetric(float64(after.HeapAlloc-before.HeapAlloc)/float64(b.N), "live-B/op")
			b.ReportMetric(float64(after.HeapInuse-before.HeapInuse)/float64(b.N), "inuse-B/op")
			runtime.KeepAlive(indexer)
		})
	}
}

func child(b *testing.B, r *render.Renderer, mc *cachev1alpha1.Memcached, into client.Object) client.Object {
	b.Helper()
	children, err := r.Render(mc)
	if err != nil {
		b.Fatal(err)
	}
	kind := strings.TrimPrefix(fmt.Sprintf("%T", into), "*v1.")
	for _, c := range children {
		if c.GetKind() != kind {
			continue
		}
		if err := krt.DefaultUnstructuredConverter.FromUnstructured(c.Object, into); err != nil {
			b.Fatal(err)
		}
		into.SetUID(types.UID(uuid.NewUUID()))
		into.SetResourceVersion(mc.ResourceVersion + "1")
		into.SetManagedFields([]metav1.ManagedFieldsEntry{{Manager: apply.FieldManager, Operation: metav1.ManagedFieldsOperationApply,
			FieldsType: "FieldsV1", FieldsV1: metav1.NewFieldsV1(`{"f:spec":{"f:replicas":{},"f:selector":{}}}`)}})
	}
	return into
}
