// SPDX-License-Identifier: Apache-2.0

package render

import (
	"fmt"
	"sync"
	"testing"

	cachev1alpha1 "github.com/example/memcached-operator/apis/v1alpha1"
)

// Under -race: goroutines meet at plans that are not made yet, at compiled ones, at
// patches and at whole builds, and each gets what it would get alone.
func TestManyGoroutinesRenderAtOnce(t *testing.T) {
	t.Parallel()
	for sentence, e := range map[string]edits{
		"compiled":        nil,
		"by whole builds": inSite("replicas: [{name: memcached, count: 7}]\n"),
	} {
		t.Run(sentence, func(t *testing.T) {
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
							t.Errorf("%s is another when others are rendered beside it", variant(i).Name)
						}
						// What a caller does with his objects is his own affair.
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
		mc.Spec.Patches = []cachev1alpha1.Patch{patch("Deployment", fmt.Sprintf("spec: {revisionHistoryLimit: %d}", i))}
	}
	return mc
}
