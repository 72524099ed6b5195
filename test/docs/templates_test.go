// SPDX-License-Identifier: Apache-2.0

package docs

import (
	"regexp"
	"slices"
	"testing"
	"testing/fstest"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	cachev1alpha1 "github.com/example/memcached-operator/apis/v1alpha1"
	"github.com/example/memcached-operator/manifests"
	"github.com/example/memcached-operator/reconcilers/render"
	"github.com/example/memcached-operator/test/testenv"
)

// TestTemplatesPage_ExampleWorks: the files that the README creates override the templates and do what it says, also
// beside the feature of the same kind.
func TestTemplatesPage_ExampleWorks(t *testing.T) {
	t.Parallel()
	layer := fstest.MapFS{}
	for _, found := range regexp.MustCompile(`(?s)cat > my-templates/(\S+) <<'END'\n(.*?)\nEND\n`).FindAllStringSubmatch(read(t, "docs/user/templates.md"), -1) {
		layer[found[1]] = &fstest.MapFile{Data: []byte(found[2])}
	}
	if len(layer) != 2 {
		t.Fatalf("docs/user/templates.md has %d files for my-templates", len(layer))
	}
	spec := cachev1alpha1.MemcachedSpec{NetworkPolicy: &cachev1alpha1.NetworkPolicy{
		From: []cachev1alpha1.NetworkPolicyPeer{{PodSelector: &cachev1alpha1.LabelSelector{}}},
	}}
	for sentence, test := range map[string]struct {
		spec cachev1alpha1.MemcachedSpec
		want []string
	}{
		"by itself":                 {cachev1alpha1.MemcachedSpec{}, []string{"web"}},
		"beside spec.networkPolicy": {spec, []string{"web", "web-clients"}},
	} {
		t.Run(sentence, func(t *testing.T) {
			t.Parallel()
			var names []string
			for _, object := range rendered(t, layer, test.spec) {
				if object.GetKind() != "NetworkPolicy" {
					continue
				}
				names = append(names, object.GetName())
				if selected, _, _ := unstructured.NestedString(object.Object, "spec", "podSelector", "matchLabels", "memcached_cr"); selected != "web" {
					t.Errorf("%s selects the pods of %q", object.GetName(), selected)
				}
			}
			if slices.Sort(names); !slices.Equal(names, test.want) {
				t.Errorf("the NetworkPolicies are %q, want %q", names, test.want)
			}
		})
	}
}

// TestManifestsReadme_RemovedObjectIsNotRendered applies the patch by which manifests/README.md removes an object, also
// where the Memcached has disabled that object.
func TestManifestsReadme_RemovedObjectIsNotRendered(t *testing.T) {
	t.Parallel()
	found := regexp.MustCompile("(?s)```yaml\n(patches:\n- target: {kind: PodDisruptionBudget}\n.*?)```").FindStringSubmatch(read(t, "manifests/README.md"))
	if found == nil {
		t.Fatal("manifests/README.md has no such patch")
	}
	layer := fstest.MapFS{"components/site/kustomization.yaml": {
		Data: []byte("apiVersion: kustomize.config.k8s.io/v1alpha1\nkind: Component\n" + found[1]),
	}}
	for sentence, spec := range map[string]cachev1alpha1.MemcachedSpec{
		"by itself":                            {},
		"beside spec.podDisruptionBudget.omit": {PodDisruptionBudget: &cachev1alpha1.PodDisruptionBudget{Omit: new(true)}},
	} {
		t.Run(sentence, func(t *testing.T) {
			t.Parallel()
			for _, object := range rendered(t, layer, spec) {
				if object.GetKind() == "PodDisruptionBudget" {
					t.Errorf("there is the PodDisruptionBudget %s", object.GetName())
				}
			}
		})
	}
}

// rendered are the objects of a Memcached called web, by the shipped templates with layer
// over them.
func rendered(t *testing.T, layer fstest.MapFS, spec cachev1alpha1.MemcachedSpec) []*unstructured.Unstructured {
	t.Helper()
	tree, err := render.LoadTree(manifests.FS, layer)
	testenv.NoError(t, err)
	renderer, err := render.New(tree, render.Defaults{AllowPrivilegedFields: true})
	testenv.NoError(t, err)
	spec.Size, spec.ContainerPort = new(int32(1)), new(int32(11211))
	mc := &cachev1alpha1.Memcached{ObjectMeta: metav1.ObjectMeta{Name: "web", Namespace: "shop", UID: "1"}, Spec: spec}
	objects, err := renderer.Render(mc)
	testenv.NoError(t, err)
	return objects
}
