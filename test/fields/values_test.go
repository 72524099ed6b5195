// SPDX-License-Identifier: Apache-2.0

package fields

import (
	"fmt"
	"maps"
	"math"
	"strings"
)

// maxParameters is the number of entries of spec.parameters that the schema allows.
const maxParameters = 32

// sampleKey returns the key of entry i of the map n. The templates must declare those of spec.parameters.
func sampleKey(n *node, i int64) string {
	if n.path == "spec.parameters" {
		return fmt.Sprintf("p%d", i)
	}
	return fmt.Sprintf("example.com/k%d", i)
}

type (
	object = map[string]any
	list   = []any
)

// values are what a node is tried with.
type values struct {
	// valid is not the default, and must show in what is rendered.
	valid any
	// boundary values are accepted, and what is rendered differs from valid's.
	boundary []any
	// empty values mean the same as no value.
	empty []any
	// distinct values render otherwise than no value.
	distinct []any
	// accepted values are accepted and can be rendered.
	accepted []any
	// refused values are not accepted.
	refused []any
}

// valuesOf makes values from the schema, and from samples where it cannot tell. It
// returns false when they do not do.
func valuesOf(n *node) (values, bool) {
	v := values{refused: list{wrongType(n)}}
	known, ok := find(samples, n.path)
	switch {
	case n.Type == "array":
		v.ofArray(n)
	case n.Type == "object" && n.AdditionalProperties != nil:
		v.ofMap(n)
	case n.Type == "object":
		v.ofObject(n)
	case ok:
	case len(n.Enum) > 0:
		v.ofEnum(n)
	case n.Type == "boolean":
		v.valid, v.empty = true, list{false}
	case n.Type == "integer" && n.Minimum != nil && n.Maximum != nil:
		v.ofInteger(n)
	default:
		return v, false
	}
	if known.valid != nil {
		v.valid = known.valid
	}
	v.boundary = append(v.boundary, known.boundary...)
	v.refused = append(append(v.refused, known.refused...), beyond(n)...)
	return v, true
}

func wrongType(n *node) any {
	if n.Type == "string" {
		return 7
	}
	return "wrong type"
}

// beyond are values just outside of what the schema allows.
func beyond(n *node) []any {
	var result []any
	if n.Minimum != nil {
		result = append(result, *n.Minimum-1)
	}
	if n.Maximum != nil {
		result = append(result, *n.Maximum+1)
	}
	if n.Format == "int32" {
		result = append(result, int64(math.MaxInt32)+1)
	}
	if n.MinLength != nil {
		result = append(result, strings.Repeat("a", int(*n.MinLength)-1))
	}
	if n.MaxLength != nil {
		result = append(result, strings.Repeat("a", int(*n.MaxLength)+1))
	}
	if n.Pattern != "" && n.Type == "string" {
		result = append(result, "not like this!")
	}
	if len(n.Enum) > 0 {
		result = append(result, "Other")
	}
	return result
}

func (v *values) ofEnum(n *node) {
	for _, value := range n.Enum {
		if v.valid == nil && value != n.Default {
			v.valid = value
			continue
		}
		v.boundary = append(v.boundary, value)
	}
}

func (v *values) ofInteger(n *node) {
	v.valid = *n.Minimum + 1
	v.boundary = list{*n.Minimum, *n.Maximum}
}

func (v *values) ofArray(n *node) {
	item := n.below()[0]
	v.valid = list{sampleOf(item)}
	switch {
	case n.MaxItems != nil && *n.MaxItems == 1:
		v.refused = append(v.refused, repeated(item, 2))
	case n.MaxItems != nil:
		v.boundary = list{repeated(item, *n.MaxItems)}
		v.refused = append(v.refused, repeated(item, *n.MaxItems+1))
	default:
		v.boundary = list{repeated(item, 2)}
	}
	switch {
	case n.MinItems != nil:
		v.refused = append(v.refused, list{})
	case !n.isRequired():
		v.empty = list{list{}}
	}
}

func repeated(item *node, count int64) list {
	var result list
	for i := range count {
		value := sampleOf(item)
		if keys := item.parent.ListMapKeys; len(keys) > 0 { // Two items must not have the same.
			value = with(value.(object), keys[0], fmt.Sprintf("%s-%d", value.(object)[keys[0]], i))
		}
		result = append(result, value)
	}
	return result
}

func (v *values) ofMap(n *node) {
	entry := n.below()[0]
	v.valid = entries(entry, 1)
	v.empty = list{object{}}
	if n.MaxProperties != nil {
		v.boundary = list{entries(entry, *n.MaxProperties)}
		v.refused = append(v.refused, entries(entry, *n.MaxProperties+1))
	}
}

func entries(entry *node, count int64) object {
	result := object{}
	for i := range count {
		result[sampleKey(entry.parent, i)] = sampleOf(entry)
	}
	return result
}

func (v *values) ofObject(n *node) {
	v.valid = sampleOf(n)
	v.refused = append(v.refused, list{}, with(sampleOf(n).(object), "noSuchField", 1))
	for _, name := range n.Required {
		v.refused = append(v.refused, without(sampleOf(n).(object), name))
	}
	// An empty selector selects everything, no selector nothing.
	switch {
	case strings.HasSuffix(n.name, "Selector"):
		v.boundary = append(v.boundary, object{})
		v.distinct = list{object{}}
	case len(n.Required) == 0 && !refusesEmpty(n):
		v.accepted = append(v.accepted, object{})
	}
}

func refusesEmpty(n *node) bool {
	known, _ := find(samples, n.path)
	for _, value := range known.refused {
		if o, ok := value.(object); ok && len(o) == 0 {
			return true
		}
	}
	return false
}

// sampleOf is one valid value of n, not its default.
func sampleOf(n *node) any {
	if n.Type != "object" || n.AdditionalProperties != nil {
		v, _ := valuesOf(n)
		return v.valid
	}
	if known, ok := find(samples, n.path); ok && known.valid != nil {
		return known.valid
	}
	result := frame(n)
	if len(result) == 0 && len(n.below()) > 0 {
		first := n.below()[0]
		result = framed(first, sampleOf(first))
	}
	return result
}

// frame is what the object n needs around a property that is tried in it.
func frame(n *node) object {
	result := object{}
	for _, name := range n.Required {
		result[name] = sampleOf(n.property(name))
	}
	siblings, _ := find(always, n.path)
	maps.Copy(result, siblings)
	return result
}

// framed is the object that holds the property n with value.
func framed(n *node, value any) object {
	result := frame(n.parent)
	siblings, _ := find(beside, n.path)
	maps.Copy(result, siblings)
	result[n.name] = value
	return result
}

// specWith is a spec whose only purpose is n with value.
func specWith(n *node, value any) object {
	for ; n.parent != nil; n = n.parent {
		switch {
		case n.name != "":
			value = framed(n, value)
		case n.parent.Type == "array":
			value = list{value}
		default:
			value = object{sampleKey(n.parent, 0): value}
		}
	}
	return value.(object)
}

// specWithout is the same spec without n, which is a property.
func specWithout(n *node) object {
	return specWith(n.parent, without(framed(n, nil), n.name))
}

func with(o object, name string, value any) object {
	result := maps.Clone(o)
	result[name] = value
	return result
}

func without(o object, name string) object {
	result := maps.Clone(o)
	delete(result, name)
	return result
}
