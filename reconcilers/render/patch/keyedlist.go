// SPDX-License-Identifier: Apache-2.0

package patch

import (
	"fmt"
	"strconv"
)

// secondKeys adds a second merge key to those of the Go types, as the OpenAPI schema does:
// two ports may have the same number.
var secondKeys = map[string]string{
	"containerPort": "protocol",
	"port":          "protocol",
	"topologyKey":   "whenUnsatisfiable",
}

// keyedList is a list of maps with an index by the value of a key.
type keyedList struct {
	// key is the field of the index. second, if not empty, distinguishes elements with the
	// same value of key.
	key, second string
	elements    []any
	index       map[string]int
	// front holds the indices of the elements that were set, in order.
	front []int
}

func newKeyedList(elements []any, key string) *keyedList {
	list := &keyedList{key: key, second: secondKeys[key], index: make(map[string]int, len(elements))}
	for _, element := range elements {
		fields, _ := element.(map[string]any)
		first, second := list.keysOf(fields)
		list.add(element, first, second)
	}
	return list
}

// keysOf returns the values of an element for the index; second is empty if it has none.
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

// add appends element and returns its index.
func (l *keyedList) add(element any, first, second string) int {
	i := len(l.elements)
	l.elements = append(l.elements, element)
	l.addKey(first, i)
	if l.second != "" {
		l.addKey(first+"/"+second, i)
	}
	return i
}

func (l *keyedList) addKey(key string, i int) {
	if _, exists := l.index[key]; !exists {
		l.index[key] = i
	}
}

// find returns the index of the element with the keys of element, and appends an empty one
// if there is none. A second key that one of the two lacks is ignored. It returns false if
// the first key is missing.
func (l *keyedList) find(element map[string]any) (int, bool) {
	first, second := l.keysOf(element)
	if first == "" {
		return 0, false
	}
	lookups := []string{first}
	if second != "" {
		lookups = []string{first + "/" + second, first + "/"}
	}
	for _, key := range lookups {
		if i, ok := l.index[key]; ok {
			return i, true
		}
	}
	return l.add(nil, first, second), true
}

// set replaces the element at i, and removes it if element is nil. The element moves to the
// front, as in kustomize, unless the list has two keys and the element is not new.
func (l *keyedList) set(i int, element map[string]any) {
	isNew := l.elements[i] == nil
	l.elements[i] = nil
	if element != nil {
		l.elements[i] = element
	}
	if isNew || l.second == "" {
		l.front = append(l.front, i)
	}
}

// result returns the elements that were set, in that order, followed by the others.
func (l *keyedList) result() []any {
	result := make([]any, 0, len(l.elements))
	for _, i := range l.front {
		if l.elements[i] != nil {
			result = append(result, l.elements[i])
			l.elements[i] = nil
		}
	}
	for _, element := range l.elements {
		if element != nil {
			result = append(result, element)
		}
	}
	return result
}
