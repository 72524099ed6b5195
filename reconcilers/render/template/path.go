// SPDX-License-Identifier: Apache-2.0

package template

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
)

// Lookup returns the value at path below value, nil if there is none. A step into a
// list is an int, or a string of digits.
func Lookup(value any, path []any) any {
	for _, step := range path {
		switch v := value.(type) {
		case map[string]any:
			key, _ := step.(string)
			value = v[key]
		case []any:
			i, isInt := step.(int)
			if digits, isText := step.(string); isText {
				n, err := strconv.Atoi(digits)
				i, isInt = n, err == nil
			}
			if !isInt || i < 0 || i >= len(v) {
				return nil
			}
			value = v[i]
		default:
			return nil
		}
	}
	return value
}

// setAt sets the value at path below object. The parent must exist.
func setAt(object map[string]any, path []any, value any) {
	last := path[len(path)-1]
	switch parent := Lookup(object, path[:len(path)-1]).(type) {
	case map[string]any:
		parent[last.(string)] = value
	case []any:
		parent[last.(int)] = value
	}
}

// WalkStrings calls visit for every string below value, with its path, which visit
// must copy to keep. Maps are walked in the order of their keys.
func WalkStrings(value any, path []any, visit func(path []any, s string)) {
	switch v := value.(type) {
	case map[string]any:
		for _, key := range slices.Sorted(maps.Keys(v)) {
			WalkStrings(v[key], append(path, key), visit)
		}
	case []any:
		for i, item := range v {
			WalkStrings(item, append(path, i), visit)
		}
	case string:
		visit(path, v)
	}
}

// Dotted returns path in dotted form, for messages.
func Dotted(path []any) string {
	var steps []string
	for _, step := range path {
		steps = append(steps, fmt.Sprint(step))
	}
	return strings.Join(steps, ".")
}

// parseDotted returns the path whose dotted form is text.
func parseDotted(text string) []any {
	var path []any
	for step := range strings.SplitSeq(text, ".") {
		path = append(path, step)
	}
	return path
}
