// SPDX-License-Identifier: Apache-2.0

package render

import (
	"slices"
	"testing"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/intstr"

	cachev1alpha1 "github.com/example/memcached-operator/apis/v1alpha1"
)

// Whatever the site component does comes last, and comes to what kustomize makes of
// it, whether or not it can be compiled.
func TestTheSiteComponentHasTheLastWord(t *testing.T) {
	t.Parallel()
	container := []any{"spec", "template", "spec", "containers", 0}
	field := func(path ...any) []any { return append(append([]any{}, container...), path...) }
	patch := func(spec string) edits {
		return inSite("patches:\n- patch: |-\n    apiVersion: apps/v1\n    kind: Deployment\n    metadata: {name: memcached}\n    spec: " + spec + "\n")
	}
	full := &cachev1alpha1.PodMetadata{
		Labels:      map[string]cachev1alpha1.LabelValue{"team": "web"},
		Annotations: map[string]cachev1alpha1.AnnotationValue{"example.com/owner": "web", "example.com/secret": "x"},
	}
	for sentence, test := range map[string]struct {
		edits edits
		spec  cachev1alpha1.MemcachedSpec
		path  []any
		want  any
		whole bool
	}{
		"a field that nothing fills in is compiled": {
			patch(`{paused: true}`), cachev1alpha1.MemcachedSpec{}, []any{"spec", "paused"}, true, false,
		},
		"a field that spec.size fills in": {
			patch(`{replicas: 7}`), cachev1alpha1.MemcachedSpec{}, []any{"spec", "replicas"}, int64(7), false,
		},
		"a field that spec.size fills in, by kustomize's own replicas": {
			inSite("replicas: [{name: memcached, count: 7}]\n"), cachev1alpha1.MemcachedSpec{}, []any{"spec", "replicas"}, int64(7), false,
		},
		"a replacement over one of the base": {
			inSite("replacements:\n- sourceValue: \"7\"\n  targets: [{select: {kind: Deployment}, fieldPaths: [spec.replicas]}]\n"),
			cachev1alpha1.MemcachedSpec{}, []any{"spec", "replicas"}, int64(7), false,
		},
		"an image that only some Memcacheds have": {
			inSite("images: [{name: registry.example.com/library/memcached, newName: mirror.example.com/memcached}]\n"),
			cachev1alpha1.MemcachedSpec{Image: new(cachev1alpha1.Image("registry.example.com/library/memcached:1.6.45"))},
			field("image"), "mirror.example.com/memcached:1.6.45", true,
		},
		"a port that only some Memcacheds have, merged by its number": {
			patch(`{template: {spec: {containers: [{name: memcached, ports: [{containerPort: 9150, protocol: TCP, name: metrics}]}]}}}`),
			cachev1alpha1.MemcachedSpec{ContainerPort: new(int32(9150))},
			field("ports", 0, "name"), "metrics", true,
		},
		"an annotation that only some Memcacheds have, taken away": {
			patch(`{template: {metadata: {annotations: {example.com/secret: null}}}}`),
			cachev1alpha1.MemcachedSpec{PodMetadata: full},
			[]any{"spec", "template", "metadata", "annotations", "example.com/secret"}, nil, true,
		},
		"a patch for some Memcacheds alone, by label": {
			inSite("patches:\n- target: {kind: Deployment, labelSelector: memcached_cr=sample}\n  patch: |-\n    - {op: add, path: /spec/paused, value: true}\n"),
			cachev1alpha1.MemcachedSpec{}, []any{"spec", "paused"}, true, true,
		},
		"an item of a list that a field fills in": {
			inSite("patches:\n- target: {kind: Deployment}\n  patch: |-\n    - {op: replace, path: /spec/template/spec/containers/0/command/0, value: nice}\n"),
			cachev1alpha1.MemcachedSpec{ExtraArgs: []cachev1alpha1.ExtraArg{"--disable-cas", "--disable-dumping"}},
			field("command", 0), "nice", true,
		},
		"an annotation beside the user's": {
			patch(`{template: {metadata: {annotations: {example.com/owner: site}}}}`),
			cachev1alpha1.MemcachedSpec{PodMetadata: full},
			[]any{"spec", "template", "metadata", "annotations", "example.com/owner"}, "site", false,
		},
		"a label on all pods beside the user's": {
			inSite("labels: [{pairs: {team: site}, includeTemplates: true}]\n"),
			cachev1alpha1.MemcachedSpec{PodMetadata: full},
			[]any{"spec", "template", "metadata", "labels", "team"}, "site", false,
		},
		"a sidecar, which kustomize puts first": {
			patch(`{template: {spec: {containers: [{name: exporter, image: exporter:1}]}}}`),
			cachev1alpha1.MemcachedSpec{Image: new(cachev1alpha1.Image("memcached:1.6.38"))},
			field("name"), "exporter", false,
		},
	} {
		t.Run(sentence, func(t *testing.T) {
			t.Parallel()
			r := mustNew(t, edited(t, test.edits), Defaults{AllowPrivilegedFields: true})
			mc := plain()
			mc.Spec.Image = test.spec.Image
			mc.Spec.PodMetadata = test.spec.PodMetadata
			mc.Spec.ExtraArgs = test.spec.ExtraArgs
			if test.spec.ContainerPort != nil {
				mc.Spec.ContainerPort = test.spec.ContainerPort
			}
			// Another one first, so that the plan is not made with the one at hand.
			other := plain()
			other.Name = "other"
			if mc.Spec.Image != nil {
				other.Spec.Image = new(cachev1alpha1.Image("memcached:1.6.1"))
			}
			if mc.Spec.PodMetadata != nil {
				other.Spec.PodMetadata = &cachev1alpha1.PodMetadata{
					Labels:      map[string]cachev1alpha1.LabelValue{"a": "b"},
					Annotations: map[string]cachev1alpha1.AnnotationValue{"c": "d"},
				}
			}
			mustRender(t, r, other)
			objects := mustRender(t, r, mc)
			whole, always := mustRenderWhole(t, r, mc)
			mustBeSame(t, "against a whole build", objects, whole)
			if got := lookup(find(t, objects, "Deployment", "sample").Object, test.path); got != test.want {
				t.Errorf("%v is %v, want %v", test.path, got, test.want)
			}
			if always != test.whole {
				t.Errorf("rendered by whole builds: %v, want %v", always, test.whole)
			}
		})
	}
}

// kustomize makes a string of a number without a type when a strategic merge patch comes after it.
func TestSite_KeepsTheTypesOfNumbersAndPercentages(t *testing.T) {
	t.Parallel()
	patch := func(version, kind string) string { // Nothing is patched where the budget is omitted.
		return "- target: {kind: " + kind + "}\n  patch: |-\n    apiVersion: " + version + "\n    kind: " + kind + "\n    metadata: {name: memcached, annotations: {a: b}}\n"
	}
	r := mustNew(t, edited(t, inSite("patches:\n"+patch("apps/v1", "Deployment")+patch("policy/v1", "PodDisruptionBudget"))), Defaults{AllowPrivilegedFields: true})
	for sentence, test := range map[string]struct {
		value intstr.IntOrString
		want  any
	}{
		"a number":     {intstr.FromInt32(2), int64(2)},
		"a percentage": {intstr.FromString("25%"), "25%"},
	} {
		t.Run(sentence, func(t *testing.T) {
			t.Parallel()
			mc := plain()
			mc.Spec.Rollout = &cachev1alpha1.Rollout{MaxUnavailable: &test.value, MaxSurge: &test.value}
			mc.Spec.PodDisruptionBudget = &cachev1alpha1.PodDisruptionBudget{MaxUnavailable: &test.value}
			objects := mustRender(t, r, mc)
			strategy := []any{"spec", "strategy", "rollingUpdate"}
			for _, field := range []struct {
				kind string
				path []any
			}{
				{"Deployment", append(slices.Clone(strategy), "maxUnavailable")},
				{"Deployment", append(slices.Clone(strategy), "maxSurge")},
				{"PodDisruptionBudget", []any{"spec", "maxUnavailable"}},
			} {
				if got := lookup(find(t, objects, field.kind, "sample").Object, field.path); got != test.want {
					t.Errorf("%s: %v is %#v, want %#v", field.kind, field.path, got, test.want)
				}
			}
		})
	}
}

func TestTheSiteComponentTakesAnObjectAway(t *testing.T) {
	t.Parallel()
	r := mustNew(t, edited(t, inSite("patches:\n- target: {kind: PodDisruptionBudget}\n  patch: |-\n    $patch: delete\n    apiVersion: policy/v1\n    kind: PodDisruptionBudget\n    metadata: {name: memcached}\n")), Defaults{})
	objects := mustRender(t, r, plain())
	if len(objects) != 2 || slices.ContainsFunc(r.Kinds(), func(k schema.GroupVersionKind) bool { return k.Kind == "PodDisruptionBudget" }) {
		t.Errorf("%d objects of kinds %v", len(objects), r.Kinds())
	}
}

// A Memcached that nothing can be made from, the first of its kind, must not decide
// how those after it are rendered.
func TestAFailureProvesNothing(t *testing.T) {
	t.Parallel()
	e := inSite(`replacements:
- source: {kind: Values, fieldPath: image, options: {delimiter: ":", index: 1}}
  targets: [{select: {kind: Deployment}, fieldPaths: [metadata.labels.version], options: {create: true}}]
patches:
- patch: |-
    {apiVersion: apps/v1, kind: Deployment, metadata: {name: memcached}, spec: {replicas: 7}}
`)
	r := mustNew(t, edited(t, e), Defaults{Image: "memcached:1"})
	untagged := plain()
	untagged.Spec.Image = new(cachev1alpha1.Image("memcached"))
	if objects, err := r.Render(untagged); err == nil {
		t.Fatalf("an image without a tag gives %s", asJSON(t, objects))
	}
	objects := mustRender(t, r, plain())
	if got := lookup(find(t, objects, "Deployment", "sample").Object, []any{"spec", "replicas"}); got != int64(7) {
		t.Errorf("replicas is %v: the site did not have the last word", got)
	}
}
