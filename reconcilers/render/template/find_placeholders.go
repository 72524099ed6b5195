// SPDX-License-Identifier: Apache-2.0

package template

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
)

// firstPlaceholder is the first of the numbers that represent numbers. They have the same
// number of digits, so that none is part of another.
const firstPlaceholder = 918_273_000

// withPlaceholders returns a copy of the input with a placeholder for every value that
// replacements read, and the placeholders by text. ok is false if a value has none.
func (in Input) withPlaceholders(replacements []sourcedReplacement) (other Input, byText map[string]*placeholder, ok bool) {
	other, byText = in.copy(), map[string]*placeholder{}
	fields := other.fields()
	var paths [][]any
	for _, r := range replacements {
		path, options := r.inputSource()
		switch {
		case options:
			return Input{}, nil, false
		case path == nil || slices.ContainsFunc(paths, func(p []any) bool { return slices.Equal(p, path) }):
			continue
		case slices.ContainsFunc(paths, func(p []any) bool { return overlap(p, path) }):
			return Input{}, nil, false
		}
		paths = append(paths, path)
		ph, ok := newPlaceholder(len(byText), path, Lookup(fields, path))
		if !ok {
			return Input{}, nil, false
		}
		ph.where = r.where
		SetAt(fields, path, ph.value)
		byText[ph.text] = ph
	}
	return other, byText, true
}

// overlap reports whether one of two different paths leads into the other.
func overlap(a, b []any) bool {
	n := min(len(a), len(b))
	return slices.Equal(a[:n], b[:n])
}

// newPlaceholder returns the i-th placeholder, which represents value. There is none for
// a boolean, which has two values only, nor for an absent value.
func newPlaceholder(i int, source []any, value any) (*placeholder, bool) {
	ph := &placeholder{source: source, text: fmt.Sprintf("placeholder-%04d", i)}
	asMap := map[string]any{ph.text: ph.text}
	switch v := value.(type) {
	case string:
		ph.value = ph.text
	case int64:
		ph.value = int64(firstPlaceholder + i)
		ph.text = strconv.Itoa(firstPlaceholder + i)
	case map[string]any:
		ph.value = asMap
	case []any:
		switch v[0].(type) {
		case string:
			ph.value = []any{ph.text}
		case map[string]any:
			ph.value = []any{asMap}
		default:
			return nil, false
		}
	default:
		return nil, false
	}
	return ph, true
}

// findPlaceholders finds the placeholders in objects and removes them.
func findPlaceholders(objects []map[string]any, byText map[string]*placeholder) *placeholders {
	p := &placeholders{objects: objects}
	for i, object := range objects {
		p.find(i, nil, object, byText)
		p.size += JSONSize(object)
	}
	return p
}

// find adds a slot for each placeholder at and below value, which is at path of an object.
func (p *placeholders) find(object int, path []any, value any, byText map[string]*placeholder) {
	slot := func(ph *placeholder, merge bool) {
		p.values = append(p.values, valueSlot{object, slices.Clone(path), ph, merge})
	}
	switch v := value.(type) {
	case map[string]any:
		for _, key := range slices.Sorted(maps.Keys(v)) {
			if ph, ok := byText[key]; ok {
				delete(v, key)
				slot(ph, len(v) > 0)
				continue
			}
			p.find(object, append(path, key), v[key], byText)
		}
	case []any:
		if ph, ok := placeholderOfList(v, byText); ok {
			clear(v)
			slot(ph, false)
			return
		}
		for i, item := range v {
			p.find(object, append(path, i), item, byText)
		}
	case string:
		p.findInText(object, path, v, byText)
	case int64:
		if ph, ok := byText[strconv.FormatInt(v, 10)]; ok {
			slot(ph, false)
		}
	}
}

// placeholderOfList returns the placeholder of a list that list is.
func placeholderOfList(list []any, byText map[string]*placeholder) (*placeholder, bool) {
	if len(list) != 1 {
		return nil, false
	}
	text, _ := list[0].(string)
	if item, isMap := list[0].(map[string]any); isMap && len(item) == 1 {
		for key := range item {
			text = key
		}
	}
	ph, ok := byText[text]
	if !ok {
		return nil, false
	}
	_, isList := ph.value.([]any)
	return ph, isList
}

func (p *placeholders) findInText(object int, path []any, value string, byText map[string]*placeholder) {
	if ph, ok := byText[value]; ok && ph.value == any(value) {
		p.values = append(p.values, valueSlot{object, slices.Clone(path), ph, false})
		return
	}
	t := textSlot{object: object, path: slices.Clone(path), text: value}
	for _, text := range slices.Sorted(maps.Keys(byText)) {
		if _, isText := asText(byText[text].value); isText && strings.Contains(value, text) {
			t.placeholders = append(t.placeholders, byText[text])
		}
	}
	if len(t.placeholders) > 0 {
		p.texts = append(p.texts, t)
	}
}
