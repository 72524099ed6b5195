// SPDX-License-Identifier: Apache-2.0

package apply

import (
	"strings"

	"k8s.io/apimachinery/pkg/util/sets"
	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"
	"sigs.k8s.io/structured-merge-diff/v6/schema"
	"sigs.k8s.io/structured-merge-diff/v6/typed"
)

// alternatives returns a predicate for fields of other managers that may exclude one of ours, such as the
// minAvailable of a PodDisruptionBudget by which another client replaced our maxUnavailable. Such a
// field is not in wanted, is in the same struct as a field that is in wanted and not in owned, and is
// where the API server reports the object as invalid.
func alternatives(object *typed.TypedValue, wanted, owned *fieldpath.Set, invalid error) func(fieldpath.Path) bool {
	causes := invalidFields(invalid)
	structs := fieldpath.NewSet()
	wanted.Difference(owned).Iterate(func(path fieldpath.Path) {
		for end := range path {
			if has(owned, path[:end+1]) {
				continue
			}
			if parent := path[:end]; isStruct(object, parent) && isAt(parent, causes) {
				structs.Insert(parent.Copy())
			}
			return
		}
	})
	return func(path fieldpath.Path) bool {
		for end := range path {
			if path[end].FieldName != nil && structs.Has(path[:end]) && !has(wanted, path[:end+1]) {
				return true
			}
		}
		return false
	}
}

// has reports whether set has the field at path or a child of it.
func has(set *fieldpath.Set, path fieldpath.Path) bool {
	if set.Has(path) {
		return true
	}
	for _, element := range path {
		below, ok := set.Children.Get(element)
		if !ok {
			return false
		}
		set = below
	}
	return !set.Empty()
}

// isStruct reports whether the schema names fields of the value at path.
func isStruct(object *typed.TypedValue, path fieldpath.Path) bool {
	kind := object.TypeRef()
	for _, element := range path {
		var ok bool
		if kind, ok = typeAt(object.Schema(), kind, element); !ok {
			return false
		}
	}
	atom, ok := object.Schema().Resolve(kind)
	return ok && atom.Map != nil && len(atom.Map.Fields) > 0
}

// typeAt returns the type of the child of a value of type kind at element.
func typeAt(s *schema.Schema, kind schema.TypeRef, element fieldpath.PathElement) (schema.TypeRef, bool) {
	atom, ok := s.Resolve(kind)
	switch {
	case !ok:
		return schema.TypeRef{}, false
	case element.FieldName != nil && atom.Map != nil:
		if field, ok := atom.Map.FindField(*element.FieldName); ok {
			return field.Type, true
		}
		return atom.Map.ElementType, true
	case atom.List != nil:
		return atom.List.ElementType, true
	default:
		return schema.TypeRef{}, false
	}
}

// isAt reports whether one of fields is path, a parent of it or a child of it.
func isAt(path fieldpath.Path, fields sets.Set[string]) bool {
	at := names(path) + "."
	for field := range fields {
		if strings.HasPrefix(at, field+".") || strings.HasPrefix(field+".", at) {
			return true
		}
	}
	return false
}

// invalidFields returns the fields that the API server reports as invalid, without list positions.
func invalidFields(invalid error) sets.Set[string] {
	fields := sets.New[string]()
	for _, cause := range causesOf(invalid) {
		fields.Insert(index.ReplaceAllString(cause.Field, ""))
	}
	return fields
}
