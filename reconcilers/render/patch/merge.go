// SPDX-License-Identifier: Apache-2.0

package patch

import (
	"errors"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/validation/field"
	forkedjson "k8s.io/apimachinery/third_party/forked/golang/json"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
)

// directive is the key of a map that selects another operation than merging.
const directive = "$patch"

// mergeType is the Go type of a field, which defines how lists are merged. Type is nil when
// the kind is unknown.
type mergeType struct {
	reflect.Type
	// merges is set when a list is merged instead of replaced: by key, or as a set of scalars
	// if key is empty.
	merges bool
	key    string
}

// typeOf returns the type of a kind. Lists of kinds that client-go does not know are
// replaced, as the API server does for custom resources.
func typeOf(kind schema.GroupVersionKind) mergeType {
	object, err := clientgoscheme.Scheme.New(kind)
	if err != nil {
		return mergeType{}
	}
	return mergeType{Type: reflect.TypeOf(object).Elem()}
}

// field returns the type of a field of t.
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

// element returns the type of an element of t.
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

// mergeMap merges patch into object as a strategic merge patch, with the same result as
// kustomize: maps are merged, null removes a field, lists are merged by the key of their
// type or replaced. It takes time proportional to patch and the lists that it changes.
func mergeMap(object, patch map[string]any, t mergeType, path *field.Path) error {
	for _, key := range slices.Sorted(maps.Keys(patch)) {
		if strings.HasPrefix(key, "$") {
			return errorAt(path, "the directive %q is not supported; use $patch: delete or replace, or a list of operations", key)
		}
		if err := mergeField(object, key, patch[key], t.field(key), child(path, key)); err != nil {
			return err
		}
	}
	return nil
}

// errorAt returns an error about the field at path; nil is the object itself.
func errorAt(path *field.Path, format string, args ...any) error {
	text := fmt.Sprintf(format, args...)
	if path == nil {
		return errors.New(text)
	}
	return fmt.Errorf("%s: %s", path, text)
}

// child returns the path of the field of path, which may be nil, called name.
func child(path *field.Path, name string) *field.Path {
	switch {
	case path == nil:
		return field.NewPath(name)
	case strings.ContainsAny(name, "./"):
		return path.Key(name)
	default:
		return path.Child(name)
	}
}

func mergeField(object map[string]any, key string, value any, t mergeType, path *field.Path) error {
	existing := object[key]
	if value != nil && existing != nil && shape(existing) != shape(value) {
		return errorAt(path, "expected %s", shape(existing))
	}
	switch v := value.(type) {
	case nil:
		delete(object, key)
	case map[string]any:
		fields, _ := existing.(map[string]any)
		merged, err := mergedMap(fields, v, t, path)
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
		merged, err := mergedList(items, v, t, path)
		if err != nil {
			return err
		}
		object[key] = merged
	default:
		object[key] = v
	}
	return nil
}

// shape describes the kind of a value for messages.
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

// mergedMap returns existing merged with patch, or patch alone if its directive is replace;
// nil if its directive is delete.
func mergedMap(existing, patch map[string]any, t mergeType, path *field.Path) (map[string]any, error) {
	operation, found := patch[directive]
	if found {
		patch = maps.Clone(patch)
		delete(patch, directive)
	}
	switch {
	case !found:
	case operation == "delete":
		return nil, nil
	case operation == "replace":
		existing = nil
	default:
		return nil, errorAt(path, "$patch must be delete or replace")
	}
	if existing == nil {
		existing = map[string]any{}
	}
	return existing, mergeMap(existing, patch, t, path)
}

// mergedList returns patch, followed by the other elements of existing if lists of this
// type are merged.
func mergedList(existing, patch []any, t mergeType, path *field.Path) ([]any, error) {
	patch, replaces := cutReplace(patch)
	switch {
	case replaces || !t.merges:
		return replacedList(patch, t, path)
	case t.key == "":
		return union(patch, existing), nil
	}
	list := newKeyedList(existing, t.key)
	for i, item := range patch {
		element, isMap := item.(map[string]any)
		if !isMap {
			return nil, errorAt(path.Index(i), "expected a map")
		}
		at, ok := list.find(element)
		if !ok {
			return nil, errorAt(path.Index(i), "%s is missing; elements of this list are merged by it", t.key)
		}
		current, _ := list.elements[at].(map[string]any)
		merged, err := mergedMap(current, element, t.element(), path.Index(i))
		if err != nil {
			return nil, err
		}
		list.set(at, merged)
	}
	return list.result(), nil
}

// cutReplace removes the element {$patch: replace} from a list; replaces is set if there is
// one.
func cutReplace(patch []any) (others []any, replaces bool) {
	for i, item := range patch {
		if element, ok := item.(map[string]any); ok && len(element) == 1 && element[directive] == "replace" {
			return slices.Delete(slices.Clone(patch), i, i+1), true
		}
	}
	return patch, false
}

// replacedList returns the list that replaces another one by patch.
func replacedList(patch []any, t mergeType, path *field.Path) ([]any, error) {
	result := make([]any, 0, len(patch))
	for i, item := range patch {
		element, isMap := item.(map[string]any)
		if !isMap {
			result = append(result, withoutNulls(item))
			continue
		}
		if _, found := element[directive]; found {
			return nil, errorAt(path.Index(i), "$patch is not allowed in a list that is replaced as a whole")
		}
		merged, err := mergedMap(nil, element, t.element(), path.Index(i))
		if err != nil {
			return nil, err
		}
		result = append(result, merged)
	}
	return result, nil
}

// union returns first and the elements of more that are not in it.
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
