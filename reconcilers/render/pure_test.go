// SPDX-License-Identifier: Apache-2.0

package render

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	cachev1alpha1 "github.com/example/memcached-operator/apis/v1alpha1"
	"github.com/example/memcached-operator/reconcilers/render/template"
)

// typedTexts lists texts that YAML without quotes does not read as strings.
var typedTexts = []string{"true", "null", "~", "1e3", "12345", "0x1f", "0o17", "1_000", ".inf", "2026-01-01", "12:30:45", "yes", "off", "-", "="}

// hostileSpecs returns specs that broke other Memcacheds, or were rendered differently, when
// rendering depended on the Memcacheds before.
func hostileSpecs() map[string]func(*cachev1alpha1.MemcachedSpec) {
	specs := map[string]func(*cachev1alpha1.MemcachedSpec){
		"has a key of 1,100 characters in matchLabels": func(s *cachev1alpha1.MemcachedSpec) {
			s.NodeSelector = map[string]cachev1alpha1.LabelValue{strings.Repeat("k", 1100): "v"}
		},
		"has a key of 120 characters beyond ASCII": func(s *cachev1alpha1.MemcachedSpec) {
			s.NodeSelector = map[string]cachev1alpha1.LabelValue{strings.Repeat("ž", 120): "v"}
		},
		"has a merge key": func(s *cachev1alpha1.MemcachedSpec) {
			s.NodeSelector = map[string]cachev1alpha1.LabelValue{"<<": "v"}
		},
		"has an annotation that controls kustomize": func(s *cachev1alpha1.MemcachedSpec) {
			s.Service = &cachev1alpha1.Service{Annotations: map[string]cachev1alpha1.AnnotationValue{template.LocalConfigAnnotation: "true"}}
		},
		"has an annotation that kustomize removes": func(s *cachev1alpha1.MemcachedSpec) {
			s.Service = &cachev1alpha1.Service{Annotations: map[string]cachev1alpha1.AnnotationValue{"internal.config.kubernetes.io/index": "1"}}
		},
		"has an image like a placeholder": func(s *cachev1alpha1.MemcachedSpec) { s.Image = new(cachev1alpha1.Image("placeholder-0001")) },
		"has an image like a prefixed name": func(s *cachev1alpha1.MemcachedSpec) {
			s.Image = new(cachev1alpha1.Image(template.NamePrefix + "memcached"))
		},
		"has every key typed": func(s *cachev1alpha1.MemcachedSpec) {
			s.NodeSelector = map[string]cachev1alpha1.LabelValue{}
			for _, text := range typedTexts {
				if !strings.ContainsFunc(text, isInvalidInKey) {
					s.NodeSelector[text] = cachev1alpha1.LabelValue(text)
				}
			}
		},
	}
	for _, text := range typedTexts {
		specs["has the texts "+text] = func(s *cachev1alpha1.MemcachedSpec) {
			name := cachev1alpha1.ObjectName(text)
			s.ServiceAccountName, s.PriorityClassName, s.Image = &name, &name, new(cachev1alpha1.Image(text))
			s.NodeSelector = map[string]cachev1alpha1.LabelValue{"key": cachev1alpha1.LabelValue(text)}
			s.PodMetadata = &cachev1alpha1.PodMetadata{Annotations: map[string]cachev1alpha1.AnnotationValue{"key": cachev1alpha1.AnnotationValue(text)}}
			s.ImagePullPolicy = new(corev1.PullPolicy(text))
		}
	}
	return specs
}

// plainSpecs returns specs that enable the same components as the hostile ones.
func plainSpecs() []func(*cachev1alpha1.MemcachedSpec) {
	return []func(*cachev1alpha1.MemcachedSpec){
		func(*cachev1alpha1.MemcachedSpec) {},
		func(s *cachev1alpha1.MemcachedSpec) { s.Image = new(cachev1alpha1.Image("memcached:1.6.45")) },
		func(s *cachev1alpha1.MemcachedSpec) {
			s.NodeSelector = map[string]cachev1alpha1.LabelValue{"team": "web"}
		},
		func(s *cachev1alpha1.MemcachedSpec) {
			s.Service = &cachev1alpha1.Service{Annotations: map[string]cachev1alpha1.AnnotationValue{"team": "web"}}
		},
		func(s *cachev1alpha1.MemcachedSpec) {
			name := cachev1alpha1.ObjectName("web")
			s.ServiceAccountName, s.PriorityClassName, s.Image = &name, &name, new(cachev1alpha1.Image("web"))
			s.NodeSelector = map[string]cachev1alpha1.LabelValue{"key": "web"}
			s.PodMetadata = &cachev1alpha1.PodMetadata{Annotations: map[string]cachev1alpha1.AnnotationValue{"key": "web"}}
			s.ImagePullPolicy = new(corev1.PullAlways)
		},
	}
}

// resultOf returns the objects or the error of Render as text.
func resultOf(r *Renderer, mc *cachev1alpha1.Memcached) string {
	objects, err := r.Render(mc)
	if err != nil {
		return "error: " + err.Error()
	}
	list := &unstructured.UnstructuredList{}
	for _, object := range objects {
		list.Items = append(list.Items, *object)
	}
	text, err := list.MarshalJSON()
	if err != nil {
		return "error: " + err.Error()
	}
	return string(text)
}

func TestRender_DoesNotDependOnPreviousMemcacheds(t *testing.T) {
	buildsTemplates(t)
	t.Parallel()
	fresh := mustNew(t, shipped(t), Defaults{AllowPrivilegedFields: true})
	want := map[int]string{}
	for i, set := range plainSpecs() {
		mc := named("plain")
		set(&mc.Spec)
		want[i] = resultOf(fresh, mc)
		if strings.HasPrefix(want[i], "error") {
			t.Fatal(want[i])
		}
	}
	after := mustNew(t, shipped(t), Defaults{AllowPrivilegedFields: true})
	for name, set := range hostileSpecs() {
		hostile := named("hostile")
		set(&hostile.Spec)
		first, second := resultOf(after, hostile), resultOf(fresh, hostile)
		if first != second {
			t.Errorf("a Memcached that %s renders to %s before others, and to %s after them", name, first, second)
		}
	}
	for i, set := range plainSpecs() {
		mc := named("plain")
		set(&mc.Spec)
		if got := resultOf(after, mc); got != want[i] {
			t.Errorf("after hostile Memcacheds, plain Memcached %d renders to %s, want %s", i, got, want[i])
		}
	}
}

func TestRender_KeepsTextsOfAnyType(t *testing.T) {
	buildsTemplates(t)
	t.Parallel()
	for tree, r := range map[string]*Renderer{
		"renders late replacements": mustNew(t, shipped(t), Defaults{AllowPrivilegedFields: true}),
		"renders full builds": mustNew(t, edited(t, inSite(`patches:
- target: {kind: Deployment, labelSelector: memcached_cr}
  patch: |-
    - {op: add, path: /spec/revisionHistoryLimit, value: 3}
`)), Defaults{AllowPrivilegedFields: true}),
	} {
		for _, text := range typedTexts {
			t.Run(tree+" "+text, func(t *testing.T) {
				t.Parallel()
				mc := named("cache")
				hostileSpecs()["has the texts "+text](&mc.Spec)
				pod := template.Lookup(find(t, mustRender(t, r, mc), "Deployment", "cache").Object, []any{"spec", "template"})
				for _, path := range [][]any{
					{"spec", "serviceAccountName"}, {"spec", "serviceAccount"}, {"spec", "priorityClassName"}, {"spec", "nodeSelector", "key"},
					{"spec", "containers", 0, "image"}, {"spec", "containers", 0, "imagePullPolicy"}, {"metadata", "annotations", "key"},
				} {
					if got := template.Lookup(pod, path); got != text {
						t.Errorf("%s is %T %v", template.Dotted(path), got, got)
					}
				}
			})
		}
	}
}

// FuzzSets_DoNotDependOnOrder renders Memcacheds in any order, clears the cached sets
// between them, and expects the same result for each as the first time.
func FuzzSets_DoNotDependOnOrder(f *testing.F) {
	buildsTemplates(f)
	var specs []func(*cachev1alpha1.MemcachedSpec)
	hostile := hostileSpecs()
	for _, name := range slices.Sorted(maps.Keys(hostile)) {
		specs = append(specs, hostile[name])
	}
	specs = append(specs, plainSpecs()...)
	for i := range specs {
		f.Add([]byte{byte(i), byte(len(specs) - 1 - i), 0, 255}, "web", byte(i))
	}
	trees := fuzzedTrees(f)
	renderers := make([]*Renderer, len(trees))
	first := map[string]string{}
	for i, tree := range trees {
		renderers[i] = mustNew(f, tree, Defaults{AllowPrivilegedFields: true})
	}
	f.Fuzz(func(t *testing.T, order []byte, text string, tree byte) {
		n := int(tree) % len(trees)
		for i, b := range order[:min(len(order), 8)] {
			if b == 255 {
				renderers[n].sets.cache.Clear()
				continue
			}
			mc := named("cache")
			specs[int(b)%len(specs)](&mc.Spec)
			if i%2 == 1 {
				mc.Spec.ServiceAccountName = new(cachev1alpha1.ObjectName(text))
			}
			id := fmt.Sprintf("%d %d %d %q", n, int(b)%len(specs), i%2, text)
			got := resultOf(renderers[n], mc)
			if want, seen := first[id]; seen && got != want {
				t.Fatalf("the same Memcached renders to\n%s\nand to\n%s", want, got)
			}
			if len(first) < 10_000 {
				first[id] = got
			}
		}
	})
}
