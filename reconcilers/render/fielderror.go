// SPDX-License-Identifier: Apache-2.0

package render

import (
	"fmt"
	"slices"
	"strings"
)

// fieldError is an error about a field. The callers add the steps of its path, so that
// valid fields cost nothing.
type fieldError struct {
	// steps holds the path to the field in reverse order: names, and indices in brackets.
	steps []string
	// text follows the path in the message.
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

// in adds the name of the field that contains the field.
func (e *fieldError) in(name string) *fieldError {
	if strings.ContainsAny(name, "./") {
		name = "[" + name + "]"
	}
	e.steps = append(e.steps, name)
	return e
}

// at adds the index of the list element that contains the field.
func (e *fieldError) at(i int) *fieldError {
	e.steps = append(e.steps, fmt.Sprintf("[%d]", i))
	return e
}
