// SPDX-License-Identifier: Apache-2.0

package render

import (
	"slices"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/intstr"

	cachev1alpha1 "github.com/example/memcached-operator/apis/v1alpha1"
	"github.com/example/memcached-operator/reconcilers/render/template"
)

// siteMerge returns edits with a site component that merges spec into that of the Deployment.
func siteMerge(spec string) edits {
	return inSite("patches:\n- patch: |-\n    apiVersion: apps/v1\n    kind: Deployment\n    metadata: {name: memcached}\n    spec: " + spec + "\n")
}

// containerField returns the path of a field of the Deployment's first container.
func containerField(path ...any) []any {
	return append([]any{"spec", "template", "spec", "containers", 0}, path...)
}

var userMetadata = &cachev1alpha1.PodMetadata{
	Labels:      map[string]cachev1alpha1.LabelValue{"team": "web"},
	Annotations: map[string]cachev1alpha1.AnnotationValue{"example.com/owner": "web", "example.com/secret": "x"},
}

// siteEdits are edits of the site component, each with what becomes of the field at path in the
// Deployment of a Memcached, and whether full builds render it.
var siteEdits = map[string]struct {
	edits edits
	spec  cachev1alpha1.MemcachedSpec
	path  []any
	want  any
	full  bool
}{
	"sets a field that no replacement sets": {
		siteMerge(`{paused: true}`), cachev1alpha1.MemcachedSpec{}, []any{"spec", "paused"}, true, false,
	},
	"overrides a field that spec.size sets": {
		siteMerge(`{replicas: 7}`), cachev1alpha1.MemcachedSpec{}, []any{"spec", "replicas"}, int64(7), true,
	},
	"overrides a field that spec.size sets by replicas": {
		inSite("replicas: [{name: memcached, count: 7}]\n"), cachev1alpha1.MemcachedSpec{}, []any{"spec", "replicas"}, int64(7), true,
	},
	"overrides a replacement of the base": {
		inSite("replacements:\n- sourceValue: \"7\"\n  targets: [{select: {kind: Deployment}, fieldPaths: [spec.replicas]}]\n"),
		cachev1alpha1.MemcachedSpec{}, []any{"spec", "replicas"}, int64(7), false,
	},
	"replaces an image that only some Memcacheds have": {
		inSite("images: [{name: registry.example.com/library/memcached, newName: mirror.example.com/memcached}]\n"),
		cachev1alpha1.MemcachedSpec{Image: new(cachev1alpha1.Image("registry.example.com/library/memcached:1.6.45"))},
		containerField("image"), "mirror.example.com/memcached:1.6.45", true,
	},
	"merges a port that only some Memcacheds have by its number": {
		siteMerge(`{template: {spec: {containers: [{name: memcached, ports: [{containerPort: 9150, protocol: TCP, name: metrics}]}]}}}`),
		cachev1alpha1.MemcachedSpec{ContainerPort: new(int32(9150))},
		containerField("ports", 0, "name"), "metrics", true,
	},
	"removes an annotation that only some Memcacheds have": {
		siteMerge(`{template: {metadata: {annotations: {example.com/secret: null}}}}`),
		cachev1alpha1.MemcachedSpec{PodMetadata: userMetadata},
		[]any{"spec", "template", "metadata", "annotations", "example.com/secret"}, nil, true,
	},
	"patches some Memcacheds by label": {
		inSite("patches:\n- target: {kind: Deployment, labelSelector: memcached_cr=sample}\n  patch: |-\n    - {op: add, path: /spec/paused, value: true}\n"),
		cachev1alpha1.MemcachedSpec{}, []any{"spec", "paused"}, true, true,
	},
	"replaces an item of a list that a field sets": {
		inSite("patches:\n- target: {kind: Deployment}\n  patch: |-\n    - {op: replace, path: /spec/template/spec/containers/0/command/0, value: nice}\n"),
		cachev1alpha1.MemcachedSpec{ExtraArgs: []cachev1alpha1.ExtraArg{"--disable-cas", "--disable-dumping"}},
		containerField("command", 0), "nice", true,
	},
	"sets an annotation beside the user's": {
		siteMerge(`{template: {metadata: {annotations: {example.com/owner: site}}}}`),
		cachev1alpha1.MemcachedSpec{PodMetadata: userMetadata},
		[]any{"spec", "template", "metadata", "annotations", "example.com/owner"}, "site", true,
	},
	"sets a label on all pods beside the user's": {
		inSite("labels: [{pairs: {team: site}, includeTemplates: true}]\n"),
		cachev1alpha1.MemcachedSpec{PodMetadata: userMetadata},
		[]any{"spec", "template", "metadata", "labels", "team"}, "site", true,
	},
	"adds a sidecar, which kustomize puts first": {
		siteMerge(`{template: {spec: {containers: [{name: exporter, image: exporter:1}]}}}`),
		cachev1alpha1.MemcachedSpec{Image: new(cachev1alpha1.Image("memcached:1.6.38"))},
		containerField("name"), "exporter", false,
	},
}

// siteMemcacheds returns a Memcached with the fields of spec, and another with other values of the same fields.
func siteMemcacheds(spec cachev1alpha1.MemcachedSpec) (mc, other *cachev1alpha1.Memcached) {
	mc, other = plain(), named("other")
	mc.Spec.Image = spec.Image
	mc.Spec.PodMetadata = spec.PodMetadata
	mc.Spec.ExtraArgs = spec.ExtraArgs
	if spec.ContainerPort != nil {
		mc.Spec.ContainerPort = spec.ContainerPort
	}
	if spec.Image != nil {
		other.Spec.Image = new(cachev1alpha1.Image("memcached:1.6.1"))
	}
	if spec.PodMetadata != nil {
		other.Spec.PodMetadata = &cachev1alpha1.PodMetadata{
			Labels:      map[string]cachev1alpha1.LabelValue{"a": "b"},
			Annotations: map[string]cachev1alpha1.AnnotationValue{"c": "d"},
		}
	}
	return mc, other
}

// The site component is applied last, with the same result as in kustomize, whether or not it
// requires full builds.
func TestSite_IsAppliedLast(t *testing.T) {
	t.Parallel()
	for name, test := range siteEdits {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := mustNew(t, edited(t, test.edits), Defaults{AllowPrivilegedFields: true})
			mc, other := siteMemcacheds(test.spec)
			// Another Memcached is rendered first, so that the set is not built for this one.
			mustRender(t, r, other)
			objects := mustRender(t, r, mc)
			built, always := mustFullBuild(t, r, mc)
			mustBeSame(t, "against a full build", objects, built)
			if got := template.Lookup(find(t, objects, "Deployment", "sample").Object, test.path); got != test.want {
				t.Errorf("%v is %v, want %v", test.path, got, test.want)
			}
			if always != test.full {
				t.Errorf("rendered by full builds: %v, want %v", always, test.full)
			}
		})
	}
}

// A strategic merge patch turns a number that kustomize knows no type of into a string.
func TestSite_KeepsTypesOfNumbersAndPercentages(t *testing.T) {
	t.Parallel()
	patch := func(version, kind string) string { // Nothing is patched where the budget is omitted.
		return "- target: {kind: " + kind + "}\n  patch: |-\n    apiVersion: " + version + "\n    kind: " + kind + "\n    metadata: {name: memcached, annotations: {a: b}}\n"
	}
	r := mustNew(t, edited(t, inSite("patches:\n"+patch("apps/v1", "Deployment")+patch("policy/v1", "PodDisruptionBudget"))), Defaults{AllowPrivilegedFields: true})
	for name, test := range map[string]struct {
		value intstr.IntOrString
		want  any
	}{
		"keeps a number":     {intstr.FromInt32(2), int64(2)},
		"keeps a percentage": {intstr.FromString("25%"), "25%"},
	} {
		t.Run(name, func(t *testing.T) {
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
				if got := template.Lookup(find(t, objects, field.kind, "sample").Object, field.path); got != test.want {
					t.Errorf("%s: %v is %#v, want %#v", field.kind, field.path, got, test.want)
				}
			}
		})
	}
}

// The dry-run asks the API server about objects that a Memcached would have.
func TestExamples_HaveWhatTheSiteOverrides(t *testing.T) {
	t.Parallel()
	r := mustNew(t, edited(t, siteMerge(`{minReadySeconds: 0}`)), Defaults{})
	examples, err := r.Examples("default")
	if err != nil {
		t.Fatal(err)
	}
	for _, example := range examples {
		if seconds, found, _ := unstructured.NestedInt64(example.Object.Object, "spec", "minReadySeconds"); found && seconds != 0 {
			t.Errorf("%v: minReadySeconds is %d, which the site overrides", example.Place, seconds)
		}
	}
}

func TestSite_RemovesAnObject(t *testing.T) {
	t.Parallel()
	r := mustNew(t, edited(t, inSite("patches:\n- target: {kind: PodDisruptionBudget}\n  patch: |-\n    $patch: delete\n    apiVersion: policy/v1\n    kind: PodDisruptionBudget\n    metadata: {name: memcached}\n")), Defaults{})
	objects := mustRender(t, r, plain())
	if len(objects) != 2 || slices.ContainsFunc(r.Kinds(), func(k schema.GroupVersionKind) bool { return k.Kind == "PodDisruptionBudget" }) {
		t.Errorf("%d objects of kinds %v", len(objects), r.Kinds())
	}
}

// A Memcached that cannot be rendered, the first of its set, must not affect how later ones are
// rendered.
func TestRender_FailureDoesNotAffectOthers(t *testing.T) {
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
	if got := template.Lookup(find(t, objects, "Deployment", "sample").Object, []any{"spec", "replicas"}); got != int64(7) {
		t.Errorf("replicas is %v: the site was not applied last", got)
	}
}
