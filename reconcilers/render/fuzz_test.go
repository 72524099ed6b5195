// SPDX-License-Identifier: Apache-2.0

package render

import (
	"errors"
	"regexp"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/validation"

	cachev1alpha1 "github.com/example/memcached-operator/apis/v1alpha1"
	"github.com/example/memcached-operator/reconcilers/render/template"
)

// The bits of FuzzRender's flags are the fields that are set.
const (
	withImage = 1 << iota
	withLabel
	withAnnotation
	withDefaultImage
)

var crName = regexp.MustCompile(`^[a-z]([-a-z0-9]*[a-z0-9])?$`)

// fuzzedTrees returns the shipped tree and edited ones, with and without full builds.
func fuzzedTrees(tb testing.TB) []Tree {
	tb.Helper()
	patched := withConfigAndPolicy(tb)
	patched[siteFile] = component + `replicas: [{name: memcached, count: 7}]
images: [{name: memcached, newName: mirror.example.com/memcached}]
patches:
- patch: |-
    apiVersion: apps/v1
    kind: Deployment
    metadata: {name: memcached}
    spec: {template: {metadata: {annotations: {"null": null}}}}
`
	return []Tree{
		shipped(tb),
		edited(tb, withConfigAndPolicy(tb)),
		edited(tb, patched),
		edited(tb, inSite(`configMapGenerator: [{name: settings, literals: [SIZE=0, TEXT=a]}]
generatorOptions: {disableNameSuffixHash: true}
commonAnnotations: {example.com/site: "yes"}
patches:
- target: {kind: Deployment}
  patch: |-
    - {op: add, path: /spec/paused, value: true}
replacements:
- source: {kind: Memcached, fieldPath: spec.containerPort}
  targets:
  - select: {kind: ConfigMap, name: settings}
    fieldPaths: [data.SIZE]
- source: {kind: Memcached, fieldPath: metadata.name}
  targets:
  - select: {kind: ConfigMap, name: settings}
    fieldPaths: [data.TEXT]
    options: {delimiter: "-", index: 1}
`)),
	}
}

// FuzzRender searches for a Memcached whose rendered objects differ from a full build.
func FuzzRender(f *testing.F) {
	buildsTemplates(f)
	texts := []string{
		"null", "true", "123", "1e3", "~", "- a", "{}", "[]", "", " ", "ž\u2028🐎", "a\nb\n", "$(X)", "#", ": ", "a: b",
		"0x1F", "1_000", ".inf", "2026-01-01", "<<", "*a", "&a", "!!binary x", "'", `"`, "\t", "|", "%", "@", "`", "\u0085", "\x7f", "\x00",
		strings.Repeat("x", 4096),
	}
	for i, text := range texts {
		f.Add("cache", int32(i), int32(11211+i), "memcached:"+text, "key", text, "key", text, byte(255), byte(i))
		f.Add([]string{"true", "null", "e1", "memcached", "settings"}[i%5], int32(0), int32(1024), text, text, "value", text, "value", byte(i), byte(i/3))
		f.Add("null", int32(0), int32(1024), text, "key", text, text, text, byte(255), byte(i))
	}
	trees := fuzzedTrees(f)
	renderers := make([][2]*Renderer, len(trees))
	for i, tree := range trees {
		renderers[i] = [2]*Renderer{mustNew(f, tree, Defaults{AllowPrivilegedFields: true}), mustNew(f, tree, Defaults{Image: "registry.example.com/memcached:1", AllowPrivilegedFields: true})}
	}
	f.Fuzz(func(t *testing.T, name string, size, port int32, image, labelKey, label, annotationKey, annotation string, flags, tree byte) {
		// As admission requires: names and keys by the rules of the CRD, and UTF-8.
		if len(name) > 52 || !crName.MatchString(name) || !utf8.ValidString(strings.Join([]string{image, label, annotation}, " ")) ||
			len(validation.IsQualifiedName(labelKey))+len(validation.IsQualifiedName(annotationKey)) > 0 {
			return // Admission rejects it.
		}
		variant := int(tree) % len(trees)
		mc := named(name)
		mc.Spec = cachev1alpha1.MemcachedSpec{Size: &size, ContainerPort: &port, PodMetadata: &cachev1alpha1.PodMetadata{}}
		if flags&withImage != 0 {
			mc.Spec.Image = new(cachev1alpha1.Image(image))
		}
		if flags&withLabel != 0 {
			mc.Spec.PodMetadata.Labels = map[string]cachev1alpha1.LabelValue{labelKey: cachev1alpha1.LabelValue(label)}
		}
		if flags&withAnnotation != 0 {
			mc.Spec.PodMetadata.Annotations = map[string]cachev1alpha1.AnnotationValue{annotationKey: cachev1alpha1.AnnotationValue(annotation)}
		}
		r := renderers[variant][flags&withDefaultImage/withDefaultImage]
		if objects, ok := renderLikeKustomize(t, r, mc); ok {
			mustBelongTo(t, objects, mc, r)
			// With a JSON patch beside a replacement that creates a label, kustomize drops pod
			// labels with the value null, in full builds too. The server rejects that, since the
			// selector does not match.
			if name != "null" || variant != 3 || flags&withLabel == 0 {
				mustHave(t, objects, mc)
			}
		}
	})
}

// renderLikeKustomize renders mc twice and by a full build, which must return the same bytes,
// or all fail. It reports whether there are objects.
func renderLikeKustomize(t *testing.T, r *Renderer, mc *cachev1alpha1.Memcached) ([]*unstructured.Unstructured, bool) {
	t.Helper()
	before := mc.DeepCopy()
	objects, err := r.RenderWith(mc, layoutOf(mc))
	if _, limited := errors.AsType[*LimitError](err); limited {
		return nil, false // Admission rejects it.
	}
	again, errAgain := r.RenderWith(mc, layoutOf(mc))
	in, errIn := r.input(mc, layoutOf(mc))
	if errIn != nil {
		t.Fatal(errIn)
	}
	set, errPlan := r.sets.get(in, mc.Namespace)
	if errPlan != nil {
		t.Fatal(errPlan)
	}
	built, errBuilt := desiredObjects(set.FullBuild, in, mc)
	if err != nil || errAgain != nil || errBuilt != nil {
		if err == nil || errAgain == nil || errBuilt == nil {
			t.Fatalf("only some fail: rendered: %v; again: %v; full build: %v", err, errAgain, errBuilt)
		}
		if strings.Contains(err.Error(), "panicked") {
			t.Fatal(err)
		}
		return nil, false
	}
	mustBeSame(t, "rendered again", again, objects)
	mustBeSame(t, "against a full build", objects, built)
	if !equality.Semantic.DeepEqual(before, mc) {
		t.Fatalf("rendering changed the Memcached from %v to %v", before, mc)
	}
	return objects, true
}

func mustBelongTo(t *testing.T, objects []*unstructured.Unstructured, mc *cachev1alpha1.Memcached, r *Renderer) {
	t.Helper()
	owner := metav1.OwnerReference{
		APIVersion: "cache.example.com/v1alpha1", Kind: "Memcached", Name: mc.Name, UID: mc.UID,
		Controller: new(true), BlockOwnerDeletion: new(true),
	}
	for _, object := range objects {
		id := object.GetKind() + " " + object.GetName()
		if object.GetName() != mc.Name && !strings.HasPrefix(object.GetName(), mc.Name+"-") || object.GetNamespace() != mc.Namespace {
			t.Errorf("%s/%s is not named after %s", object.GetNamespace(), id, mc.Name)
		}
		if !slices.Contains(r.Kinds(), object.GroupVersionKind()) {
			t.Errorf("%s is of a kind that is not in Kinds", id)
		}
		if owners := object.GetOwnerReferences(); !equality.Semantic.DeepEqual(owners, []metav1.OwnerReference{owner}) {
			t.Errorf("%s is owned by %v", id, owners)
		}
		if object.GetLabels()[ManagedByLabel] != ManagedBy {
			t.Errorf("%s has labels %v", id, object.GetLabels())
		}
		if object.GetAnnotations()[template.LocalConfigAnnotation] != "" {
			t.Errorf("%s has the annotation of an input", id)
		}
	}
}

// mustHave checks that the Deployment has the metadata of the Memcached unchanged, and the
// labels that selectors depend on.
func mustHave(t *testing.T, objects []*unstructured.Unstructured, mc *cachev1alpha1.Memcached) {
	t.Helper()
	deployment := find(t, objects, "Deployment", mc.Name)
	labels, _, err := unstructured.NestedStringMap(deployment.Object, "spec", "template", "metadata", "labels")
	if err != nil || labels["app"] != "memcached" || labels["memcached_cr"] != mc.Name {
		t.Errorf("the pods' labels are %v: %v", labels, err)
	}
	for key, value := range mc.Spec.PodMetadata.Labels {
		if _, ours := deployment.GetLabels()[key]; !ours && labels[key] != string(value) {
			t.Errorf("label %q is %q, want %q", key, labels[key], value)
		}
	}
	annotations, _, err := unstructured.NestedStringMap(deployment.Object, "spec", "template", "metadata", "annotations")
	if err != nil {
		t.Error(err)
	}
	for key, value := range mc.Spec.PodMetadata.Annotations {
		// The third tree removes the annotation "null", the fourth adds one.
		if key != "null" && key != "example.com/site" && annotations[key] != string(value) {
			t.Errorf("annotation %q is %q, want %q", key, annotations[key], value)
		}
	}
}
