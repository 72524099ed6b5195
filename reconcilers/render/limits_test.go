// SPDX-License-Identifier: Apache-2.0

package render

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	cachev1alpha1 "github.com/example/memcached-operator/apis/v1alpha1"
	"github.com/example/memcached-operator/reconcilers/render/patch"
)

func TestRender_RejectsLargeSpecs(t *testing.T) {
	t.Parallel()
	r := mustNew(t, shipped(t), Defaults{AllowPrivilegedFields: true})
	mc := plain()
	for range 8 {
		mc.Spec.Patches = append(mc.Spec.Patches, patchOf("Deployment", "# "+strings.Repeat("x", 8180)+"\nspec: {}"))
	}
	_, err := r.Render(mc)
	const want = "spec has 65932 bytes as JSON, which is more than the maximum of 65536; shorten it"
	if _, ok := errors.AsType[*LimitError](err); !ok || err.Error() != want {
		t.Errorf("the error is %v, want %s", err, want)
	}
}

func TestCheckSizes_NamesTheObjectAndTheLimit(t *testing.T) {
	t.Parallel()
	object := func(data map[string]any) *unstructured.Unstructured {
		return &unstructured.Unstructured{Object: map[string]any{"kind": "ConfigMap", "metadata": map[string]any{"name": "a"}, "data": data}}
	}
	empty := patch.JSONSize(object(map[string]any{"k": ""}).Object)
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
