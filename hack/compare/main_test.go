// SPDX-License-Identifier: Apache-2.0

package main

import (
	"strings"
	"testing"
)

func TestDifference_IgnoresDescriptionsOnly(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct{ before, after, want string }{
		"equal":                                 {`a: {b: [1, x]}`, `a: {b: [1, x]}`, ""},
		"another description":                   {`a: {description: one}`, `a: {description: two}`, ""},
		"a new description":                     {`a: {}`, `a: {description: two}`, ""},
		"a field that is called description":    {`a: {description: {type: string}}`, `a: {description: {type: integer}}`, ".a.description.type"},
		"a removed field of that name":          {`a: {description: {type: string}}`, `a: {}`, ".a.description"},
		"another value":                         {`a: {b: [1, 2]}`, `a: {b: [1, 3]}`, ".a.b[1]"},
		"two other values":                      {`a: {b: 1, c: 2}`, `a: {b: 2, c: 3}`, ".a.b .a.c"},
		"a removed key":                         {`a: {b: 1, c: 2}`, `a: {b: 1}`, ".a.c"},
		"a new key":                             {`a: {b: 1}`, `a: {b: 1, c: 2}`, ".a.c"},
		"a longer list":                         {`a: [1]`, `a: [1, 2]`, ".a"},
		"another type of value":                 {`a: {b: 1}`, `a: [1]`, ".a"},
		"another number of documents in a file": {"a: 1", "a: 1\n---\nb: 1", "the content"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			before, err := documents([]byte(test.before))
			if err != nil {
				t.Fatal(err)
			}
			after, err := documents([]byte(test.after))
			if err != nil {
				t.Fatal(err)
			}
			var got []string
			if len(before) == 1 && len(after) == 1 {
				got = differences(before[0], after[0], "")
			} else {
				got = differences(before, after, "")
			}
			if strings.Join(got, " ") != test.want {
				t.Errorf("%q, want %q", got, test.want)
			}
		})
	}
}
