// SPDX-License-Identifier: Apache-2.0

package docs

import (
	"regexp"
	"strings"
	"testing"
	"testing/fstest"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	cachev1alpha1 "github.com/example/memcached-operator/apis/v1alpha1"
	"github.com/example/memcached-operator/manifests"
	"github.com/example/memcached-operator/reconcilers/render"
	"github.com/example/memcached-operator/test/testenv"
)

// The diff in the README applies to the template that it names, and changes what a Memcached renders to.
func TestReadme_EditOfATemplateWorks(t *testing.T) {
	t.Parallel()
	diff := regexp.MustCompile("(?s)```diff\n--- a/(\\S+)\n.*?\n( .*?)\n\\+([^\n]*)\n```").FindStringSubmatch(read(t, "README.md"))
	if diff == nil {
		t.Fatal("the README has no diff of a template")
	}
	var context []string
	for line := range strings.Lines(diff[2]) {
		context = append(context, strings.TrimPrefix(strings.TrimSuffix(line, "\n"), " "))
	}
	before := strings.Join(context, "\n") + "\n"
	template := read(t, diff[1])
	if strings.Count(template, before) != 1 {
		t.Fatalf("%s does not have these lines once:\n%s", diff[1], before)
	}
	edited := strings.Replace(template, before, before+diff[3]+"\n", 1)
	layer := fstest.MapFS{strings.TrimPrefix(diff[1], "manifests/"): {Data: []byte(edited)}}
	tree, err := render.LoadTree(manifests.FS, layer)
	testenv.NoError(t, err)
	renderer, err := render.New(tree, render.Defaults{})
	testenv.NoError(t, err)
	mc := &cachev1alpha1.Memcached{ObjectMeta: metav1.ObjectMeta{Name: "web", Namespace: "shop", UID: "1"}}
	mc.Spec.Size, mc.Spec.ContainerPort = new(int32(1)), new(int32(11211))
	objects, err := renderer.Render(mc)
	testenv.NoError(t, err)
	for _, object := range objects {
		if object.GetKind() != "Deployment" {
			continue
		}
		containers, _, _ := unstructured.NestedSlice(object.Object, "spec", "template", "spec", "containers")
		if policy := containers[0].(map[string]any)["terminationMessagePolicy"]; policy != "FallbackToLogsOnError" {
			t.Errorf("the container has the policy %v", policy)
		}
	}
}
