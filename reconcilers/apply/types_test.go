// SPDX-License-Identifier: Apache-2.0

package apply_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/rest"

	"github.com/example/memcached-operator/reconcilers/apply"
	"github.com/example/memcached-operator/test/testenv"
)

func TestTypes_ReadsOnlyMissingSchemasFromServer(t *testing.T) {
	t.Parallel()
	const index = "get /openapi/v3"
	for sentence, test := range map[string]struct {
		kinds []schema.GroupVersionKind
		want  []string
		err   string
	}{
		"none": {},
		"kinds of client-go": {
			kinds: []schema.GroupVersionKind{{Version: "v1", Kind: "Service"}, {Group: "apps", Version: "v1", Kind: "Deployment"}},
		},
		"includes a custom resource": {
			kinds: []schema.GroupVersionKind{{Version: "v1", Kind: "Service"}, widgetKind},
			want:  []string{index, index + "/apis/test.example.com/v1"},
		},
		"two kinds of one group": {
			kinds: []schema.GroupVersionKind{widgetKind, {Group: "test.example.com", Version: "v1", Kind: "WidgetSet"}},
			want:  []string{index, index + "/apis/test.example.com/v1"},
		},
		"belongs to an API group that is not served": {
			kinds: []schema.GroupVersionKind{{Group: "none.example.com", Version: "v1", Kind: "Nothing"}},
			want:  []string{index},
			err:   "reading the schema of none.example.com/v1 from the API server",
		},
	} {
		t.Run(sentence, func(t *testing.T) {
			t.Parallel()
			sent := &requests{}
			server, err := discovery.NewDiscoveryClientForConfig(sent.config())
			testenv.NoError(t, err)
			_, err = apply.NewTypes(suite.scheme, server.OpenAPIV3(), test.kinds)
			if test.err == "" {
				testenv.NoError(t, err)
			} else if err == nil || !strings.Contains(err.Error(), test.err) {
				t.Errorf("got %v, want %q", err, test.err)
			}
			sent.mustBe(t, "reading", test.want...)
		})
	}
}

func TestTypes_LoadSchemaOncePublished(t *testing.T) {
	t.Parallel()
	sent := &requests{}
	server, err := discovery.NewDiscoveryClientForConfig(sent.config())
	testenv.NoError(t, err)
	types, err := apply.NewTypes(suite.scheme, server.OpenAPIV3(), nil)
	testenv.NoError(t, err)
	for _, test := range []struct {
		kind schema.GroupVersionKind
		want bool
	}{
		{schema.GroupVersionKind{Version: "v1", Kind: "Service"}, true},
		{schema.GroupVersionKind{Group: "none.example.com", Version: "v1", Kind: "Nothing"}, false},
		{schema.GroupVersionKind{Group: "test.example.com", Version: "v1", Kind: "WidgetSet"}, false},
		{widgetKind, true},
	} {
		if published, err := types.LoadSchema(test.kind); published != test.want || err != nil {
			t.Errorf("%s: published is %t (%v)", test.kind, published, err)
		}
	}
	const index, group = "get /openapi/v3", "get /openapi/v3/apis/test.example.com/v1"
	sent.mustBe(t, "learning", index, index, group, index, group)
	_, err = types.ObjectToTyped(testenv.Parse(t, `{apiVersion: test.example.com/v1, kind: Widget, spec: {size: a}}`))
	if err == nil || !strings.Contains(err.Error(), ".spec.size: expected numeric") {
		t.Errorf("what was learnt is not used: %v", err)
	}
	unreachable, err := apply.NewTypes(suite.scheme, nobody(t).OpenAPIV3(), nil)
	testenv.NoError(t, err)
	if _, err := unreachable.LoadSchema(widgetKind); err == nil {
		t.Error("a server that does not answer is no error")
	}
}

// nobody is a server that does not answer.
func nobody(t *testing.T) *discovery.DiscoveryClient {
	t.Helper()
	client, err := discovery.NewDiscoveryClientForConfig(&rest.Config{Host: "http://127.0.0.1:1"})
	testenv.NoError(t, err)
	return client
}

func TestTypes_ChecksFieldsOfEveryKind(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		`{apiVersion: apps/v1, kind: Deployment, spec: {replicas: 1}}`:                 "",
		`{apiVersion: apps/v1, kind: Deployment, spec: {Replicas: 1}}`:                 ".spec.Replicas: field not declared in schema",
		`{apiVersion: test.example.com/v1, kind: Widget, spec: {size: 1}}`:             "",
		`{apiVersion: test.example.com/v1, kind: Widget, spec: {size: a}}`:             ".spec.size: expected numeric",
		`{apiVersion: test.example.com/v1, kind: Widget, spec: {ports: [{port: 1}]}}`:  "name",
		`{apiVersion: test.example.com/v1, kind: Widget, spec: {tags: [a, a]}}`:        "duplicate",
		`{apiVersion: loose.example.com/v1, kind: Gadget, anything: [{goes: 1}, two]}`: "",
		`{apiVersion: elsewhere.example.com/v1, kind: Nothing, spec: {}}`:              "no kind \"Nothing\" is registered",
	} {
		_, err := suite.types.ObjectToTyped(testenv.Parse(t, text))
		if want == "" && err != nil || want != "" && (err == nil || !strings.Contains(err.Error(), want)) {
			t.Errorf("%s: got %v, want %q", text, err, want)
		}
	}
}

func TestTypes_TypedToObject(t *testing.T) {
	t.Parallel()
	for _, text := range []string{
		`{apiVersion: v1, kind: ConfigMap, data: {a: b}}`,
		`{apiVersion: test.example.com/v1, kind: Widget, spec: {size: 1}}`,
	} {
		object := testenv.Parse(t, text)
		value, err := suite.types.ObjectToTyped(object)
		testenv.NoError(t, err)
		again, err := suite.types.TypedToObject(value)
		testenv.NoError(t, err)
		mustBeSame(t, again.(*unstructured.Unstructured).Object, object.Object)
	}
}

// A custom resource's definition may change while the operator runs: fields of ours
// are judged as before, and fields that we do not know are not ours.
func TestTypes_ToleratesChangedCRD(t *testing.T) {
	t.Parallel()
	w := newEnv(t)
	object := w.made(`{apiVersion: changing.example.com/v1, kind: Gizmo, spec: {size: 1}}`)
	w.applied(object)
	testenv.NoError(t, suite.ApplyYAML(t.Context(), gizmos(", novel: {type: string, default: here}")))
	testenv.Eventually(t, "the new field is there", func() bool {
		patched(fmt.Sprintf(`add /metadata/annotations/now %q`, time.Now()))(w, object)
		novel, _, _ := unstructured.NestedString(w.live(object).Object, "spec", "novel")
		return novel == "here"
	})
	w.settle(object)
	w.mustHold("with a field that the operator does not know", object)

	set(t, object, int64(2), "spec", "size")
	w.apply("when ours changes", apply.Configured, object)
	w.requests.mustBe(t, "when ours changes", "apply gizmos/cache")
	w.mustHold("afterwards", object)
}
