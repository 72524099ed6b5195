// SPDX-License-Identifier: Apache-2.0

package render

import (
	"fmt"
	"strconv"
)

// secondKeys completes the merge keys that the Go types name, as the OpenAPI schema
// does: two ports may have one number.
var secondKeys = map[string]string{
	"containerPort": "protocol",
	"port":          "protocol",
	"topologyKey":   "whenUnsatisfiable",
}

// keyedList is a list of maps that are found by the value of a key.
type keyedList struct {
	// key names the field by which elements are found, second another one that tells
	// those with the same value there apart, if it is not empty.
	key, second string
	elements    []any
	places      map[string]int
	// front has the places that were set, in order.
	front []int
}

func newKeyedList(elements []any, key string) *keyedList {
	list := &keyedList{key: key, second: secondKeys[key], places: make(map[string]int, len(elements))}
	for _, element := range elements {
		fields, _ := element.(map[string]any)
		first, second := list.keysOf(fields)
		list.add(element, first, second)
	}
	return list
}

// keysOf are the values by which an element is found; the second is empty where there
// is none.
func (l *keyedList) keysOf(element map[string]any) (first, second string) {
	first = scalar(element[l.key])
	if l.second != "" {
		second = scalar(element[l.second])
	}
	return first, second
}

func scalar(value any) string {
	switch v := value.(type) {
	case string:
		return v
	case int64:
		return strconv.FormatInt(v, 10)
	case float64, bool:
		return fmt.Sprint(v)
	default:
		return ""
	}
}

func (l *keyedList) add(element any, first, second string) int {
	place := len(l.elements)
	l.elements = append(l.elements, element)
	l.note(first, place)
	if l.second != "" {
		l.note(first+"/"+second, place)
	}
	return place
}

func (l *keyedList) note(key string, place int) {
	if _, taken := l.places[key]; !taken {
		l.places[key] = place
	}
}

// place is where element belongs, at the end if there is none with its keys. A second
// key that one of the two lacks makes no difference. It is false without the first key.
func (l *keyedList) place(element map[string]any) (int, bool) {
	first, second := l.keysOf(element)
	if first == "" {
		return 0, false
	}
	lookups := []string{first}
	if second != "" {
		lookups = []string{first + "/" + second, first + "/"}
	}
	for _, key := range lookups {
		if place, ok := l.places[key]; ok {
			return place, true
		}
	}
	return l.add(nil, first, second), true
}

// set puts element, or nothing if it is nil, at place. It moves to the front, as
// kustomize has it, less where two keys say what it is: there only new ones do.
func (l *keyedList) set(place int, element map[string]any) {
	isNew := l.elements[place] == nil
	l.elements[place] = nil
	if element != nil {
		l.elements[place] = element
	}
	if isNew || l.second == "" {
		l.front = append(l.front, place)
	}
}

// result returns the elements that were set, in that order, and then the others.
func (l *keyedList) result() []any {
	result := make([]any, 0, len(l.elements))
	for _, place := range l.front {
		if l.elements[place] != nil {
			result = append(result, l.elements[place])
			l.elements[place] = nil
		}
	}
	for _, element := range l.elements {
		if element != nil {
			result = append(result, element)
		}
	}
	return result
}
