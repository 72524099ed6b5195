// SPDX-License-Identifier: Apache-2.0

package guarded

import (
	"strings"

	cachev1alpha1 "github.com/example/memcached-operator/apis/v1alpha1"
)

// Error says that a Memcached sets guarded fields while the operator runs without
// --allow-privileged-fields.
type Error struct {
	// Fields are the fields that are set, in the order of Fields.
	Fields []Field
}

// Error implements error.
func (e *Error) Error() string {
	names := make([]string, 0, len(e.Fields))
	for _, field := range e.Fields {
		name := field.Path
		if field.When != "" {
			name += " " + strings.ReplaceAll(field.When, "`", "")
		}
		names = append(names, name)
	}
	return "this operator runs without --allow-privileged-fields and accepts none of these: " + strings.Join(names, "; ") +
		". Remove them, or ask a cluster administrator to allow them (docs/privileged-fields.md)"
}

// SetBy returns the guarded fields that a Memcached sets, for an operator whose
// --operand-images are images.
func SetBy(mc *cachev1alpha1.Memcached, images Images) []Field {
	var set []Field
	for _, field := range Fields {
		if field.isSet(mc, images) {
			set = append(set, field)
		}
	}
	return set
}

// Check returns an *Error if a Memcached sets a guarded field.
func Check(mc *cachev1alpha1.Memcached, images Images) error {
	if set := SetBy(mc, images); len(set) > 0 {
		return &Error{set}
	}
	return nil
}
