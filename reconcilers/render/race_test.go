// SPDX-License-Identifier: Apache-2.0

package render

import (
	"fmt"
	"sync"
	"testing"

	cachev1alpha1 "github.com/example/memcached-operator/apis/v1alpha1"
)

// Under -race: goroutines render sets that are not built yet, prebuilt sets, patches and full
// builds concurrently, with the same results as alone.
func TestRender_IsSafeForConcurrentUse(t *testing.T) {
	t.Parallel()
	for name, e := range map[string]edits{
		"renders prebuilt sets": nil,
		"renders full builds":   inSite("replicas: [{name: memcached, count: 7}]\n"),
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			tree := edited(t, e)
			alone, together := mustNew(t, tree, Defaults{AllowPrivilegedFields: true}), mustNew(t, tree, Defaults{AllowPrivilegedFields: true})
			want := make([]string, 16)
			for i := range want {
				want[i] = asJSON(t, mustRender(t, alone, variant(i)))
			}
			var wg sync.WaitGroup
			for worker := range 8 {
				wg.Go(func() {
					for i := range want {
						i = (i + worker) % len(want)
						objects, err := together.Render(variant(i))
						if err != nil {
							t.Error(err)
							return
						}
						if asJSON(t, objects) != want[i] {
							t.Errorf("%s differs when others are rendered concurrently", variant(i).Name)
						}
						// A caller may modify the objects.
						objects[0].SetLabels(map[string]string{"mine": "yes"})
						objects[0].GetOwnerReferences()[0].Name = "mine"
					}
				})
			}
			wg.Wait()
		})
	}
}

// variant has one of the eight sets of components for every i, patched or not.
func variant(i int) *cachev1alpha1.Memcached {
	mc := named(fmt.Sprintf("cache-%d", i))
	mc.Spec.Size = new(int32(i))
	if i&1 != 0 {
		mc.Spec.Image = new(cachev1alpha1.Image(fmt.Sprintf("memcached:1.6.%d", i)))
	}
	if i&6 != 0 {
		mc.Spec.PodMetadata = &cachev1alpha1.PodMetadata{}
	}
	if i&2 != 0 {
		mc.Spec.PodMetadata.Labels = map[string]cachev1alpha1.LabelValue{"i": cachev1alpha1.LabelValue(fmt.Sprint(i))}
	}
	if i&4 != 0 {
		mc.Spec.PodMetadata.Annotations = map[string]cachev1alpha1.AnnotationValue{"i": cachev1alpha1.AnnotationValue(fmt.Sprint(i))}
	}
	if i&8 != 0 {
		mc.Spec.Patches = []cachev1alpha1.Patch{patchOf("Deployment", fmt.Sprintf("spec: {revisionHistoryLimit: %d}", i))}
	}
	return mc
}
