// SPDX-License-Identifier: Apache-2.0

package render

import (
	"fmt"
	"regexp"
	"strings"
)

// fullBuild runs kustomize over everything, with in as resources. A string that YAML
// without quotes reads as another type, such as true or 1e3, travels as a token:
// kustomize forgets the quotes where a replacement creates a field.
func (p *prebuilt) fullBuild(in input) ([]map[string]any, error) {
	t := newTokens(in)
	objects, err := p.build(t.input, "")
	if err != nil {
		return nil, err
	}
	for _, object := range objects {
		t.restore(object)
	}
	return objects, nil
}

var digits = regexp.MustCompile(`^[0-9]+$`)

// tokens is an input with tokens in place of some strings, and what they stand for.
type tokens struct {
	input input
	// prefix begins every token, and is a part of no string of the input.
	prefix string
	// pairs are each token and its string.
	pairs []string
}

func newTokens(in input) *tokens {
	t := &tokens{input: in.copy(), prefix: "token"}
	for _, m := range in.fields() {
		walkStrings(m, nil, func(_ []any, s string) {
			for strings.Contains(s, t.prefix) {
				t.prefix += "n"
			}
		})
	}
	t.replace(t.input.memcached["metadata"], nil)
	t.replace(t.input.memcached["spec"], nil)
	// The numbers among the Values may go where a number belongs.
	t.replace(t.input.values, digits)
	return t
}

// replace puts tokens in place of strings in fields, but not of those that except
// matches.
func (t *tokens) replace(fields any, except *regexp.Regexp) {
	m, _ := fields.(map[string]any)
	walkStrings(m, nil, func(path []any, s string) {
		if !typedText.MatchString(s) || except != nil && except.MatchString(s) {
			return
		}
		token := fmt.Sprintf("%s-%04d-", t.prefix, len(t.pairs)/2)
		t.pairs = append(t.pairs, token, s)
		setAt(m, path, token)
	})
}

// restore puts the strings back for which tokens stand in object.
func (t *tokens) restore(object map[string]any) {
	if len(t.pairs) == 0 {
		return
	}
	replacer := strings.NewReplacer(t.pairs...)
	walkStrings(object, nil, func(path []any, s string) {
		if strings.Contains(s, t.prefix) {
			setAt(object, path, replacer.Replace(s))
		}
	})
}

// typedText matches every string that some version of YAML reads, without quotes, as a
// number, a date, a boolean, null or a merge key; and some more.
var typedText = regexp.MustCompile(`(?i)^([-+.~=0-9].*|<<|true|false|yes|no|on|off|y|n|null|)$`)
