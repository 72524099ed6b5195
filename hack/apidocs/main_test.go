// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"os"
	"strings"
	"testing"
)

func crd(t *testing.T) []byte {
	t.Helper()
	t.Chdir("../..")
	content, err := os.ReadFile(definition)
	if err != nil {
		t.Fatal(err)
	}
	return content
}

func TestReference_IsFresh(t *testing.T) {
	definition := crd(t)
	want, err := reference(definition, example)
	if err != nil {
		t.Fatal(err)
	}
	got, err := os.ReadFile(page)
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(got, want) {
		t.Errorf("%s is stale; run: make manifests", page)
	}
}

func TestReference_RequiresExamples(t *testing.T) {
	definition := crd(t)
	for name, test := range map[string]struct{ example, want string }{
		"rejects a field without an example": {"size: 1", "the example has no field image"},
		"rejects an unknown field":           {"size: 1\nsizes: 2", `unknown field "sizes"`},
	} {
		t.Run(name, func(t *testing.T) {
			if _, err := reference(definition, []byte(test.example)); err == nil || !strings.Contains(err.Error(), test.want) {
				t.Errorf("the error is %v, want %q", err, test.want)
			}
		})
	}
}
