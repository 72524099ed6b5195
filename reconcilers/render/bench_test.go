// SPDX-License-Identifier: Apache-2.0

package render

import (
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	cachev1alpha1 "github.com/example/memcached-operator/apis/v1alpha1"
	"github.com/example/memcached-operator/reconcilers/nodes"
	"github.com/example/memcached-operator/reconcilers/render/template"
)

// BenchmarkRender measures Render and its baseline, one full kustomize build of the same tree
// with the same Memcached. The goal is 1/4 of the time and 2/5 of the allocations.
func BenchmarkRender(b *testing.B) {
	tree := shipped(b)
	r := mustNew(b, tree, Defaults{AllowPrivilegedFields: true})
	for name, mc := range map[string]*cachev1alpha1.Memcached{
		"plain": plain(),
		"every": everyField(b, tree),
		// Its patches are not part of krusty's build.
		"most-expensive": readMemcached(b, mostExpensiveFile),
	} {
		b.Run(name+"/krusty", func(b *testing.B) { benchmarkFullBuild(b, r, mc) })
		b.Run(name+"/render", func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				mustRender(b, r, mc)
			}
		})
		b.Run(name+"/render-parallel", func(b *testing.B) {
			b.ReportAllocs()
			b.RunParallel(func(pb *testing.PB) {
				for pb.Next() {
					if _, err := r.Render(mc); err != nil {
						b.Error(err)
						return
					}
				}
			})
		})
	}
}

// benchmarkFullBuild measures one full kustomize build for mc, the baseline of Render.
func benchmarkFullBuild(b *testing.B, r *Renderer, mc *cachev1alpha1.Memcached) {
	in, err := r.input(mc, nodes.Layout{})
	if err != nil {
		b.Fatal(err)
	}
	set, err := r.sets.get(in, mc.Namespace)
	if err != nil {
		b.Fatal(err)
	}
	b.ReportAllocs()
	for b.Loop() {
		if _, err := desiredObjects(set.FullBuild, in, mc); err != nil {
			b.Fatal(err)
		}
	}
}

func plain() *cachev1alpha1.Memcached {
	return &cachev1alpha1.Memcached{
		ObjectMeta: metav1.ObjectMeta{Name: "sample", Namespace: "default", UID: "u"},
		Spec:       cachev1alpha1.MemcachedSpec{Size: new(int32(3)), ContainerPort: new(int32(11211))},
	}
}

func everyField(tb testing.TB, tree Tree) *cachev1alpha1.Memcached {
	tb.Helper()
	mc := &cachev1alpha1.Memcached{}
	if err := template.DecodeStrict(tree[template.MemcachedFile], mc); err != nil {
		tb.Fatal(err)
	}
	// Admission rejects auth beside metrics.
	mc.Spec.Auth = nil
	mc.Spec.PodDisruptionBudget.None = nil
	mc.Spec.Patches = []cachev1alpha1.Patch{{
		Target: cachev1alpha1.PatchTarget{Kind: "Deployment"},
		Patch:  "spec: {template: {spec: {containers: [{name: logger, image: 'busybox:1.35'}]}}}",
	}}
	return mc
}
