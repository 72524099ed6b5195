// SPDX-License-Identifier: Apache-2.0

package main

import (
	"os"
	"strings"
	"testing"
)

func TestReference_RequiresExamples(t *testing.T) {
	crd, err := os.ReadFile("../../" + definition)
	if err != nil {
		t.Fatal(err)
	}
	for name, test := range map[string]struct{ example, want string }{
		"rejects a field without an example": {"spec: {size: 1}", "the example has no field image"},
		"rejects an unknown field":           {"spec: {size: 1, sizes: 2}", `unknown field "sizes"`},
	} {
		t.Run(name, func(t *testing.T) {
			if _, err := reference(crd, []byte(test.example)); err == nil || !strings.Contains(err.Error(), test.want) {
				t.Errorf("the error is %v, want %q", err, test.want)
			}
		})
	}
}
