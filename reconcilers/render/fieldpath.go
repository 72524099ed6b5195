// SPDX-License-Identifier: Apache-2.0

package render

import (
	"fmt"
	"slices"
	"strings"
)

// fieldError says what is wrong with a field. The path is put together on the way
// back up, so that it costs nothing where nothing is wrong.
type fieldError struct {
	// steps lead to the field, the last one first: names, and indices in brackets.
	steps []string
	// text follows the path.
	text string
}

func fieldErrorf(format string, args ...any) *fieldError {
	return &fieldError{text: fmt.Sprintf(format, args...)}
}

func (e *fieldError) Error() string {
	var path strings.Builder
	for _, step := range slices.Backward(e.steps) {
		if path.Len() > 0 && !strings.HasPrefix(step, "[") {
			path.WriteByte('.')
		}
		path.WriteString(step)
	}
	if path.Len() == 0 {
		return strings.TrimLeft(e.text, ": ")
	}
	return path.String() + e.text
}

// in notes that the field lies in the one called name.
func (e *fieldError) in(name string) *fieldError {
	if strings.ContainsAny(name, "./") {
		name = "[" + name + "]"
	}
	e.steps = append(e.steps, name)
	return e
}

// at notes that the field lies in element i of a list.
func (e *fieldError) at(i int) *fieldError {
	e.steps = append(e.steps, fmt.Sprintf("[%d]", i))
	return e
}
