// SPDX-License-Identifier: Apache-2.0

package render

import (
	"bytes"
	"flag"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/yaml"

	cachev1alpha1 "github.com/example/memcached-operator/apis/v1alpha1"
	"github.com/example/memcached-operator/manifests"
)

var update = flag.Bool("update", false, "write what is rendered into testdata/golden")

// The golden files are the contract of architecture decision 16: an operator
// upgrade rolls no cache. A change of a pod template here rolls every cache that is
// made of it, so it is deliberate and announced, or it is a mistake. To write them:
//
//	go test ./reconcilers/render -run Golden -update
func TestGoldenMemcacheds(t *testing.T) {
	t.Parallel()
	r := permissive(t)
	forEveryMemcached(t, func(t *testing.T, file string) {
		mc := readMemcached(t, file)
		objects := mustRender(t, r, mc)
		mustBeSame(t, "rendered again", mustRender(t, r, mc), objects)
		whole, always := mustRenderWhole(t, r, mc)
		mustBeSame(t, "against a whole build", objects, whole)
		if always {
			t.Error("the shipped templates are rendered by whole builds, which is slow: what cannot be compiled any more?")
		}
		types := newChecker()
		for _, object := range objects {
			if err := types.check(object); err != nil {
				t.Errorf("%s %s: %v", object.GetKind(), object.GetName(), err)
			}
		}
		compareGolden(t, filepath.Base(file), objects)
	})
}

// permissive is one Renderer for all tests that render every golden input: each set of
// components takes a plan, which takes time.
func permissive(t *testing.T) *Renderer {
	t.Helper()
	r, err := permissiveOnce()
	if err != nil {
		t.Fatal(err)
	}
	return r
}

var permissiveOnce = sync.OnceValues(func() (*Renderer, error) {
	tree, err := LoadTree(manifests.FS)
	if err != nil {
		return nil, err
	}
	return New(tree, Defaults{AllowPrivilegedFields: true})
})

// forEveryMemcached runs test with every golden input, a file each, at the same time.
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

// On OpenShift everything is the same but for users and groups.
func TestOpenShiftTakesUsersAndGroupsAway(t *testing.T) {
	t.Parallel()
	elsewhere := permissive(t)
	openShift := mustNew(t, shipped(t), Defaults{AllowPrivilegedFields: true})
	openShift.SetOpenShift(true)
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

// A patch is the last to change anything, whatever else is set.
func TestAPatchOfAnnotationsGoesWithEveryFeature(t *testing.T) {
	t.Parallel()
	r := permissive(t)
	forEveryMemcached(t, func(t *testing.T, file string) {
		mc := readMemcached(t, file)
		want := mustRender(t, r, mc)
		for _, object := range want {
			if object.GetKind() != "Deployment" {
				continue
			}
			if err := unstructured.SetNestedField(object.Object, "yes", "metadata", "annotations", "patched"); err != nil {
				t.Fatal(err)
			}
		}
		mc.Spec.Patches = append(mc.Spec.Patches, cachev1alpha1.Patch{
			Target: cachev1alpha1.PatchTarget{Kind: "Deployment"},
			Patch:  "metadata: {annotations: {patched: 'yes'}}",
		})
		mustBeSame(t, "patched", mustRender(t, r, mc), want)
	})
}

// A start does not try them one by one, since this does.
func TestEveryShippedComponentStandsAlone(t *testing.T) {
	t.Parallel()
	r := mustNew(t, shipped(t), Defaults{})
	all := r.tree.components()
	for _, name := range all {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if _, err := r.validate(withParents(name, all), false); err != nil {
				t.Error(err)
			}
		})
	}
}

func TestEveryGoldenFileHasItsMemcached(t *testing.T) {
	t.Parallel()
	files, err := filepath.Glob("testdata/golden/*.yaml")
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range files {
		if _, err := os.Stat(filepath.Join("testdata/memcacheds", filepath.Base(file))); err != nil {
			t.Errorf("%s is left over: %v", file, err)
		}
	}
}

// TestGoldenPodTemplate pins what decides whether pods are replaced, apart from all
// else: architecture decision 16.
func TestGoldenPodTemplate(t *testing.T) {
	t.Parallel()
	objects := mustRender(t, mustNew(t, shipped(t), Defaults{}), readMemcached(t, "testdata/memcacheds/only-size.yaml"))
	template, found, err := unstructured.NestedMap(find(t, objects, "Deployment", "cache").Object, "spec", "template")
	if err != nil || !found {
		t.Fatalf("no pod template: %v", err)
	}
	text, err := yaml.Marshal(template)
	if err != nil {
		t.Fatal(err)
	}
	compareFile(t, "testdata/pod-template.yaml", text)
}

func TestDefaultImage(t *testing.T) {
	t.Parallel()
	image := func(defaults Defaults, file string) string {
		defaults.AllowPrivilegedFields = true
		objects := mustRender(t, mustNew(t, shipped(t), defaults), readMemcached(t, file))
		containers, _, err := unstructured.NestedSlice(find(t, objects, "Deployment", "cache").Object, "spec", "template", "spec", "containers")
		if err != nil {
			t.Fatal(err)
		}
		return containers[0].(map[string]any)["image"].(string)
	}
	related := Defaults{Image: "registry.example.com/memcached@sha256:0123"}
	if got := image(related, "testdata/memcacheds/only-size.yaml"); got != related.Image {
		t.Errorf("without spec.image the image is %s, want the operator's default", got)
	}
	if got := image(related, "testdata/memcacheds/own-image.yaml"); got != "registry.example.com:5000/memcached:1.6.38-alpine" {
		t.Errorf("with spec.image the image is %s", got)
	}
	if got := image(Defaults{}, "testdata/memcacheds/only-size.yaml"); !strings.HasPrefix(got, "memcached:") {
		t.Errorf("without any default the image is %s, want the template's", got)
	}
}

func readMemcached(tb testing.TB, file string) *cachev1alpha1.Memcached {
	tb.Helper()
	text, err := os.ReadFile(file)
	if err != nil {
		tb.Fatal(err)
	}
	mc := &cachev1alpha1.Memcached{}
	if err := decodeStrict(text, mc); err != nil {
		tb.Fatalf("%s: %v", file, err)
	}
	return mc
}

func compareGolden(t *testing.T, name string, objects []*unstructured.Unstructured) {
	t.Helper()
	var text bytes.Buffer
	for i, object := range objects {
		document, err := yaml.Marshal(object.Object)
		if err != nil {
			t.Fatal(err)
		}
		if i > 0 {
			text.WriteString("---\n")
		}
		text.Write(document)
	}
	compareFile(t, filepath.Join("testdata/golden", name), text.Bytes())
}

func compareFile(t *testing.T, file string, got []byte) {
	t.Helper()
	if *update {
		if err := os.WriteFile(file, got, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(got, want) {
		t.Errorf("%s is not what is rendered; a changed pod template rolls every cache (architecture decision 16).\ngot:\n%s", file, got)
	}
}
