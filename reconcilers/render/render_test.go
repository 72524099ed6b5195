// SPDX-License-Identifier: Apache-2.0

package render

import (
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	cachev1alpha1 "github.com/example/memcached-operator/apis/v1alpha1"
	"github.com/example/memcached-operator/manifests"
	"github.com/example/memcached-operator/reconcilers/render/template"
)

// permissive returns one Renderer for all tests that render every golden case: building
// each set of components takes time.
func permissive(t *testing.T) *Renderer {
	t.Helper()
	r, err := permissiveOnce()
	noError(t, err)
	return r
}

var permissiveOnce = sync.OnceValues(func() (*Renderer, error) {
	tree, err := LoadTree(manifests.FS)
	if err != nil {
		return nil, err
	}
	return New(tree, Defaults{AllowPrivilegedFields: true})
})

// buildsTemplates skips a test that has kustomize build the templates many times, in the short form: with the race detector
// that takes minutes, and those tests do one thing at a time.
func buildsTemplates(t testing.TB) {
	t.Helper()
	if testing.Short() {
		t.Skip("it builds the templates many times")
	}
}

// forEveryMemcached runs test in parallel with every file in testdata/memcacheds.
func forEveryMemcached(t *testing.T, test func(t *testing.T, file string)) {
	t.Helper()
	files, err := filepath.Glob("testdata/memcacheds/*.yaml")
	if err != nil || len(files) == 0 {
		t.Fatalf("no files in testdata/memcacheds: %v", err)
	}
	for _, file := range files {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".yaml"), func(t *testing.T) {
			t.Parallel()
			test(t, file)
		})
	}
}

// On OpenShift, only users and groups differ.
func TestRender_OmitsUsersAndGroupsOnOpenShift(t *testing.T) {
	t.Parallel()
	elsewhere := permissive(t)
	openShift := elsewhere.ForOpenShift(true)
	forEveryMemcached(t, func(t *testing.T, file string) {
		mc := readMemcached(t, file)
		want := mustRender(t, elsewhere, mc)
		for _, object := range want {
			if object.GetKind() != "Deployment" {
				continue
			}
			for _, field := range []string{"runAsUser", "runAsGroup", "fsGroup"} {
				path := []string{"spec", "template", "spec", "securityContext", field}
				if _, found, err := unstructured.NestedInt64(object.Object, path...); !found || err != nil {
					t.Errorf("elsewhere %s is not set: %v", field, err)
				}
				unstructured.RemoveNestedField(object.Object, path...)
			}
		}
		mustBeSame(t, "on OpenShift", mustRender(t, openShift, mc), want)
	})
}

// Patches are applied after all features.
func TestRender_AppliesPatchesLast(t *testing.T) {
	t.Parallel()
	r := permissive(t)
	forEveryMemcached(t, func(t *testing.T, file string) {
		mc := readMemcached(t, file)
		want := mustRender(t, r, mc)
		for _, object := range want {
			if object.GetKind() != "Deployment" {
				continue
			}
			noError(t, unstructured.SetNestedField(object.Object, "yes", "metadata", "annotations", "patched"))
		}
		mc.Spec.Patches = append(mc.Spec.Patches, cachev1alpha1.Patch{
			Target: cachev1alpha1.PatchTarget{Kind: "Deployment"},
			Patch:  "metadata: {annotations: {patched: 'yes'}}",
		})
		mustBeSame(t, "patched", mustRender(t, r, mc), want)
	})
}

// TestNew_AcceptsAnEditOfEachComponent edits comments: New validates each component that differs from the shipped one, with
// those that it depends on.
// TestGolden_TemplatesAreValid validates all that New does not, where the digest of the templates says that this test did.
func TestGolden_TemplatesAreValid(t *testing.T) {
	buildsTemplates(t)
	t.Parallel()
	tree := shipped(t)
	for file, content := range tree {
		if strings.HasPrefix(file, "components/") {
			tree[file] = append([]byte("# edited\n"), content...)
		}
	}
	edited := mustNew(t, tree, Defaults{})
	digest := shipped(t).Digest() + "\n"
	if *update {
		noError(t, os.WriteFile("../../manifests/validated.txt", []byte(digest), 0o600))
	} else if manifests.Validated != digest {
		t.Error("manifests/validated.txt is not the digest of the templates; write it: go test ./reconcilers/render -run Golden -update")
	}
	embedded := mustNew(t, shipped(t), Defaults{})
	if !slices.Equal(edited.kinds, embedded.kinds) || !maps.Equal(edited.optional, embedded.optional) {
		t.Errorf("the shipped templates have the kinds %v (%v), which are built: %v (%v)", embedded.kinds, embedded.optional, edited.kinds, edited.optional)
	}
}

func TestRender_DefaultsTheImage(t *testing.T) {
	t.Parallel()
	image := func(defaults Defaults, file string) string {
		defaults.AllowPrivilegedFields = true
		objects := mustRender(t, mustNew(t, shipped(t), defaults), readMemcached(t, file))
		containers, _, err := unstructured.NestedSlice(find(t, objects, "Deployment", "cache").Object, "spec", "template", "spec", "containers")
		noError(t, err)
		return containers[0].(map[string]any)["image"].(string)
	}
	related := Defaults{Image: "registry.example.com/memcached@sha256:0123"}
	if got := image(related, "testdata/memcacheds/plain.yaml"); got != related.Image {
		t.Errorf("without spec.image the image is %s, want the operator's default", got)
	}
	if got := image(related, "testdata/memcacheds/own-image.yaml"); got != "registry.example.com:5000/memcached:1.6.38-alpine" {
		t.Errorf("with spec.image the image is %s", got)
	}
	if got := image(Defaults{}, "testdata/memcacheds/plain.yaml"); !strings.HasPrefix(got, "docker.io/library/memcached:") {
		t.Errorf("without any default the image is %s, want the template's", got)
	}
}

func readMemcached(tb testing.TB, file string) *cachev1alpha1.Memcached {
	tb.Helper()
	text, err := os.ReadFile(file)
	noError(tb, err)
	mc := &cachev1alpha1.Memcached{}
	if err := template.DecodeStrict(text, mc); err != nil {
		tb.Fatalf("%s: %v", file, err)
	}
	return mc
}
