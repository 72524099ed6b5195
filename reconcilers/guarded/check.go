// SPDX-License-Identifier: Apache-2.0

package guarded

import (
	"strings"

	cachev1alpha1 "github.com/example/memcached-operator/apis/v1alpha1"
)

// Error reports that a Memcached sets privileged fields and the operator runs without
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
		". Remove them, or ask a cluster administrator to allow them (docs/user/privileged-fields.md)"
}

// SetBy returns the privileged fields that mc sets. images are those of --operand-images.
func SetBy(mc *cachev1alpha1.Memcached, images Images) []Field {
	var set []Field
	for _, field := range Fields {
		if field.isSet(mc, images) {
			set = append(set, field)
		}
	}
	return set
}

// Check returns an *Error if mc sets a privileged field.
func Check(mc *cachev1alpha1.Memcached, images Images) error {
	if set := SetBy(mc, images); len(set) > 0 {
		return &Error{set}
	}
	return nil
}
