// SPDX-License-Identifier: Apache-2.0

package render

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"k8s.io/apimachinery/pkg/runtime"
)

// placeholders are objects and the places in them that take values of an input. To
// fill them in is to copy values; nothing of a value is parsed.
type placeholders struct {
	objects []map[string]any
	// size is how long the objects are together as JSON, in bytes.
	size   int
	values []valueSlot
	texts  []textSlot
}

// valueSlot takes a value of the input as it is.
type valueSlot struct {
	object int
	path   []any
	mark   *mark
	// merge says that the place holds a map whose keys win over those of the value.
	merge bool
}

// textSlot is a string with marks in it, each of which a value of the input replaces.
type textSlot struct {
	object int
	path   []any
	marked string
	marks  []*mark
}

// mark stands in a build for the value at source.
type mark struct {
	source []any
	// where is the file and the replacement that reads source.
	where string
	// value is of the kind of the value that it stands for: a string, a number, a list
	// of one item or a map with one key.
	value any
	// text is the string, the digits, the item or the key.
	text string
}

// firstMark is the first of the numbers that stand for numbers. They have as many
// digits as one another, so that none is a part of another.
const firstMark = 918_273_000

// kindError says that a value is of another kind than the one in the example, as an
// int-or-string may be.
type kindError struct{ source []any }

// Error implements error.
func (e *kindError) Error() string {
	return dotted(e.source) + " is of another kind than in the example"
}

// marked returns in with a mark for every value that replacements read, and the marks
// by their texts. ok is false where a value cannot be marked.
func (in input) marked(replacements []sourcedReplacement) (marked input, marks map[string]*mark, ok bool) {
	marked, marks = in.copy(), map[string]*mark{}
	fields := marked.fields()
	var paths [][]any
	for _, r := range replacements {
		path, options := r.inputSource()
		switch {
		case options:
			return input{}, nil, false
		case path == nil || slices.ContainsFunc(paths, func(p []any) bool { return slices.Equal(p, path) }):
			continue
		case slices.ContainsFunc(paths, func(p []any) bool { return overlap(p, path) }):
			return input{}, nil, false
		}
		paths = append(paths, path)
		m, ok := newMark(len(marks), path, lookup(fields, path))
		if !ok {
			return input{}, nil, false
		}
		m.where = r.where
		setAt(fields, path, m.value)
		marks[m.text] = m
	}
	return marked, marks, true
}

// overlap tells whether one of two different paths leads into the other.
func overlap(a, b []any) bool {
	n := min(len(a), len(b))
	return slices.Equal(a[:n], b[:n])
}

// newMark returns the i-th mark, which stands for value. Neither true nor false can be
// marked, nor what is absent.
func newMark(i int, source []any, value any) (*mark, bool) {
	m := &mark{source: source, text: fmt.Sprintf("mark-%04d", i)}
	asMap := map[string]any{m.text: m.text}
	switch v := value.(type) {
	case string:
		m.value = m.text
	case int64:
		m.value = int64(firstMark + i)
		m.text = strconv.Itoa(firstMark + i)
	case map[string]any:
		m.value = asMap
	case []any:
		switch v[0].(type) {
		case string:
			m.value = []any{m.text}
		case map[string]any:
			m.value = []any{asMap}
		default:
			return nil, false
		}
	default:
		return nil, false
	}
	return m, true
}

// findPlaceholders finds the marks in objects, and drops them.
func findPlaceholders(objects []map[string]any, marks map[string]*mark) *placeholders {
	p := &placeholders{objects: objects}
	for i, object := range objects {
		p.find(i, nil, object, marks)
		p.size += jsonSize(object)
	}
	return p
}

// find notes the marks at and below value, which is at path of an object.
func (p *placeholders) find(object int, path []any, value any, marks map[string]*mark) {
	slot := func(m *mark, merge bool) {
		p.values = append(p.values, valueSlot{object, slices.Clone(path), m, merge})
	}
	switch v := value.(type) {
	case map[string]any:
		for _, key := range slices.Sorted(maps.Keys(v)) {
			if m, ok := marks[key]; ok {
				delete(v, key)
				slot(m, len(v) > 0)
				continue
			}
			p.find(object, append(path, key), v[key], marks)
		}
	case []any:
		if m, ok := markOfList(v, marks); ok {
			clear(v)
			slot(m, false)
			return
		}
		for i, item := range v {
			p.find(object, append(path, i), item, marks)
		}
	case string:
		p.findInText(object, path, v, marks)
	case int64:
		if m, ok := marks[strconv.FormatInt(v, 10)]; ok {
			slot(m, false)
		}
	}
}

// markOfList returns the mark for a list that list is.
func markOfList(list []any, marks map[string]*mark) (*mark, bool) {
	if len(list) != 1 {
		return nil, false
	}
	text, _ := list[0].(string)
	if item, isMap := list[0].(map[string]any); isMap && len(item) == 1 {
		for key := range item {
			text = key
		}
	}
	m, ok := marks[text]
	if !ok {
		return nil, false
	}
	_, isList := m.value.([]any)
	return m, isList
}

func (p *placeholders) findInText(object int, path []any, value string, marks map[string]*mark) {
	if m, ok := marks[value]; ok && m.value == any(value) {
		p.values = append(p.values, valueSlot{object, slices.Clone(path), m, false})
		return
	}
	t := textSlot{object: object, path: slices.Clone(path), marked: value}
	for _, text := range slices.Sorted(maps.Keys(marks)) {
		if _, isText := asText(marks[text].value); isText && strings.Contains(value, text) {
			t.marks = append(t.marks, marks[text])
		}
	}
	if len(t.marks) > 0 {
		p.texts = append(p.texts, t)
	}
}

// fill returns copies of the objects with the values of in, and how long they are together
// as JSON, in bytes, at most. The error is a kindError, or names a field that in lacks.
func (p *placeholders) fill(in input) (objects []map[string]any, size int, err error) {
	fields := in.fields()
	size = p.size
	objects = make([]map[string]any, len(p.objects))
	for i, object := range p.objects {
		objects[i] = runtime.DeepCopyJSON(object)
	}
	for _, slot := range p.values {
		value, err := slot.mark.valueIn(fields)
		if err != nil {
			return nil, 0, err
		}
		size += jsonSize(value)
		if value = runtime.DeepCopyJSONValue(value); slot.merge {
			into, _ := lookup(objects[slot.object], slot.path).(map[string]any)
			maps.Copy(value.(map[string]any), into)
		}
		setAt(objects[slot.object], slot.path, value)
	}
	for _, t := range p.texts {
		var pairs []string
		for _, m := range t.marks {
			value, err := m.valueIn(fields)
			if err != nil {
				return nil, 0, err
			}
			text, _ := asText(value)
			size += jsonString(text) * strings.Count(t.marked, m.text)
			pairs = append(pairs, m.text, text)
		}
		// All at once: a value that looks like a mark stays what it is.
		setAt(objects[t.object], t.path, strings.NewReplacer(pairs...).Replace(t.marked))
	}
	return objects, size, nil
}

// valueIn returns the value that m stands for.
func (m *mark) valueIn(fields map[string]any) (any, error) {
	value := lookup(fields, m.source)
	same := false
	switch value.(type) {
	case nil:
		return nil, fmt.Errorf("%s: %w", m.where, missingField(m.source))
	case string:
		_, same = m.value.(string)
	case int64:
		_, same = m.value.(int64)
	case []any:
		_, same = m.value.([]any)
	case map[string]any:
		_, same = m.value.(map[string]any)
	}
	if !same {
		return nil, &kindError{m.source}
	}
	return value, nil
}

func missingField(source []any) error {
	return errors.New(dotted(source) + " is not set, and the templates need it")
}

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

// setAt puts value at path, whose parent is there.
func setAt(object map[string]any, path []any, value any) {
	last := path[len(path)-1]
	switch parent := lookup(object, path[:len(path)-1]).(type) {
	case map[string]any:
		parent[last.(string)] = value
	case []any:
		parent[last.(int)] = value
	}
}
