// SPDX-License-Identifier: Apache-2.0

package render

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/yaml"

	cachev1alpha1 "github.com/example/memcached-operator/apis/v1alpha1"
	"github.com/example/memcached-operator/manifests"
	"github.com/example/memcached-operator/reconcilers/nodes"
	"github.com/example/memcached-operator/reconcilers/render/template"
)

// shipped returns the tree that is embedded into the operator.
func shipped(tb testing.TB) Tree {
	tb.Helper()
	tree, err := LoadTree(manifests.FS)
	noError(tb, err)
	return tree
}

// noError ends the test when err is not nil. It is that of testenv, which imports this package.
func noError(tb testing.TB, err error) {
	tb.Helper()
	if err != nil {
		tb.Fatal(err)
	}
}

// edits maps paths to files that replace those of a tree; an empty text removes a file.
type edits map[string]string

// edited returns the shipped tree with edits.
func edited(tb testing.TB, e edits) Tree {
	tb.Helper()
	tree := shipped(tb)
	for name, content := range e {
		if content == "" {
			delete(tree, name)
			continue
		}
		tree[name] = []byte(content)
	}
	return tree
}

// few returns the edited tree with those components only that edits name, site and three of the shipped ones: what New says
// of a mistake does not depend on the others, and sixty take a fifth of a second to build.
func few(tb testing.TB, e edits) Tree {
	tb.Helper()
	tree := edited(tb, e)
	return only(tree, func(component string) bool {
		for name := range e {
			if strings.HasPrefix(name, "components/"+component+"/") {
				return true
			}
		}
		return slices.Contains([]string{"site", "image", "extraArgs", "service.clusterIP"}, component)
	})
}

// only removes from tree the components that keep does not report.
func only(tree Tree, keep func(component string) bool) Tree {
	for name := range tree {
		if parts := strings.Split(name, "/"); parts[0] == "components" && len(parts) > 2 && !keep(parts[1]) {
			delete(tree, name)
		}
	}
	return tree
}

// replaced returns the text of a shipped file with one passage, which must exist, replaced.
func replaced(tb testing.TB, file, passage, by string) string {
	tb.Helper()
	text := string(shipped(tb)[file])
	if !strings.Contains(text, passage) {
		tb.Fatalf("%s does not hold %q", file, passage)
	}
	return strings.Replace(text, passage, by, 1)
}

func mustNew(tb testing.TB, tree Tree, defaults Defaults) *Renderer {
	tb.Helper()
	r, err := New(tree, defaults)
	noError(tb, err)
	return r
}

func mustRender(tb testing.TB, r *Renderer, mc *cachev1alpha1.Memcached) []*unstructured.Unstructured {
	tb.Helper()
	objects, err := r.RenderWith(mc, layoutOf(mc))
	noError(tb, err)
	return objects
}

// layoutOf returns a layout for mc: all names but 1 are held by pods with two addresses.
func layoutOf(mc *cachev1alpha1.Memcached) nodes.Layout {
	layout := nodes.Layout{Families: nodes.Families}
	for i := range int(ptr.Deref(mc.Spec.Size, 3)) {
		if i != 1 && i < 3 {
			layout.Slots = append(layout.Slots, nodes.Slot{Ordinal: i, Pod: nodes.Pod{
				UID: types.UID(fmt.Sprintf("5f1c9a3e-0000-4000-8000-00000000001%d", i)), Name: fmt.Sprintf("%s-6d5f-%d", mc.Name, i), Node: "worker-1", Zone: "true",
				Addresses: []string{fmt.Sprintf("10.244.0.1%d", i), fmt.Sprintf("fd00:10:244::%d", i)}, Ready: i == 0,
			}})
		}
	}
	return layout
}

// mustFullBuild is the oracle: one full kustomize build with mc as a resource, and what
// Render adds to it. always reports whether Render takes full builds itself.
func mustFullBuild(tb testing.TB, r *Renderer, mc *cachev1alpha1.Memcached) (objects []*unstructured.Unstructured, always bool) {
	tb.Helper()
	in, err := r.input(mc, layoutOf(mc))
	noError(tb, err)
	set, err := r.sets.get(in, mc.Namespace)
	noError(tb, err)
	objects, err = desiredObjects(set.FullBuild, in, mc)
	noError(tb, err)
	return patchedByKustomize(tb, objects, mc.Spec.Patches), set.FullBuilds() != ""
}

// patchedByKustomize is the oracle of spec.patches: a kustomize build of objects with them.
func patchedByKustomize(tb testing.TB, objects []*unstructured.Unstructured, patches []cachev1alpha1.Patch) []*unstructured.Unstructured {
	tb.Helper()
	for _, patch := range patches {
		index := slices.IndexFunc(objects, func(o *unstructured.Unstructured) bool { return o.GetKind() == patch.Target.Kind })
		target := map[string]any{"kind": patch.Target.Kind}
		if patch.Target.Name != nil {
			target["name"] = *patch.Target.Name
		}
		text := patch.Patch
		var merge map[string]any
		if yaml.Unmarshal([]byte(text), &merge) == nil { // A strategic merge patch.
			merge["apiVersion"], merge["kind"] = objects[index].GetAPIVersion(), patch.Target.Kind
			metadata, _ := merge["metadata"].(map[string]any)
			if metadata == nil {
				metadata = map[string]any{}
			}
			metadata["name"] = objects[index].GetName()
			merge["metadata"] = metadata
			text = toYAML(tb, merge)
		}
		tree := Tree{"objects.yaml": nil}
		for _, object := range objects {
			tree["objects.yaml"] = append(tree["objects.yaml"], "---\n"+toYAML(tb, object.Object)...)
		}
		raw, err := template.Build(tree, toYAML(tb, map[string]any{
			"resources": []string{"objects.yaml"},
			"patches":   []any{map[string]any{"target": target, "patch": text}},
		}))
		noError(tb, err)
		objects = nil
		for _, object := range raw {
			objects = append(objects, &unstructured.Unstructured{Object: object})
		}
	}
	return objects
}

func toYAML(tb testing.TB, value any) string {
	tb.Helper()
	text, err := yaml.Marshal(value)
	noError(tb, err)
	return string(text)
}

// mustBeSame compares objects byte for byte.
func mustBeSame(tb testing.TB, what string, got, want []*unstructured.Unstructured) {
	tb.Helper()
	if g, w := asJSON(tb, got), asJSON(tb, want); g != w {
		tb.Fatalf("%s: the bytes differ:\n got %s\nwant %s", what, g, w)
	}
}

func asJSON(tb testing.TB, objects []*unstructured.Unstructured) string {
	tb.Helper()
	text, err := json.Marshal(objects)
	noError(tb, err)
	return string(text)
}

// find returns the object of kind with name.
func find(tb testing.TB, objects []*unstructured.Unstructured, kind, name string) *unstructured.Unstructured {
	tb.Helper()
	var names []string
	for _, object := range objects {
		if object.GetKind() == kind && object.GetName() == name {
			return object
		}
		names = append(names, object.GetKind()+" "+object.GetName())
	}
	tb.Fatalf("no %s %s among %s", kind, name, strings.Join(names, ", "))
	return nil
}
