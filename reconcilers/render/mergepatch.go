// SPDX-License-Identifier: Apache-2.0

package render

import (
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/runtime/schema"
	forkedjson "k8s.io/apimachinery/third_party/forked/golang/json"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
)

// directive is the key that says what to do with a map instead of merging it.
const directive = "$patch"

// mergeType is the Go type of a field, which knows how lists are merged; nil when
// none is known.
type mergeType struct {
	reflect.Type
	// merges says that a list is merged instead of replaced: by key, or, when that is
	// empty, as a set of scalars.
	merges bool
	key    string
}

// typeOf returns the type of a kind; for kinds that client-go does not know, lists are
// replaced as a whole, as the API server does for custom resources.
func typeOf(kind schema.GroupVersionKind) mergeType {
	object, err := clientgoscheme.Scheme.New(kind)
	if err != nil {
		return mergeType{}
	}
	return mergeType{Type: reflect.TypeOf(object).Elem()}
}

// field is the type of a field of t.
func (t mergeType) field(name string) mergeType {
	if t.Type == nil || t.Kind() != reflect.Struct {
		return mergeType{}
	}
	of, strategies, key, err := forkedjson.LookupPatchMetadataForStruct(t.Type, name)
	if err != nil {
		return mergeType{}
	}
	return mergeType{Type: pointee(of), merges: slices.Contains(strategies, "merge"), key: key}
}

// element is the type of an element of t.
func (t mergeType) element() mergeType {
	if t.Type == nil || t.Kind() != reflect.Slice {
		return mergeType{}
	}
	return mergeType{Type: pointee(t.Elem())}
}

func pointee(t reflect.Type) reflect.Type {
	if t.Kind() == reflect.Pointer {
		return t.Elem()
	}
	return t
}

// mergeMap merges patch into object as a strategic merge patch, with the result of
// kustomize's: maps are merged, null removes, lists are merged by the key of their
// type or replaced. It takes time proportional to patch and the lists that it touches.
func mergeMap(object, patch map[string]any, t mergeType) *fieldError {
	for _, key := range slices.Sorted(maps.Keys(patch)) {
		if strings.HasPrefix(key, "$") {
			return fieldErrorf(": the directive %q is not supported here; use $patch: delete or replace, or a list of operations", key)
		}
		if err := mergeField(object, key, patch[key], t.field(key)); err != nil {
			return err.in(key)
		}
	}
	return nil
}

func mergeField(object map[string]any, key string, value any, t mergeType) *fieldError {
	existing := object[key]
	if value != nil && existing != nil && shape(existing) != shape(value) {
		return fieldErrorf(": expected %s", shape(existing))
	}
	switch v := value.(type) {
	case nil:
		delete(object, key)
	case map[string]any:
		fields, _ := existing.(map[string]any)
		merged, err := mergedMap(fields, v, t)
		if err != nil {
			return err
		}
		if merged == nil {
			delete(object, key)
		} else {
			object[key] = merged
		}
	case []any:
		items, _ := existing.([]any)
		merged, err := mergedList(items, v, t)
		if err != nil {
			return err
		}
		object[key] = merged
	default:
		object[key] = v
	}
	return nil
}

// shape says in words what a value is, as far as merging cares.
func shape(value any) string {
	switch value.(type) {
	case map[string]any:
		return "a map"
	case []any:
		return "a list"
	default:
		return "a single value"
	}
}

// mergedMap returns existing with patch merged in, or what patch is alone if its
// directive says so; nil when the map is to be removed.
func mergedMap(existing, patch map[string]any, t mergeType) (map[string]any, *fieldError) {
	stated, found := patch[directive]
	if found {
		patch = maps.Clone(patch)
		delete(patch, directive)
	}
	switch {
	case !found:
	case stated == "delete":
		return nil, nil
	case stated == "replace":
		existing = nil
	default:
		return nil, fieldErrorf(": $patch must be delete or replace")
	}
	if existing == nil {
		existing = map[string]any{}
	}
	return existing, mergeMap(existing, patch, t)
}

// mergedList returns patch and, where lists of this type are merged, what is left of
// existing behind it.
func mergedList(existing, patch []any, t mergeType) ([]any, *fieldError) {
	patch, replaces := cutReplace(patch)
	switch {
	case replaces || !t.merges:
		return replacedList(patch, t)
	case t.key == "":
		return union(patch, existing), nil
	}
	list := newKeyedList(existing, t.key)
	for i, item := range patch {
		element, isMap := item.(map[string]any)
		if !isMap {
			return nil, fieldErrorf(": expected a map").at(i)
		}
		place, ok := list.place(element)
		if !ok {
			return nil, fieldErrorf(": %s is missing, by which the elements of this list are merged", t.key).at(i)
		}
		current, _ := list.elements[place].(map[string]any)
		merged, err := mergedMap(current, element, t.element())
		if err != nil {
			return nil, err.at(i)
		}
		list.set(place, merged)
	}
	return list.result(), nil
}

// cutReplace takes the element {$patch: replace} out of a list, which says that the
// others replace what is there.
func cutReplace(patch []any) (others []any, replaces bool) {
	for i, item := range patch {
		if element, ok := item.(map[string]any); ok && len(element) == 1 && element[directive] == "replace" {
			return slices.Delete(slices.Clone(patch), i, i+1), true
		}
	}
	return patch, false
}

// replacedList is a list that takes the place of another one.
func replacedList(patch []any, t mergeType) ([]any, *fieldError) {
	result := make([]any, 0, len(patch))
	for i, item := range patch {
		element, isMap := item.(map[string]any)
		if !isMap {
			result = append(result, withoutNulls(item))
			continue
		}
		if _, found := element[directive]; found {
			return nil, fieldErrorf(": $patch has no place here, since the list is replaced as a whole").at(i)
		}
		merged, err := mergedMap(nil, element, t.element())
		if err != nil {
			return nil, err.at(i)
		}
		result = append(result, merged)
	}
	return result, nil
}

// union returns first and those of more that are not in it.
func union(first, more []any) []any {
	var result []any
	known := map[string]bool{}
	for _, item := range slices.Concat(first, more) {
		if text := fmt.Sprint(item); !known[text] {
			known[text] = true
			result = append(result, withoutNulls(item))
		}
	}
	return result
}
