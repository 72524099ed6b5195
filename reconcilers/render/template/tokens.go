// SPDX-License-Identifier: Apache-2.0

package template

import (
	"fmt"
	"regexp"
	"strings"
)

// tokens is an input with tokens in place of the strings that a build could read as something else: one that YAML reads
// as another type without quotes, such as true or 1e3, since kustomize drops the quotes where a replacement creates a
// field; and one that looks like the name of a template.
type tokens struct {
	input Input
	// prefix begins every token and is part of no string of the input.
	prefix string
	// pairs holds each token, followed by its string; replacer replaces them.
	pairs    []string
	replacer *strings.Replacer
}

func (s *Set) newTokens(in Input) *tokens {
	t := &tokens{input: in.copy(), prefix: "token"}
	for _, m := range in.fields() {
		WalkStrings(m, nil, func(_ []any, text string) {
			for strings.Contains(text, t.prefix) {
				t.prefix += "n"
			}
		})
	}
	isName := map[string]bool{}
	for _, id := range s.objects {
		isName[id.Name] = id.Name != MainName // It is also a part of an image's name, which a patch may select by.
	}
	ambiguous := func(text string) bool {
		return typedText.MatchString(text) || isName[text] || strings.Contains(text, NamePrefix)
	}
	t.replace(t.input.Memcached["metadata"], ambiguous)
	t.replace(t.input.Memcached["spec"], ambiguous)
	// A target of the numbers among the Values may be a number.
	t.replace(t.input.Values, func(text string) bool { return ambiguous(text) && !digits.MatchString(text) })
	t.replacer = strings.NewReplacer(t.pairs...)
	return t
}

// replace replaces the ambiguous strings in fields by tokens.
func (t *tokens) replace(fields any, ambiguous func(string) bool) {
	m, _ := fields.(map[string]any)
	WalkStrings(m, nil, func(path []any, text string) {
		if !ambiguous(text) {
			return
		}
		token := fmt.Sprintf("%s-%04d-", t.prefix, len(t.pairs)/2)
		t.pairs = append(t.pairs, token, text)
		setAt(m, path, token)
	})
}

// restored returns text with the strings in place of their tokens.
func (t *tokens) restored(text string) string {
	if !strings.Contains(text, t.prefix) {
		return text
	}
	return t.replacer.Replace(text)
}

var (
	// typedText matches every string that a version of YAML reads, without quotes, as a
	// number, a date, a boolean, null or a merge key; and some others.
	typedText = regexp.MustCompile(`(?i)^([-+.~=0-9].*|<<|true|false|yes|no|on|off|y|n|null|)$`)
	// digits matches strings that may be written where a number is expected.
	digits = regexp.MustCompile(`^[0-9]+$`)
)
