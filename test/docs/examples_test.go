// SPDX-License-Identifier: Apache-2.0

package docs

import (
	"regexp"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	cachev1alpha1 "github.com/example/memcached-operator/apis/v1alpha1"
	"github.com/example/memcached-operator/test/testenv"
)

var (
	yamlBlock = regexp.MustCompile("(?ms)^```yaml\n(.*?)^```")
	separator = regexp.MustCompile(`(?m)^---$`)
)

// TestExamples_AreAccepted: the API server accepts every example, strictly validated, and all objects that are rendered
// for its Memcacheds.
func TestExamples_AreAccepted(t *testing.T) {
	t.Parallel()
	renderer, err := testenv.Renderer(nil)
	testenv.NoError(t, err)
	memcacheds := 0
	for _, file := range append(pages(t), files(t, "config/samples", ".yaml")...) {
		for _, object := range examples(t, file) {
			taken := take(t, file, object)
			if taken == nil || taken.GetKind() != "Memcached" {
				continue
			}
			memcacheds++
			mc := &cachev1alpha1.Memcached{}
			testenv.NoError(t, runtime.DefaultUnstructuredConverter.FromUnstructuredWithValidation(taken.Object, mc, true))
			rendered, err := renderer.Render(mc)
			if err != nil {
				t.Errorf("%s: %s: %v", file, mc.Name, err)
			}
			for _, object := range rendered {
				take(t, file, object)
			}
		}
	}
	if memcacheds < 20 {
		t.Errorf("there are %d examples of a Memcached", memcacheds)
	}
}

// examples are the documents of a YAML file, or of the YAML in a page. Those that are
// no objects only have to be YAML.
func examples(t *testing.T, file string) []*unstructured.Unstructured {
	t.Helper()
	blocks := []string{read(t, file)}
	if strings.HasSuffix(file, ".md") {
		blocks = nil
		for _, block := range yamlBlock.FindAllStringSubmatch(read(t, file), -1) {
			blocks = append(blocks, block[1])
		}
	}
	var objects []*unstructured.Unstructured
	for _, block := range blocks {
		for _, document := range separator.Split(block, -1) {
			var content any
			if err := yaml.UnmarshalStrict([]byte(document), &content); err != nil {
				t.Errorf("%s: %v in\n%s", file, err, document)
			}
			if object, ok := content.(map[string]any); ok && object["kind"] != nil {
				objects = append(objects, &unstructured.Unstructured{Object: object})
			}
		}
	}
	return objects
}

// take asks the API server whether it would take object, and returns it with its
// defaults; nil when it would not, or does not know the kind.
func take(t *testing.T, file string, object *unstructured.Unstructured) *unstructured.Unstructured {
	t.Helper()
	kind := object.GroupVersionKind()
	if kind.Group != cachev1alpha1.SchemeGroupVersion.Group && !clientgoscheme.Scheme.Recognizes(kind) || object.GetName() == "" {
		return nil
	}
	object = object.DeepCopy()
	if kind.Kind != "Namespace" {
		object.SetNamespace("default")
	}
	if err := suite.Client.Create(t.Context(), object, client.DryRunAll, client.FieldValidation("Strict")); err != nil {
		t.Errorf("%s: %v", file, err)
		return nil
	}
	return object
}
