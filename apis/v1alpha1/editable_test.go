// SPDX-License-Identifier: Apache-2.0

package v1alpha1_test

import (
	"context"
	"strings"
	"testing"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/wait"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"
)

// crd is the CustomResourceDefinition as it is shipped.
func crd(t *testing.T) *unstructured.Unstructured {
	t.Helper()
	object := &unstructured.Unstructured{}
	fatal(t, yaml.Unmarshal(crdFile(t), &object.Object))
	return object
}

// earlierGroup is a group in which Memcacheds are first served without any rule, as
// the Operator SDK's tutorial does, and then as we ship them.
const earlierGroup = "earlier.example.com"

func TestUpdate_AcceptsObjectsOlderThanTheRules(t *testing.T) {
	plane.SkipBefore(t, 33, "it validates the spec, although it has not changed, when the status is written")
	t.Parallel()
	shipped := crd(t)
	shipped.SetName("memcacheds." + earlierGroup)
	fatal(t, unstructured.SetNestedField(shipped.Object, earlierGroup, "spec", "group"))
	// Two CustomResourceDefinitions cannot share these.
	unstructured.RemoveNestedField(shipped.Object, "spec", "names", "shortNames")
	unstructured.RemoveNestedField(shipped.Object, "spec", "names", "categories")
	loose := shipped.DeepCopy()
	dropRules(loose.Object["spec"])
	fatal(t, plane.Apply(t.Context(), loose))

	namespace := newNamespace(t)
	edits := map[string]struct {
		name string
		body string
		edit string
	}{
		"a name that begins with a digit": {name: "1st", body: "spec: {size: 1}", edit: `{"spec":{"size":2}}`},
		"a name with a dot":               {name: "my.cache", body: "spec: {size: 1}", edit: `{"spec":{"size":2}}`},
		"a name of 60 characters":         {name: strings.Repeat("a", 60), body: "spec: {size: 1}", edit: `{"spec":{"size":2}}`},
		"an image with a space":           {name: "image", body: "spec: {image: my image}", edit: `{"spec":{"size":2}}`},
		"a privileged port":               {name: "port", body: "spec: {containerPort: 80}", edit: `{"spec":{"size":2}}`},
		"a reserved label":                {name: "label", body: "spec: {podMetadata: {labels: {app: x}}}", edit: `{"spec":{"size":2}}`},
		"too many pods":                   {name: "pods", body: "spec: {size: 5000}", edit: `{"spec":{"paused":true}}`},
		"too many tolerations":            {name: "tolerations", body: "spec: {tolerations: [" + strings.Repeat("{}, ", 40) + "]}", edit: `{"spec":{"size":2}}`},
		"too many node labels":            {name: "nodes", body: "spec: {nodeSelector: {" + strings.Repeat("a", 1000) + ": b c}}", edit: `{"spec":{"size":2}}`},
		"too large an affinity":           {name: "affinity", body: "spec: {" + within("topologyKey: a, labelSelector: {matchLabels: {a: "+strings.Repeat("b", 1000)+"}}") + "}", edit: `{"spec":{"size":2}}`},
		"too long a patch":                {name: "patch", body: "spec: {patches: [{target: {kind: A}, patch: " + strings.Repeat("a", 9000) + "}]}", edit: `{"spec":{"size":2}}`},
		"a label to get":                  {name: "metadata", body: "spec: {containerPort: 80}", edit: `{"metadata":{"labels":{"a":"b"}}}`},
	}
	for sentence, edit := range edits {
		create(t, earlier(t, namespace, edit.name, edit.body), sentence)
	}
	fatal(t, plane.Apply(t.Context(), shipped))
	refuses(t, earlier(t, namespace, "new.cache", "spec: {}"))

	for sentence, edit := range edits {
		t.Run(sentence, func(t *testing.T) {
			t.Parallel()
			object := earlier(t, namespace, edit.name, "spec: {}")
			if err := plane.Client.Patch(t.Context(), object, client.RawPatch(types.MergePatchType, []byte(edit.edit))); err != nil {
				t.Errorf("the edit is refused: %v", err)
			}
			report := client.RawPatch(types.MergePatchType, []byte(`{"status":{"replicas":1}}`))
			if err := plane.Client.Status().Patch(t.Context(), object, report); err != nil {
				t.Errorf("the status is refused: %v", err)
			}
			fatal(t, plane.Client.Delete(t.Context(), object))
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
	eventually(t, func(ctx context.Context) (bool, error) {
		err := plane.Client.Create(ctx, object)
		// When the test runs again, the rules of the last time are in force for a moment.
		if apierrors.IsNotFound(err) || apierrors.IsInvalid(err) || strings.Contains(errorText(err), "no matches for kind") {
			return false, nil
		}
		return err == nil, err
	}, what)
}

// refuses waits until the API server refuses object, by the rules that it just got.
func refuses(t *testing.T, object *unstructured.Unstructured) {
	t.Helper()
	eventually(t, func(ctx context.Context) (bool, error) {
		return apierrors.IsInvalid(plane.Client.Create(ctx, object.DeepCopy(), client.DryRunAll)), nil
	}, "the rules should be in force")
}

func errorText(err error) string {
	if err == nil {
		return ""
	}
	return err.Error()
}

func eventually(t *testing.T, condition wait.ConditionWithContextFunc, what string) {
	t.Helper()
	if err := wait.PollUntilContextTimeout(t.Context(), 20*time.Millisecond, time.Minute, true, condition); err != nil {
		t.Fatalf("%s: %v", what, err)
	}
}
