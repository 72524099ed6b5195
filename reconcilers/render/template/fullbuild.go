// SPDX-License-Identifier: Apache-2.0

package template

import (
	"fmt"
	"maps"
	"regexp"
	"strings"
)

// FullBuild runs kustomize over the templates with in as resources. It is the definition
// of the objects for in; tests compare [Prebuilt.Objects] with it. A string that YAML
// reads as another type without quotes, such as true or 1e3, is replaced by a token
// during the build: kustomize drops the quotes where a replacement creates a field.
func (p *Prebuilt) FullBuild(in Input) ([]map[string]any, error) {
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

// build runs kustomize over the templates with in as resources that are not emitted.
// more is appended to the kustomization on top.
func (p *Prebuilt) build(in Input, more string) ([]map[string]any, error) {
	tree := maps.Clone(p.tree)
	if err := in.addTo(tree); err != nil {
		return nil, err
	}
	return Build(tree, p.root+more)
}

// tokens is an input with tokens in place of some strings.
type tokens struct {
	input Input
	// prefix begins every token and is part of no string of the input.
	prefix string
	// pairs holds each token, followed by its string.
	pairs []string
}

func newTokens(in Input) *tokens {
	t := &tokens{input: in.copy(), prefix: "token"}
	for _, m := range in.fields() {
		WalkStrings(m, nil, func(_ []any, s string) {
			for strings.Contains(s, t.prefix) {
				t.prefix += "n"
			}
		})
	}
	t.replace(t.input.Memcached["metadata"], nil)
	t.replace(t.input.Memcached["spec"], nil)
	// A target of the numbers among the Values may be a number.
	t.replace(t.input.Values, digits)
	return t
}

// replace replaces strings in fields by tokens, except those that except matches.
func (t *tokens) replace(fields any, except *regexp.Regexp) {
	m, _ := fields.(map[string]any)
	WalkStrings(m, nil, func(path []any, s string) {
		if !typedText.MatchString(s) || except != nil && except.MatchString(s) {
			return
		}
		token := fmt.Sprintf("%s-%04d-", t.prefix, len(t.pairs)/2)
		t.pairs = append(t.pairs, token, s)
		SetAt(m, path, token)
	})
}

// restore replaces the tokens in object by their strings.
func (t *tokens) restore(object map[string]any) {
	if len(t.pairs) == 0 {
		return
	}
	replacer := strings.NewReplacer(t.pairs...)
	WalkStrings(object, nil, func(path []any, s string) {
		if strings.Contains(s, t.prefix) {
			SetAt(object, path, replacer.Replace(s))
		}
	})
}

// typedText matches every string that a version of YAML reads, without quotes, as a
// number, a date, a boolean, null or a merge key; and some others.
var typedText = regexp.MustCompile(`(?i)^([-+.~=0-9].*|<<|true|false|yes|no|on|off|y|n|null|)$`)
