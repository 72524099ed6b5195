// SPDX-License-Identifier: Apache-2.0

package render

import (
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/validation"

	cachev1alpha1 "github.com/example/memcached-operator/apis/v1alpha1"
)

// instanceLabels are the labels that tell one Memcached's objects from another's.
var instanceLabels = []string{"memcached_cr", "app.kubernetes.io/instance"}

// longestName has as many characters as the name of a Memcached may have, 52.
var longestName = strings.Repeat("a", 52)

// validateNames builds p for two Memcacheds that have nothing in common, and rejects
// what is the same in both and must not be: the labels that tell their objects apart,
// and selectors of their pods.
func (r *Renderer) validateNames(p *prebuilt, example input) error {
	objects, err := p.finished(example, example.memcached["metadata"].(map[string]any)["name"].(string))
	if err != nil {
		return err
	}
	other, err := p.finished(example.mutated().named(longestName), longestName)
	if err != nil {
		// Not every value can be mutated; names can.
		if other, err = p.finished(example.named(longestName), longestName); err != nil {
			return err
		}
	}
	for i, object := range objects {
		template := p.naming.objects[i]
		if err := checkSeparate(object, other[i], podLabels(objects)); err != nil {
			return fmt.Errorf("%s: %s %s: %w", r.fileOf(template), template.kind, template.name, err)
		}
	}
	return nil
}

// finished returns the objects for in, the input of the Memcached called name, in the
// order of p's templates.
func (p *prebuilt) finished(in input, name string) ([]*unstructured.Unstructured, error) {
	raw, _, err := p.objects(in)
	if err != nil {
		return nil, err
	}
	mc := &cachev1alpha1.Memcached{ObjectMeta: metav1.ObjectMeta{Name: name}}
	return p.setMetadata(raw, mc), nil
}

// podLabels are the labels of the pods of every workload among objects.
func podLabels(objects []*unstructured.Unstructured) []labels.Set {
	var sets []labels.Set
	for _, object := range objects {
		if pod, found, err := unstructured.NestedStringMap(object.Object, "spec", "template", "metadata", "labels"); found && err == nil {
			sets = append(sets, pod)
		}
	}
	return sets
}

// checkSeparate compares the objects that one template becomes for two Memcacheds.
func checkSeparate(a, b *unstructured.Unstructured, pods []labels.Set) error {
	if a.GetKind() == "Service" {
		if over := len(b.GetName()) - validation.DNS1035LabelMaxLength; over > 0 {
			return fmt.Errorf("metadata.name is too long: the name of a Memcached of %d characters and it make more than the %d that a Service may have; shorten it by %d",
				len(longestName), validation.DNS1035LabelMaxLength, over)
		}
	}
	for _, field := range []string{"selector", "podSelector"} {
		path := []any{"spec", field}
		selector, ok := lookup(a.Object, path).(map[string]any)
		if !ok || !reflect.DeepEqual(selector, lookup(b.Object, path)) || a.GetKind() == "Service" && len(selector) == 0 {
			continue
		}
		if slices.ContainsFunc(pods, func(pod labels.Set) bool { return selectsPod(selector, pod) }) {
			return fmt.Errorf("%s selects the pods of every Memcached: add memcached_cr to it, with a replacement from metadata.name of the Memcached", dotted(path))
		}
	}
	return errors.Join(sameInstance(a.Object, b.Object)...)
}

// selectsPod tells whether selector, a LabelSelector or plain labels, selects pod.
func selectsPod(selector map[string]any, pod labels.Set) bool {
	if !slices.ContainsFunc([]string{"matchLabels", "matchExpressions"}, func(field string) bool { _, ok := selector[field]; return ok }) {
		selector = map[string]any{"matchLabels": selector}
	}
	typed := &metav1.LabelSelector{}
	if err := runtime.DefaultUnstructuredConverter.FromUnstructured(selector, typed); err != nil {
		return false
	}
	s, err := metav1.LabelSelectorAsSelector(typed)
	return err == nil && s.Matches(pod)
}

// sameInstance returns an error for each instance label in a that has the same value
// in b: as a label, in a selector's labels or in its expressions.
func sameInstance(a, b any) (errs []error) {
	walkStrings(a, nil, func(path []any, value string) {
		key := path[len(path)-1]
		if _, inList := key.(int); inList && len(path) > 1 && path[len(path)-2] == "values" {
			expression, _ := lookup(a, path[:len(path)-2]).(map[string]any)
			key = expression["key"]
		}
		name, _ := key.(string)
		if slices.Contains(instanceLabels, name) && lookup(b, path) == value {
			errs = append(errs, fmt.Errorf("%s is %q for every Memcached: fill it in with a replacement from metadata.name of the Memcached", dotted(path), value))
		}
	})
	return errs
}
