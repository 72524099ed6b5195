// SPDX-License-Identifier: Apache-2.0

package apply

import (
	"slices"

	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"
	"sigs.k8s.io/structured-merge-diff/v6/value"
)

// different reports the paths of fields at which live does not have what want has.
// The field set says how lists are to be read: one whose items are members of the
// set by key or by value is matched item by item, any other is a value of its own.
func different(fields *fieldpath.Set, want, live any, path fieldpath.Path, report func(path fieldpath.Path)) {
	wants, lives := parent{value: want}, parent{value: live}
	fields.Members.Iterate(func(element fieldpath.PathElement) {
		if _, hasFields := fields.Children.Get(element); hasFields {
			return // An item of a list: its fields are looked at below.
		}
		wanted, isWanted := wants.child(element)
		held, isHeld := lives.child(element)
		// What is written as nothing at all, such as false in a field that is left out
		// when it is, must be nothing in live too.
		if isWanted != isHeld || !equal(held, wanted) {
			report(append(path, element))
		}
	})
	fields.Children.Iterate(func(element fieldpath.PathElement) {
		below, _ := fields.Children.Get(element)
		wanted, _ := wants.child(element)
		held, _ := lives.child(element)
		different(below, wanted, held, append(path, element), report)
	})
}

// parent is a value whose parts are looked up by path element.
type parent struct {
	value any
	// positions finds items of a list: by the name of a field of theirs, and its value.
	positions map[string]map[any][]int
}

// child returns the part of p that element names.
func (p *parent) child(element fieldpath.PathElement) (any, bool) {
	switch value := p.value.(type) {
	case map[string]any:
		if element.FieldName == nil {
			return nil, false
		}
		item, ok := value[*element.FieldName]
		return item, ok
	case []any:
		if element.Key != nil {
			return p.keyed(value, *element.Key)
		}
		for i, item := range value {
			if isItem(i, item, element) {
				return item, true
			}
		}
	}
	return nil, false
}

// keyed returns the first item of list that has key.
func (p *parent) keyed(list []any, key value.FieldList) (any, bool) {
	for _, i := range p.candidates(list, key) {
		if hasKey(list[i], key) {
			return list[i], true
		}
	}
	return nil, false
}

// candidates returns the positions, in order, of the items of list that may have key. It uses
// an index by the key's first field: a list may have a thousand items, and looking through
// them for each of them takes most of the time of a reconcile.
func (p *parent) candidates(list []any, key value.FieldList) []int {
	if len(key) == 0 {
		return nil
	}
	name := key[0].Name
	if p.positions[name] == nil {
		if p.positions == nil {
			p.positions = map[string]map[any][]int{}
		}
		p.positions[name] = positionsBy(name, list)
	}
	candidates := slices.Clone(p.positions[name][nil])
	if at := scalar(key[0].Value.Unstructured()); at != nil {
		candidates = append(candidates, p.positions[name][at]...)
		slices.Sort(candidates)
	}
	return candidates
}

// positionsBy returns the positions of the items of list by the value of a field of theirs.
// Those that have no such field, which counts as any value, are at nil.
func positionsBy(field string, list []any) map[any][]int {
	positions := make(map[any][]int, len(list))
	for i, item := range list {
		fields, _ := item.(map[string]any)
		at := scalar(fields[field])
		positions[at] = append(positions[at], i)
	}
	return positions
}

// scalar returns v where it is of a type that keys of lists have, and nil otherwise. A number
// may be of another type where it was read from managedFields.
func scalar(v any) any {
	switch v := v.(type) {
	case string, int64, bool:
		return v
	case int:
		return int64(v)
	case float64:
		return int64(v)
	default:
		return nil
	}
}

func isItem(i int, item any, element fieldpath.PathElement) bool {
	switch {
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

// equal reports whether two values are the same, also where one of them is a number of
// another type.
func equal(a, b any) bool {
	return value.Equals(value.NewValueInterface(a), value.NewValueInterface(b))
}
