// SPDX-License-Identifier: Apache-2.0

package apply

import (
	"strings"

	"k8s.io/apimachinery/pkg/util/sets"
	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"
	"sigs.k8s.io/structured-merge-diff/v6/typed"
)

// alternatives returns the test whether a field of somebody else may be the alternative to one
// of ours: to the maxUnavailable of a PodDisruptionBudget, say, that they replaced by a
// minAvailable. It lies beside a field that wanted has and owned lacks, in a struct of which
// wanted does not have it, and where refusal finds fault.
func alternatives(object *typed.TypedValue, wanted, owned *fieldpath.Set, refusal error) func(fieldpath.Path) bool {
	causes := refusedFields(refusal)
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

// has reports whether set has the field at path, or one within it.
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

// isStruct reports whether the value at path has fields that its schema names.
func isStruct(object *typed.TypedValue, path fieldpath.Path) bool {
	kind := object.TypeRef()
	for _, element := range path {
		var ok bool
		if kind, ok = below(object.Schema(), kind, element); !ok {
			return false
		}
	}
	atom, ok := object.Schema().Resolve(kind)
	return ok && atom.Map != nil && len(atom.Map.Fields) > 0
}

// isAt reports whether one of fields is at path, within it or around it.
func isAt(path fieldpath.Path, fields sets.Set[string]) bool {
	at := names(path) + "."
	for field := range fields {
		if strings.HasPrefix(at, field+".") || strings.HasPrefix(field+".", at) {
			return true
		}
	}
	return false
}

// refusedFields returns the fields that refusal finds fault with, as names without positions.
func refusedFields(refusal error) sets.Set[string] {
	fields := sets.New[string]()
	for _, cause := range causesOf(refusal) {
		fields.Insert(index.ReplaceAllString(cause.Field, ""))
	}
	return fields
}
