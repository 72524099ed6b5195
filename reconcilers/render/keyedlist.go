// SPDX-License-Identifier: Apache-2.0

package render

import "fmt"

// secondKeys completes the merge keys that the Go types name, as the OpenAPI schema
// does: two ports may have one number.
var secondKeys = map[string]string{
	"containerPort": "protocol",
	"port":          "protocol",
	"topologyKey":   "whenUnsatisfiable",
}

// keyedList is a list of maps that are found by the value of a key.
type keyedList struct {
	key      string
	elements []any
	places   map[string]int
	// front has the places that were set, in order.
	front []int
}

func newKeyedList(elements []any, key string) *keyedList {
	list := &keyedList{key: key, places: make(map[string]int, 2*len(elements))}
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
	return scalar(element[l.key]), scalar(element[secondKeys[l.key]])
}

func scalar(value any) string {
	switch value.(type) {
	case string, int64, float64, bool:
		return fmt.Sprint(value)
	default:
		return ""
	}
}

func (l *keyedList) add(element any, first, second string) int {
	place := len(l.elements)
	l.elements = append(l.elements, element)
	for _, key := range []string{first, first + "/" + second} {
		if _, taken := l.places[key]; !taken {
			l.places[key] = place
		}
	}
	return place
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

// set puts element, or nothing if it is nil, at place and moves it to the front.
func (l *keyedList) set(place int, element map[string]any) {
	l.elements[place] = nil
	if element != nil {
		l.elements[place] = element
	}
	l.front = append(l.front, place)
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
