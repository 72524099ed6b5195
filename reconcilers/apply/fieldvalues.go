// SPDX-License-Identifier: Apache-2.0

package apply

import (
	"slices"

	appsv1 "k8s.io/api/apps/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"
	"sigs.k8s.io/structured-merge-diff/v6/value"
)

// compareFields reports the paths of fields at which live and want differ. The field set determines how
// lists are compared: item by item if it has items by key or by value, otherwise as one value.
func compareFields(fields *fieldpath.Set, want, live value.Value, path fieldpath.Path, report func(path fieldpath.Path)) {
	wants, lives := newParent(want), newParent(live)
	fields.Members.Iterate(func(element fieldpath.PathElement) {
		if _, hasFields := fields.Children.Get(element); hasFields {
			return // An item of a list, whose fields are children.
		}
		wanted, isWanted := wants.child(element)
		liveValue, isLive := lives.child(element)
		// A zero value that is omitted when written must be absent in live too.
		if isWanted != isLive || isWanted && !value.Equals(liveValue, wanted) {
			report(append(path, element))
		}
	})
	fields.Children.Iterate(func(element fieldpath.PathElement) {
		below, _ := fields.Children.Get(element)
		wanted, _ := wants.child(element)
		liveValue, _ := lives.child(element)
		compareFields(below, wanted, liveValue, append(path, element), report)
	})
}

// valueOf returns the content of object as it is in the API's JSON. It shares the memory of object.
func valueOf(object client.Object) (value.Value, error) {
	switch o := object.(type) {
	case *unstructured.Unstructured:
		return value.NewValueInterface(o.Object), nil
	case *appsv1.StatefulSet:
		// Claim templates have a kind if they were read as JSON, and none as protocol buffers.
		set := *o
		set.Spec.VolumeClaimTemplates = slices.Clone(set.Spec.VolumeClaimTemplates)
		for i := range set.Spec.VolumeClaimTemplates {
			set.Spec.VolumeClaimTemplates[i].TypeMeta = metav1.TypeMeta{}
		}
		return value.NewValueReflect(&set)
	default:
		return value.NewValueReflect(object)
	}
}

// unstructuredOf returns v as JSON types, or nil if there is no value.
func unstructuredOf(v value.Value) any {
	if v == nil {
		return nil
	}
	return v.Unstructured()
}

// parent is a map or list whose children are looked up by path element.
type parent struct {
	// entries is nil if the value is not a map, and items if it is not a list.
	entries value.Map
	items   value.List
	// positions indexes items by the name of a field and its value.
	positions map[string]map[any][]int
}

// newParent returns v, which may be nil, as a parent. It has no children if v is a scalar.
func newParent(v value.Value) *parent {
	p := &parent{}
	switch {
	case v == nil:
	case v.IsMap():
		p.entries = v.AsMap()
	case v.IsList():
		p.items = v.AsList()
	}
	return p
}

// child returns the child of p at element.
func (p *parent) child(element fieldpath.PathElement) (value.Value, bool) {
	switch {
	case element.FieldName != nil:
		if p.entries != nil {
			return p.entries.Get(*element.FieldName)
		}
	case p.items == nil:
	case element.Key != nil:
		return p.keyed(*element.Key)
	case element.Value != nil:
		for i := range p.items.Length() {
			if item := p.items.At(i); value.Equals(item, *element.Value) {
				return item, true
			}
		}
	case element.Index != nil:
		if i := *element.Index; i >= 0 && i < p.items.Length() {
			return p.items.At(i), true
		}
	}
	return nil, false
}

// fewItems is up to how many items are searched without an index.
const fewItems = 8

// keyed returns the first item that has key.
func (p *parent) keyed(key value.FieldList) (value.Value, bool) {
	if p.items.Length() <= fewItems {
		for i := range p.items.Length() {
			if item := p.items.At(i); len(key) > 0 && hasKey(item, key) {
				return item, true
			}
		}
		return nil, false
	}
	for _, i := range p.candidates(key) {
		if item := p.items.At(i); hasKey(item, key) {
			return item, true
		}
	}
	return nil, false
}

// candidates returns the positions, in order, of the items of list that may have key. It uses
// an index by the key's first field, since a linear search per item takes most of the time of a
// reconcile when a list has a thousand items.
func (p *parent) candidates(key value.FieldList) []int {
	if len(key) == 0 {
		return nil
	}
	name := key[0].Name
	if p.positions[name] == nil {
		if p.positions == nil {
			p.positions = map[string]map[any][]int{}
		}
		p.positions[name] = positionsBy(name, p.items)
	}
	candidates := slices.Clone(p.positions[name][nil])
	if at := scalar(key[0].Value); at != nil {
		candidates = append(candidates, p.positions[name][at]...)
		slices.Sort(candidates)
	}
	return candidates
}

// positionsBy returns the positions of the items of list by the value of field. Items without the
// field, which match any value, are at nil.
func positionsBy(field string, list value.List) map[any][]int {
	positions := make(map[any][]int, list.Length())
	for i := range list.Length() {
		var at any
		if item := list.At(i); item.IsMap() {
			if v, ok := item.AsMap().Get(field); ok {
				at = scalar(v)
			}
		}
		positions[at] = append(positions[at], i)
	}
	return positions
}

// scalar returns v if it has a type that list keys have, and nil otherwise.
func scalar(v value.Value) any {
	switch {
	case v.IsString():
		return v.AsString()
	case v.IsInt():
		return v.AsInt()
	case v.IsFloat(): // Numbers from managedFields may have another Go type.
		return int64(v.AsFloat())
	case v.IsBool():
		return v.AsBool()
	default:
		return nil
	}
}

// hasKey reports whether an item of a list has the key. A field that the item lacks matches, since the
// schema has a default for it, such as TCP for the protocol of a port.
func hasKey(item value.Value, key value.FieldList) bool {
	if !item.IsMap() {
		return false
	}
	fields := item.AsMap()
	for _, field := range key {
		actual, ok := fields.Get(field.Name)
		if ok && !value.Equals(actual, field.Value) {
			return false
		}
	}
	return true
}
