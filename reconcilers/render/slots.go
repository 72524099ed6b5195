// SPDX-License-Identifier: Apache-2.0

package render

import (
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"k8s.io/apimachinery/pkg/runtime"
)

// slots is what the replacements of a plan come to: the objects, and the places in
// them that take a value of the input. Filling them in is to copy values to places,
// where running the replacements is to look for sources and targets anew each time.
type slots struct {
	objects []map[string]any
	places  []place
	texts   []text
}

// place takes a value of the input as it is.
type place struct {
	object int
	path   []any
	source []any
	// merge says that the place holds a map whose keys win over those of the value.
	merge bool
}

// text is a string with marks in it, each of which gives way to a value of the input.
type text struct {
	object int
	path   []any
	marked string
	marks  []mark
}

// mark stands in the input for the value at source.
type mark struct {
	source []any
	// value has the type of the value that it stands for: a string, a number, a list of
	// one item or a map with one key.
	value any
	// text is the string, the digits, the item or the key.
	text string
}

// firstMark is the first of the numbers that stand for numbers. They have as many
// digits as one another, so that none is a part of another.
const firstMark = 918_273_000

// byValue matches the step of a field path that picks an item by one of its fields.
var byValue = regexp.MustCompile(`\[([^]=]+)=`)

// newSlots runs the replacements of p with marks where in has values, and finds where
// they went. It returns nil where marks cannot tell: then p runs its replacements
// each time. What it returns is still to be proved.
func newSlots(p *plan, in input) *slots {
	if p.picksByFilled() {
		return nil
	}
	marked := input{memcached: runtime.DeepCopyJSON(in.memcached), values: runtime.DeepCopyJSON(in.values)}
	marks := p.mark(marked)
	if marks == nil {
		return nil
	}
	objects, err := p.replace(marked)
	if err != nil {
		return nil
	}
	s := &slots{objects: objects}
	for i, object := range objects {
		s.find(i, nil, object, marks)
	}
	return s
}

// picksByFilled tells whether a replacement picks an item by a field that another one
// fills in: which item that is depends on the value.
func (p *plan) picksByFilled() bool {
	filled := map[string]bool{}
	for _, r := range p.replacements {
		for _, target := range r.filter.Replacements[0].Targets {
			if target.Select == nil {
				return true // It is refused elsewhere.
			}
			kind := target.Select.Kind
			for _, path := range target.FieldPaths {
				path = "." + path
				for _, step := range byValue.FindAllStringSubmatch(path, -1) {
					if filled[kind+"."+step[1]] {
						return true
					}
				}
				filled[kind+path[strings.LastIndex(path, "."):]] = true
			}
		}
	}
	return false
}

// mark puts a mark into in for every field that p reads, and returns the marks by
// their texts; nil where a field cannot be marked.
func (p *plan) mark(in input) map[string]mark {
	marks := map[string]mark{}
	seen := map[string]bool{}
	for _, r := range p.replacements {
		source := r.filter.Replacements[0].Source
		if source == nil || source.Options != nil {
			return nil
		}
		name := source.Kind + "." + source.FieldPath
		if source.Kind != memcachedKind && source.Kind != valuesKind || seen[name] {
			continue
		}
		seen[name] = true
		path := []any{}
		for step := range strings.SplitSeq(name, ".") {
			path = append(path, step)
		}
		m, ok := newMark(len(marks), path, lookup(in.fields(), path))
		if !ok {
			return nil
		}
		setAt(in.fields(), path, m.value)
		marks[m.text] = m
	}
	return marks
}

// fields are both parts of the input by kind.
func (in input) fields() map[string]any {
	return map[string]any{memcachedKind: in.memcached, valuesKind: in.values}
}

// newMark is the i-th mark; it stands for value, unless that is absent or true or
// false, which no template takes over.
func newMark(i int, source []any, value any) (mark, bool) {
	m := mark{source: source, text: fmt.Sprintf("mark-%04d", i)}
	switch value.(type) {
	case string:
		m.value = m.text
	case int64:
		m.value = int64(firstMark + i)
		m.text = strconv.Itoa(firstMark + i)
	case []any:
		m.value = []any{m.text}
	case map[string]any:
		m.value = map[string]any{m.text: m.text}
	default:
		return mark{}, false
	}
	return m, true
}

// find notes the marks at and below value, which is at path of an object. Only the
// notes keep path: they get copies.
func (s *slots) find(object int, path []any, value any, marks map[string]mark) {
	switch v := value.(type) {
	case map[string]any:
		for key, item := range v {
			if m, ok := marks[key]; ok {
				delete(v, key)
				s.places = append(s.places, place{object, slices.Clone(path), m.source, len(v) > 0})
				continue
			}
			s.find(object, append(path, key), item, marks)
		}
	case []any:
		for i, item := range v {
			s.find(object, append(path, i), item, marks)
		}
		if len(v) == 1 {
			if m, ok := marks[fmt.Sprint(v[0])]; ok && isList(m.value) {
				s.places = append(s.places, place{object, slices.Clone(path), m.source, false})
			}
		}
	case string:
		s.findInText(object, path, v, marks)
	case int64:
		if m, ok := marks[strconv.FormatInt(v, 10)]; ok {
			s.places = append(s.places, place{object, slices.Clone(path), m.source, false})
		}
	}
}

func (s *slots) findInText(object int, path []any, value string, marks map[string]mark) {
	if m, ok := marks[value]; ok && m.value == any(value) {
		s.places = append(s.places, place{object, slices.Clone(path), m.source, false})
		return
	}
	t := text{object: object, path: slices.Clone(path), marked: value}
	for _, key := range slices.Sorted(maps.Keys(marks)) {
		if strings.Contains(value, key) && !isList(marks[key].value) {
			t.marks = append(t.marks, marks[key])
		}
	}
	if len(t.marks) > 0 {
		s.texts = append(s.texts, t)
	}
}

func isList(value any) bool {
	_, ok := value.([]any)
	return ok
}

// fill returns the objects with the values of in; ok is false where in lacks one, or
// has one of a kind that no text can take.
func (s *slots) fill(in input) (objects []map[string]any, ok bool) {
	fields := in.fields()
	objects = make([]map[string]any, len(s.objects))
	for i, object := range s.objects {
		objects[i] = runtime.DeepCopyJSON(object)
	}
	for _, p := range s.places {
		value := lookup(fields, p.source)
		if value == nil {
			return nil, false
		}
		if value = runtime.DeepCopyJSONValue(value); p.merge {
			added, isMap := value.(map[string]any)
			into, intoMap := lookup(objects[p.object], p.path).(map[string]any)
			if !isMap || !intoMap {
				return nil, false
			}
			maps.Copy(added, into)
			value = added
		}
		setAt(objects[p.object], p.path, value)
	}
	for _, t := range s.texts {
		var pairs []string
		for _, m := range t.marks {
			value, isText := asText(lookup(fields, m.source))
			if !isText {
				return nil, false
			}
			pairs = append(pairs, m.text, value)
		}
		// All at once: a value that looks like a mark stays what it is.
		setAt(objects[t.object], t.path, strings.NewReplacer(pairs...).Replace(t.marked))
	}
	return objects, true
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
