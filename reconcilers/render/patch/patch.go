// SPDX-License-Identifier: Apache-2.0

// Package patch applies the patches of a Memcached, strategic merges and JSON patches, to
// its rendered objects. The cost of a patch is bounded, and errors quote none of its values.
package patch

import (
	"errors"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"sort"
	"strings"

	jsonpatch "github.com/evanphx/json-patch/v5"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	cachev1alpha1 "github.com/example/memcached-operator/apis/v1alpha1"
	"github.com/example/memcached-operator/reconcilers/render/template"
)

// Error says which of the patches is invalid, and why. It does not contain values of the
// patch.
type Error struct {
	Index int
	Err   error
}

func (e *Error) Error() string {
	return fmt.Sprintf("spec.patches[%d]: %v", e.Index, e.Err)
}

func (e *Error) Unwrap() error { return e.Err }

// Apply applies patches in order to objects, and replaces those that they change. An error
// is an Error.
func Apply(v template.Validator, objects []*unstructured.Unstructured, patches []cachev1alpha1.Patch) error {
	if len(patches) == 0 {
		return nil
	}
	parsed := make([]parsedPatch, len(patches))
	for i, patch := range patches {
		var err error
		if parsed[i], err = parsePatch(patch); err != nil {
			return &Error{i, err}
		}
	}
	patched, err := applyPatches(objects, parsed)
	if err != nil {
		return err
	}
	for i, object := range patched {
		if object == objects[i] {
			continue
		}
		// Once for all patches: it is slow for large objects.
		if err := v.Validate(object); err != nil {
			return invalidPatch(v, objects, i, parsed, err)
		}
		objects[i] = object
	}
	return nil
}

// invalidPatch returns an error that names the first patch after which the object at index
// at does not match its schema; failed is the error after all of them.
func invalidPatch(v template.Validator, objects []*unstructured.Unstructured, at int, patches []parsedPatch, failed error) error {
	index := sort.Search(len(patches)-1, func(i int) bool {
		patched, err := applyPatches(objects, patches[:i+1])
		if err == nil {
			err = v.Validate(patched[at])
		}
		if err != nil {
			failed = err
		}
		return err != nil
	})
	return &Error{index, fmt.Errorf("%s %s: %w", objects[at].GetKind(), objects[at].GetName(), failed)}
}

// applyPatches returns objects, with patches applied to copies of those that they select.
func applyPatches(objects []*unstructured.Unstructured, patches []parsedPatch) ([]*unstructured.Unstructured, error) {
	result := slices.Clone(objects)
	for i, patch := range patches {
		selected, err := patch.selected(objects)
		if err != nil {
			return nil, &Error{i, err}
		}
		for _, at := range selected {
			before := objects[at]
			if result[at] == before {
				result[at] = before.DeepCopy()
			}
			if err := patch.apply(before.Object, result[at]); err != nil {
				return nil, &Error{i, fmt.Errorf("%s %s: %w", before.GetKind(), before.GetName(), err)}
			}
		}
	}
	return result, nil
}

// parsedPatch is a patch in one of its two forms.
type parsedPatch struct {
	target cachev1alpha1.PatchTarget
	// merge is a strategic merge patch; nil for a JSON patch, which has operations.
	merge      map[string]any
	operations jsonpatch.Patch
}

func parsePatch(patch cachev1alpha1.Patch) (parsedPatch, error) {
	document, err := parseText(patch.Patch)
	if err != nil {
		return parsedPatch{}, err
	}
	switch document := document.(type) {
	case map[string]any:
		return parsedPatch{target: patch.Target, merge: document}, nil
	case []any:
		operations, err := parseOperations(document)
		return parsedPatch{target: patch.Target, operations: operations}, err
	default:
		return parsedPatch{}, errors.New("a patch is either a part of an object or a list of operations")
	}
}

// selected returns the indices of the objects that p selects, at least one.
func (p parsedPatch) selected(objects []*unstructured.Unstructured) ([]int, error) {
	var found []int
	var names []string
	groups := map[string]bool{}
	for i, object := range objects {
		names = append(names, object.GetKind()+" "+object.GetName())
		if object.GetKind() != p.target.Kind {
			continue
		}
		group := object.GroupVersionKind().Group
		groups[group] = true
		if (p.target.Group == nil || group == *p.target.Group) && (p.target.Name == nil || object.GetName() == string(*p.target.Name)) {
			found = append(found, i)
		}
	}
	switch {
	case p.target.Group == nil && len(groups) > 1:
		// Admission checked the author's permission for one group.
		return nil, fmt.Errorf("target.kind is ambiguous between the groups %q; set target.group", slices.Sorted(maps.Keys(groups)))
	case len(found) == 0:
		return nil, fmt.Errorf("its target selects none of this Memcached's objects: %s", strings.Join(names, ", "))
	}
	return found, nil
}

// apply patches object. It returns an error when the patch changes an immutable field of
// before, the rendered object.
func (p parsedPatch) apply(before map[string]any, object *unstructured.Unstructured) error {
	if p.merge == nil {
		var err error
		if object.Object, err = applyOperations(p.operations, object.Object); err != nil {
			return err
		}
		return checkImmutable(before, object.Object)
	}
	for _, field := range []string{"apiVersion", "kind"} {
		if stated, ok := p.merge[field]; ok && stated != before[field] {
			return fmt.Errorf("%s of the patch differs from the target's, which is %v; correct or remove it", field, before[field])
		}
	}
	if _, ok := p.merge[directive]; ok {
		return errors.New("a patch may not remove or replace an object as a whole")
	}
	if err := mergeMap(object.Object, p.merge, typeOf(object.GroupVersionKind()), nil); err != nil {
		return err
	}
	return checkImmutable(before, object.Object)
}

// checkImmutable returns an error when a patch changed a field by which the operator finds
// its objects, or that is not for users to set.
func checkImmutable(before, after map[string]any) error {
	for _, path := range [][]any{{"apiVersion"}, {"kind"}, {"spec", "selector"}, {"spec", "podSelector"}, {"status"}} {
		if !reflect.DeepEqual(template.Lookup(before, path), template.Lookup(after, path)) {
			return fmt.Errorf("a patch may not change %s", template.Dotted(path))
		}
	}
	for _, path := range [][]any{{"metadata"}, {"spec", "template", "metadata"}} {
		was, _ := template.Lookup(before, path).(map[string]any)
		is, _ := template.Lookup(after, path).(map[string]any)
		for _, field := range fieldsOf(was, is) {
			if field != "labels" && field != "annotations" && !reflect.DeepEqual(was[field], is[field]) {
				return fmt.Errorf("a patch may not change %s.%s", template.Dotted(path), field)
			}
		}
		wasLabels, _ := was["labels"].(map[string]any)
		isLabels, _ := is["labels"].(map[string]any)
		for _, key := range fieldsOf(wasLabels, isLabels) {
			if isReserved(key) && !reflect.DeepEqual(wasLabels[key], isLabels[key]) {
				return fmt.Errorf("a patch may not change the label %s, which the operator manages", key)
			}
		}
	}
	return nil
}

// isReserved reports whether the operator manages a label. The rules of the CRD list the
// same labels.
func isReserved(key string) bool {
	return key == "app" || key == "memcached_cr" || key == "pod-template-hash" || strings.HasPrefix(key, "app.kubernetes.io/")
}

// fieldsOf returns the names of the fields of a and b, sorted.
func fieldsOf(a, b map[string]any) []string {
	all := maps.Clone(a)
	if all == nil {
		all = map[string]any{}
	}
	maps.Copy(all, b)
	return slices.Sorted(maps.Keys(all))
}
