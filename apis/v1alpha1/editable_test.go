// SPDX-License-Identifier: Apache-2.0

package v1alpha1_test

import (
	"context"
	"strings"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/example/memcached-operator/test/testenv"
)

// earlierGroup is a group in which Memcacheds are first served without any rule, as
// the Operator SDK's tutorial does, and then as we ship them.
const earlierGroup = "earlier.example.com"

// olderObjects are Memcacheds that broke a rule before there was one, each with an edit of something else.
var olderObjects = map[string]struct{ name, body, edit string }{
	"a name that begins with a digit": {"1st", "spec: {size: 1}", `{"spec":{"size":2}}`},
	"a name with a dot":               {"my.cache", "spec: {size: 1}", `{"spec":{"size":2}}`},
	"a name of 60 characters":         {strings.Repeat("a", 60), "spec: {size: 1}", `{"spec":{"size":2}}`},
	"an image with a space":           {"image", "spec: {image: my image}", `{"spec":{"size":2}}`},
	"a privileged port":               {"port", "spec: {containerPort: 80}", `{"spec":{"size":2}}`},
	"a reserved label":                {"label", "spec: {podMetadata: {labels: {app: x}}}", `{"spec":{"size":2}}`},
	"too many pods":                   {"pods", "spec: {size: 5000}", `{"spec":{"paused":true}}`},
	"too many tolerations":            {"tolerations", "spec: {tolerations: [" + strings.Repeat("{}, ", 40) + "]}", `{"spec":{"size":2}}`},
	"too many node labels":            {"nodes", "spec: {nodeSelector: {" + strings.Repeat("a", 1000) + ": b c}}", `{"spec":{"size":2}}`},
	"too large an affinity":           {"affinity", "spec: {" + within("topologyKey: a, labelSelector: {matchLabels: {a: "+strings.Repeat("b", 1000)+"}}") + "}", `{"spec":{"size":2}}`},
	"too long a patch":                {"patch", "spec: {patches: [{target: {kind: A}, patch: " + strings.Repeat("a", 9000) + "}]}", `{"spec":{"size":2}}`},
	"a label to get":                  {"metadata", "spec: {containerPort: 80}", `{"metadata":{"labels":{"a":"b"}}}`},
}

func TestUpdate_AcceptsObjectsOlderThanTheRules(t *testing.T) {
	suite.SkipBefore(t, 33, "it validates the spec, although it has not changed, when the status is written")
	t.Parallel()
	shipped := testenv.Parse(t, string(crdFile(t)))
	shipped.SetName("memcacheds." + earlierGroup)
	testenv.NoError(t, unstructured.SetNestedField(shipped.Object, earlierGroup, "spec", "group"))
	// Two CustomResourceDefinitions cannot share these.
	unstructured.RemoveNestedField(shipped.Object, "spec", "names", "shortNames")
	unstructured.RemoveNestedField(shipped.Object, "spec", "names", "categories")
	loose := shipped.DeepCopy()
	dropRules(loose.Object["spec"])
	testenv.NoError(t, suite.Apply(t.Context(), loose))

	namespace := suite.NewNamespace(t)
	for sentence, edit := range olderObjects {
		create(t, earlier(t, namespace, edit.name, edit.body), sentence)
	}
	testenv.NoError(t, suite.Apply(t.Context(), shipped))
	refuses(t, earlier(t, namespace, "new.cache", "spec: {}"))

	for sentence, edit := range olderObjects {
		t.Run(sentence, func(t *testing.T) {
			t.Parallel()
			object := earlier(t, namespace, edit.name, "spec: {}")
			if err := suite.Client.Patch(t.Context(), object, client.RawPatch(types.MergePatchType, []byte(edit.edit))); err != nil {
				t.Errorf("the edit is refused: %v", err)
			}
			report := client.RawPatch(types.MergePatchType, []byte(`{"status":{"replicas":1}}`))
			if err := suite.Client.Status().Patch(t.Context(), object, report); err != nil {
				t.Errorf("the status is refused: %v", err)
			}
			suite.Delete(t, object)
		})
	}
}

func earlier(t *testing.T, namespace, name, body string) *unstructured.Unstructured {
	t.Helper()
	object := memcached(t, namespace, name, body)
	object.SetAPIVersion(earlierGroup + "/v1alpha1")
	return object
}

// dropRules takes every rule out of a schema but its types.
func dropRules(value any) {
	switch v := value.(type) {
	case map[string]any:
		for _, rule := range []string{"x-kubernetes-validations", "minimum", "maximum", "minLength", "maxLength", "maxItems", "maxProperties", "pattern", "enum"} {
			delete(v, rule)
		}
		for _, item := range v {
			dropRules(item)
		}
	case []any:
		for _, item := range v {
			dropRules(item)
		}
	}
}

// create makes object once its kind is served.
func create(t *testing.T, object *unstructured.Unstructured, what string) {
	t.Helper()
	testenv.Eventually(t, what, func(ctx context.Context) (bool, error) {
		err := suite.Client.Create(ctx, object)
		// When the test runs again, the rules of the last time are in force for a moment.
		if apierrors.IsNotFound(err) || apierrors.IsInvalid(err) || meta.IsNoMatchError(err) {
			return false, nil
		}
		return err == nil, err
	})
}

// refuses waits until the API server refuses object, by the rules that it just got.
func refuses(t *testing.T, object *unstructured.Unstructured) {
	t.Helper()
	testenv.Eventually(t, "the rules should be in force", func(ctx context.Context) (bool, error) {
		return apierrors.IsInvalid(suite.Client.Create(ctx, object.DeepCopy(), client.DryRunAll)), nil
	})
}
