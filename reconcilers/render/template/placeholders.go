// SPDX-License-Identifier: Apache-2.0

package template

import (
	"errors"
	"fmt"
	"maps"
	"strconv"
	"strings"

	"k8s.io/apimachinery/pkg/runtime"
)

// placeholders holds objects and the positions in them that take values of an input.
// Filling them in copies values and parses none.
type placeholders struct {
	objects []map[string]any
	// size is the length of the objects as JSON, in bytes.
	size   int
	values []valueSlot
	texts  []textSlot
}

// valueSlot is a field that takes a value of the input unchanged.
type valueSlot struct {
	object      int
	path        []any
	placeholder *placeholder
	// merge says that the field is a map whose keys take precedence over those of the value.
	merge bool
}

// textSlot is a string with placeholders in it, each of which takes a value of the input.
type textSlot struct {
	object       int
	path         []any
	text         string
	placeholders []*placeholder
}

// placeholder represents the value at source in a build.
type placeholder struct {
	source []any
	// where is the file and position of the replacement that reads source.
	where string
	// value has the type of the value that it represents: a string, a number, a list of
	// one item or a map with one key.
	value any
	// text is the string, the digits, the item or the key.
	text string
}

// TypeMismatchError says that a value has another type than in the example, as an
// int-or-string may have.
type TypeMismatchError struct {
	// Override gives the example a value of that type.
	Override Override
}

// Error implements error.
func (e *TypeMismatchError) Error() string {
	return Dotted(e.Override.Path) + " has another type than in the example"
}

// fill returns copies of the objects with the values of in, and an upper bound of their
// length as JSON, in bytes. The error is a [TypeMismatchError], or names a missing field.
func (p *placeholders) fill(in Input) (objects []map[string]any, size int, err error) {
	fields := in.fields()
	size = p.size
	objects = make([]map[string]any, len(p.objects))
	for i, object := range p.objects {
		objects[i] = runtime.DeepCopyJSON(object)
	}
	for _, slot := range p.values {
		value, err := slot.placeholder.valueIn(fields)
		if err != nil {
			return nil, 0, err
		}
		size += JSONSize(value)
		if value = runtime.DeepCopyJSONValue(value); slot.merge {
			into, _ := Lookup(objects[slot.object], slot.path).(map[string]any)
			maps.Copy(value.(map[string]any), into)
		}
		SetAt(objects[slot.object], slot.path, value)
	}
	for _, t := range p.texts {
		var pairs []string
		for _, ph := range t.placeholders {
			value, err := ph.valueIn(fields)
			if err != nil {
				return nil, 0, err
			}
			text, _ := asText(value)
			size += jsonString(text) * strings.Count(t.text, ph.text)
			pairs = append(pairs, ph.text, text)
		}
		// In one pass: a value that equals a placeholder is kept.
		SetAt(objects[t.object], t.path, strings.NewReplacer(pairs...).Replace(t.text))
	}
	return objects, size, nil
}

// valueIn returns the value in fields that ph represents.
func (ph *placeholder) valueIn(fields map[string]any) (any, error) {
	value := Lookup(fields, ph.source)
	same := false
	switch value.(type) {
	case nil:
		return nil, fmt.Errorf("%s: %w", ph.where, missingField(ph.source))
	case string:
		_, same = ph.value.(string)
	case int64:
		_, same = ph.value.(int64)
	case []any:
		_, same = ph.value.([]any)
	case map[string]any:
		_, same = ph.value.(map[string]any)
	}
	if !same {
		return nil, &TypeMismatchError{Override{ph.source, exampleLike(value)}}
	}
	return value, nil
}

// exampleLike returns an example of the type of value, a number or a string.
func exampleLike(value any) any {
	if _, isNumber := value.(int64); isNumber {
		return int64(1)
	}
	return "example"
}

func missingField(path []any) error {
	return errors.New(Dotted(path) + " is required by the templates and not set")
}

// asText returns value in the form in which it is part of a string.
func asText(value any) (string, bool) {
	switch v := value.(type) {
	case string:
		return v, true
	case int64:
		return strconv.FormatInt(v, 10), true
	default:
		return "", false
	}
}
