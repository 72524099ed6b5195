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
	"github.com/example/memcached-operator/reconcilers/render/template"
)

// instanceLabels lists the labels that distinguish the objects of one Memcached from those
// of another.
var instanceLabels = []string{"memcached_cr", "app.kubernetes.io/instance"}

// longestName has the maximum length of the name of a Memcached, 52 characters.
var longestName = strings.Repeat("a", 52)

// checkExample compares objects, which set builds of example, with those of a Memcached without common values, and
// returns an error for each object that has the same instance label in both or selects the same pods, and for each that no
// Memcached could have. They are joined.
func checkExample(templates *template.Templates, set *template.Set, example template.Input, objects []*unstructured.Unstructured) error {
	other, err := objectsNamed(set, example.Mutated(), longestName)
	if err != nil {
		// Not every value can be mutated, but names can.
		if other, err = objectsNamed(set, example, longestName); err != nil {
			return err
		}
	}
	var errs []error
	for i, object := range objects {
		id := set.Names()[i]
		found := []error{checkSelectorsDisjoint(object, other[i], podLabels(objects))}
		if err := checkSizes([]*unstructured.Unstructured{object}); err != nil {
			found = append(found, fmt.Errorf("every Memcached would exceed a limit: %w", err))
		}
		errs = append(errs, template.In(templates.File(id), "", template.OfObject(id.Kind, id.Name, found...)))
	}
	return errors.Join(errs...)
}

// objectsNamed returns the objects for in under another name of its Memcached, in the order of the templates.
func objectsNamed(set *template.Set, in template.Input, name string) ([]*unstructured.Unstructured, error) {
	return builtObjects(set.Objects, in.Named(name), &cachev1alpha1.Memcached{ObjectMeta: metav1.ObjectMeta{Name: name}})
}

// podLabels returns the pod labels of every workload among objects.
func podLabels(objects []*unstructured.Unstructured) []labels.Set {
	var sets []labels.Set
	for _, object := range objects {
		if pod, found, err := unstructured.NestedStringMap(object.Object, "spec", "template", "metadata", "labels"); found && err == nil {
			sets = append(sets, pod)
		}
	}
	return sets
}

// checkSelectorsDisjoint compares a and b, the objects of two Memcacheds that are built from
// the same template.
func checkSelectorsDisjoint(a, b *unstructured.Unstructured, pods []labels.Set) error {
	if a.GetKind() == "Service" {
		if over := len(b.GetName()) - validation.DNS1035LabelMaxLength; over > 0 {
			return fmt.Errorf("metadata.name is too long: with the name of a Memcached of %d characters it exceeds the maximum of %d for a Service; shorten it by %d characters",
				len(longestName), validation.DNS1035LabelMaxLength, over)
		}
	}
	for _, field := range []string{"selector", "podSelector"} {
		path := []any{"spec", field}
		selector, ok := template.Lookup(a.Object, path).(map[string]any)
		if !ok || !reflect.DeepEqual(selector, template.Lookup(b.Object, path)) || a.GetKind() == "Service" && len(selector) == 0 {
			continue
		}
		if slices.ContainsFunc(pods, func(pod labels.Set) bool { return selectsPod(selector, pod) }) {
			return fmt.Errorf("%s selects the pods of every Memcached; add the label memcached_cr with a replacement from metadata.name of the Memcached", template.Dotted(path))
		}
	}
	return errors.Join(sameInstance(a.Object, b.Object)...)
}

// selectsPod reports whether selector, a LabelSelector or a map of labels, selects pod.
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

// sameInstance returns an error for each instance label in a, in labels, in a selector's
// labels or in its expressions, that has the same value in b.
func sameInstance(a, b any) (errs []error) {
	template.WalkStrings(a, nil, func(path []any, value string) {
		key := path[len(path)-1]
		if _, inList := key.(int); inList && len(path) > 1 && path[len(path)-2] == "values" {
			expression, _ := template.Lookup(a, path[:len(path)-2]).(map[string]any)
			key = expression["key"]
		}
		name, _ := key.(string)
		if slices.Contains(instanceLabels, name) && template.Lookup(b, path) == value {
			errs = append(errs, fmt.Errorf("%s is %q for every Memcached; set it with a replacement from metadata.name of the Memcached", template.Dotted(path), value))
		}
	})
	return errs
}
