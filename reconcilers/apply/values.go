// SPDX-License-Identifier: Apache-2.0

package apply

import (
	"k8s.io/apimachinery/pkg/api/equality"
	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"
	"sigs.k8s.io/structured-merge-diff/v6/value"
)

// lacking collects the paths of fields at which live does not have what want has.
// The field set says how lists are to be read: one whose items are members of the
// set by key or by value is matched item by item, any other is a value of its own.
func lacking(fields *fieldpath.Set, want, live any, path fieldpath.Path, report func(path fieldpath.Path, live any)) {
	fields.Members.Iterate(func(element fieldpath.PathElement) {
		if _, hasFields := fields.Children.Get(element); hasFields {
			return // An item of a list: its fields are looked at below.
		}
		wanted, wants := child(want, element)
		held, holds := child(live, element)
		// What is written as nothing at all, such as false in a field that is left out
		// when it is, must be nothing in live too.
		if wants != holds || !includes(held, wanted) {
			report(append(path, element), held)
		}
	})
	fields.Children.Iterate(func(element fieldpath.PathElement) {
		below, _ := fields.Children.Get(element)
		wanted, _ := child(want, element)
		held, _ := child(live, element)
		lacking(below, wanted, held, append(path, element), report)
	})
}

// child is the part of parent that element names.
func child(parent any, element fieldpath.PathElement) (any, bool) {
	switch parent := parent.(type) {
	case map[string]any:
		if element.FieldName == nil {
			return nil, false
		}
		item, ok := parent[*element.FieldName]
		return item, ok
	case []any:
		for i, item := range parent {
			if isItem(i, item, element) {
				return item, true
			}
		}
	}
	return nil, false
}

func isItem(i int, item any, element fieldpath.PathElement) bool {
	switch {
	case element.Key != nil:
		return hasKey(item, *element.Key)
	case element.Value != nil:
		return value.Equals(value.NewValueInterface(item), *element.Value)
	case element.Index != nil:
		return i == *element.Index
	default:
		return false
	}
}

// hasKey tells whether an item of a list has the key. A field of the key that the
// item leaves out counts as having it: the schema has a default there, such as TCP
// for the protocol of a port.
func hasKey(item any, key value.FieldList) bool {
	fields, ok := item.(map[string]any)
	if !ok {
		return false
	}
	for _, field := range key {
		held, ok := fields[field.Name]
		if ok && !value.Equals(value.NewValueInterface(held), field.Value) {
			return false
		}
	}
	return true
}

// includes tells whether live has everything that want has. They differ in more than
// that where a list or map is written as a whole (an atomic one) and the server put
// its defaults in: protocol into the ports of a NetworkPolicy, apiVersion into a
// fieldRef. Anybody else who adds to such a field takes it from us, in managedFields.
func includes(live, want any) bool {
	switch want := want.(type) {
	case map[string]any:
		live, ok := live.(map[string]any)
		for key, item := range want {
			ok = ok && includes(live[key], item)
		}
		return ok
	case []any:
		live, ok := live.([]any)
		ok = ok && len(live) == len(want)
		for i := 0; ok && i < len(want); i++ {
			ok = includes(live[i], want[i])
		}
		return ok
	default:
		return equality.Semantic.DeepEqual(live, want)
	}
}
