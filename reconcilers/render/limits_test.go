// SPDX-License-Identifier: Apache-2.0

package render

import (
	utiljson "k8s.io/apimachinery/pkg/util/json"

	"errors"
	"fmt"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/yaml"

	cachev1alpha1 "github.com/example/memcached-operator/apis/v1alpha1"
	"github.com/example/memcached-operator/reconcilers/render/patch"
)

const bounded = `
properties:
  size: {minimum: 0, maximum: 1000}
  share: {maximum: 0.5}
  name: {maxLength: 3}
  either: {maxLength: 3, maximum: 10}
  args: {maxItems: 2, items: {maxLength: 2}}
  labels: {maxProperties: 2, additionalProperties: {maxLength: 2}}
  deep: {items: {properties: {a: {items: {maximum: 1}}}}}
  free: {additionalProperties: {}}
`

func TestBounds_CheckNamesTheFieldAndTheLimit(t *testing.T) {
	t.Parallel()
	var b bounds
	noError(t, yaml.Unmarshal([]byte(bounded), &b))
	for name, test := range map[string]struct{ spec, want string }{
		"accepts values at every bound":         {"{size: 1000, share: 0.5, name: žžž, either: 10, args: [žž, b], labels: {a: bb, c: d}, deep: [{a: [1, 0]}]}", ""},
		"accepts the minimum":                   {"size: 0", ""},
		"accepts fields without bounds":         {"{free: {a: {b: [c]}}, other: 5, more: [x]}", ""},
		"accepts another type than bounded":     {"{size: text, name: 5, args: 5, labels: [a, b, c]}", ""},
		"rejects a number above the maximum":    {"size: 5000", "size is 5000, which is more than the maximum of 1000; lower it"},
		"rejects a number below the minimum":    {"size: -1", "size is -1, which is less than the minimum of 0; raise it"},
		"rejects a fraction above":              {"share: 0.75", "share is 0.75, which is more than the maximum of 0.5; lower it"},
		"rejects long text":                     {"name: abcd", "name has 4 characters, which is more than the maximum of 3; shorten it"},
		"rejects long text of an int-or-string": {"either: abcd", "either has 4 characters, which is more than the maximum of 3; shorten it"},
		"counts characters, not bytes":          {"name: žžžž", "name has 4 characters, which is more than the maximum of 3; shorten it"},
		"rejects a long list":                   {"args: [a, b, c]", "args has 3 items, which is more than the maximum of 2; remove some"},
		"rejects an item":                       {"args: [a, bbb]", "args[1] has 3 characters, which is more than the maximum of 2; shorten it"},
		"rejects a large map":                   {"labels: {a: b, c: d, e: f}", "labels has 3 entries, which is more than the maximum of 2; remove some"},
		"rejects a value of a map":              {"labels: {example.com/a: bbb}", "labels[example.com/a] has 3 characters, which is more than the maximum of 2; shorten it"},
		"rejects a nested value":                {"deep: [{}, {a: [0, 2]}]", "deep[1].a[1] is 2, which is more than the maximum of 1; lower it"},
		"names the first of several fields":     {"{size: 5000, name: abcd, labels: {b: xxx, a: xxx}}", "labels.a has 3 characters, which is more than the maximum of 2; shorten it"},
	} {
		asJSON, err := yaml.YAMLToJSON([]byte(test.spec))
		noError(t, err)
		var value any
		noError(t, utiljson.Unmarshal(asJSON, &value))
		got := ""
		if err := b.check(value, nil); err != nil {
			got = err.Error()
		}
		if got != test.want {
			t.Errorf("%s: got %q, want %q", name, got, test.want)
		}
	}
}

func TestRender_RejectsSpecsAboveTheLimits(t *testing.T) {
	t.Parallel()
	r := mustNew(t, shipped(t), Defaults{AllowPrivilegedFields: true})
	maxThreads := specBounds().Properties["threads"].Maximum
	for name, test := range map[string]struct {
		set  func(*cachev1alpha1.MemcachedSpec)
		want string
	}{
		"rejects too many threads": {
			func(s *cachev1alpha1.MemcachedSpec) { s.Threads = new(int32(*maxThreads + 1)) },
			fmt.Sprintf("spec.threads is %v, which is more than the maximum of %v; lower it", *maxThreads+1, *maxThreads),
		},
		"rejects a negative size": {
			func(s *cachev1alpha1.MemcachedSpec) { s.Size = new(int32(-1)) }, "spec.size is -1, which is less than the minimum of 0; raise it",
		},
		"rejects a spec of more than 64 KiB": {
			func(s *cachev1alpha1.MemcachedSpec) {
				for range 8 {
					s.Patches = append(s.Patches, patchOf("Deployment", "# "+strings.Repeat("x", 8180)+"\nspec: {}"))
				}
			},
			"spec has 65932 bytes as JSON, which is more than the maximum of 65536; shorten it",
		},
	} {
		mc := plain()
		test.set(&mc.Spec)
		_, err := r.Render(mc)
		if _, ok := errors.AsType[*LimitError](err); !ok || !strings.HasPrefix(err.Error(), test.want) {
			t.Errorf("%s: the error is %v, want %s", name, err, test.want)
		}
	}
}

func TestCheckSizes_NamesTheObjectAndTheLimit(t *testing.T) {
	t.Parallel()
	object := func(data map[string]any) *unstructured.Unstructured {
		return &unstructured.Unstructured{Object: map[string]any{"kind": "ConfigMap", "metadata": map[string]any{"name": "a"}, "data": data}}
	}
	empty := patch.JSONSize(object(map[string]any{"k": ""}).Object)
	nested := map[string]any{}
	for range maxObjectDepth - 1 {
		nested = map[string]any{"a": nested}
	}
	for name, test := range map[string]struct {
		data map[string]any
		want string
	}{
		"accepts 256 KiB": {map[string]any{"k": strings.Repeat("x", maxObjectJSON-empty)}, ""},
		"rejects a byte more": {
			map[string]any{"k": strings.Repeat("x", maxObjectJSON-empty+1)},
			"ConfigMap a has 262145 bytes as JSON, which is more than the maximum of 262144; shorten the fields of the spec that it is rendered from",
		},
		"rejects an object that escapes make large": {
			map[string]any{"k": strings.Repeat("\x00", maxObjectJSON/6)},
			fmt.Sprintf("ConfigMap a has %d bytes as JSON, which is more than the maximum of 262144; shorten the fields of the spec that it is rendered from", empty+maxObjectJSON/6*6),
		},
		"accepts 64 levels": {nested["a"].(map[string]any), ""},
		"rejects 66 levels": {
			map[string]any{"a": map[string]any{"a": nested}}, "ConfigMap a nests maps and lists more than 64 levels deep; shorten the fields of the spec that it is rendered from",
		},
	} {
		got := ""
		if err := checkSizes([]*unstructured.Unstructured{object(nil), object(test.data)}); err != nil {
			got = err.Error()
		}
		if got != test.want {
			t.Errorf("%s: got %q, want %q", name, got, test.want)
		}
	}
}

func BenchmarkSpecBounds(b *testing.B) {
	b.ReportAllocs()
	for b.Loop() {
		if loadSpecBounds() == nil {
			b.Fatal("the bounds are missing")
		}
	}
}

// A namespace builds one set at a time. Namespaces do not wait for each other, nor for sets
// that are built.
func TestRender_NamespaceBuildsOneSetAtATime(t *testing.T) {
	t.Parallel()
	r := mustNew(t, shipped(t), Defaults{})
	render := func(namespace string, edit func(*cachev1alpha1.MemcachedSpec)) error {
		mc := plain()
		mc.Namespace = namespace
		edit(&mc.Spec)
		_, err := r.Render(mc)
		return err
	}
	r.sets.builders.LockKey("busy")
	waiting := make(chan error)
	go func() {
		waiting <- render("busy", func(s *cachev1alpha1.MemcachedSpec) { s.MaxConnections = new(int32(100)) })
	}()
	for _, namespace := range []string{"other", "busy"} {
		// For "busy", "other" has built it.
		if err := render(namespace, func(s *cachev1alpha1.MemcachedSpec) { s.Threads = new(int32(2)) }); err != nil {
			t.Error(err)
		}
	}
	select {
	case err := <-waiting:
		t.Errorf("the namespace built two sets at a time: %v", err)
	default:
	}
	if err := r.sets.builders.UnlockKey("busy"); err != nil {
		t.Error(err)
	}
	if err := <-waiting; err != nil {
		t.Error(err)
	}
}
