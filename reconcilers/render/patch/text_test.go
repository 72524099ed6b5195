// SPDX-License-Identifier: Apache-2.0

package patch

import (
	"fmt"
	"reflect"
	"strings"
	"testing"

	kjson "sigs.k8s.io/json"
	"sigs.k8s.io/yaml"
)

// aliasBomb returns a text that would expand to nine to the power of levels values.
func aliasBomb(levels int) string {
	bomb := "a0: &a0 [x, x, x, x, x, x, x, x, x]\n"
	for i := 1; i < levels; i++ {
		bomb += fmt.Sprintf("a%d: &a%d [%s*a%d]\n", i, i, strings.Repeat(fmt.Sprintf("*a%d, ", i-1), 8), i-1)
	}
	return bomb
}

func TestParseText_Rejects(t *testing.T) {
	t.Parallel()
	nested := func(levels int) string { return strings.Repeat("[", levels) + strings.Repeat("]", levels) }
	for name, test := range map[string]struct{ text, want string }{
		"rejects an alias bomb":                {aliasBomb(9), "line 1: anchors (&name) are refused; repeat the value"},
		"rejects an anchor that is not used":   {"a: 1\nb: &b [x]", "line 2: anchors (&name) are refused; repeat the value"},
		"rejects an anchor on a key":           {"&a b: 1", "line 1: anchors (&name) are refused; repeat the value"},
		"rejects an anchor on the whole":       {"&a\nb: 1", "line 1: anchors (&name) are refused; repeat the value"},
		"rejects an alias of nothing":          {"a: *hunter2", "aliases (*name) are refused; repeat the value"},
		"rejects an alias of an outer map":     {"a: &a\n  b: *a", "line 1: anchors (&name) are refused; repeat the value"},
		"rejects a tag of its own":             {"a: !secret x", "line 1: tags (!name) are refused; quote strings"},
		"rejects a tag that makes text":        {"a:\n  b: !!str 5", "line 2: tags (!name) are refused; quote strings"},
		"rejects a tag that makes binary":      {"a: !!binary aGk=", "line 1: tags (!name) are refused; quote strings"},
		"rejects a tag on a map":               {"a: !!set {x}", "line 1: tags (!name) are refused; quote strings"},
		"rejects a merge key":                  {"a:\n  <<: {b: 1}", "line 2: merge keys (<<) are refused; repeat the fields"},
		"rejects a second document":            {"a: 1\n---\nb: 2", "the patch contains a second document (after ---); make it a separate patch"},
		"rejects a second document of nothing": {"a: 1\n---\n", "the patch contains a second document (after ---); make it a separate patch"},
		"rejects a broken second document":     {"a: 1\n---\n[", "the patch contains a second document (after ---); make it a separate patch"},
		"rejects a key twice":                  {"a: 1\nb: 2\na: 3", `line 3: the key "a" is already set in this map`},
		"rejects a key twice in JSON":          {`{"a": {"b": 1, "b": 2}}`, `line 1: the key "b" is already set in this map`},
		"rejects a number as a key":            {"1: a", "line 1: the key 1 is not a string in YAML; quote it"},
		"rejects a boolean as a key":           {"a: {y: b}", "line 1: the key y is not a string in YAML; quote it"},
		"rejects null as a key":                {"~: b", "line 1: the key ~ is not a string in YAML; quote it"},
		"rejects a list as a key":              {"[a]: b", "line 1: a key is a map or a list; keys must be strings"},
		"rejects a map as a key":               {"? {a: b}\n: c", "line 1: a key is a map or a list; keys must be strings"},
		"rejects infinity":                     {"a: -.inf", "line 1: infinity and NaN are not valid in JSON; quote strings"},
		"rejects NaN":                          {"a: .NaN", "line 1: infinity and NaN are not valid in JSON; quote strings"},
		"rejects a number above 64 bits":       {"a: 9223372036854775808", "line 1: a number exceeds a signed 64-bit integer; quote strings"},
		"rejects 33 levels":                    {nested(33), "line 1: maps and lists are nested more than 32 deep"},
		"rejects 500 levels":                   {nested(500), "line 1: maps and lists are nested more than 32 deep"},
		"rejects nothing":                      {"", "the patch is empty"},
		"rejects a comment alone":              {"# hunter2", "the patch is empty"},
		"rejects broken YAML":                  {"a: [b", "it cannot be read as YAML: line 1: did not find expected ',' or ']'"},
		"rejects a tab":                        {"a:\n\tb: 1", "it cannot be read as YAML: line 2: found character that cannot start any token"},
		"rejects a control character":          {"a: \x01", "it cannot be read as YAML: control characters are not allowed"},
		"rejects bytes that are no UTF-8":      {"a: \xff", "it cannot be read as YAML: invalid leading UTF-8 octet"},
		"rejects an unknown directive":         {"%YAML 3.0\n---\na: 1", "it cannot be read as YAML: found incompatible YAML document"},
		"rejects 1,001 keys and values":        {"[" + strings.Repeat("a,", 1000) + "]", "the patch has 1001 keys and values, which is more than the maximum of 1000; split it"},
		"rejects 16,385 bytes":                 {"a: " + strings.Repeat("x", maxText-2), "the patch has 16385 bytes, which is more than the maximum of 16384; split it or remove comments"},
		"rejects 32,770 bytes of JSON":         {`a: "` + strings.Repeat(`\0`, 5460) + `xx"`, "the patch has 32770 bytes as JSON, which is more than the maximum of 32768; split it"},
	} {
		value, err := parseText(test.text)
		if err == nil {
			t.Errorf("%s: it is accepted as %v", name, value)
		} else if err.Error() != test.want {
			t.Errorf("%s: the error is\n%q, want\n%q", name, err, test.want)
		}
	}
}

func TestParseText_MatchesKubernetes(t *testing.T) {
	t.Parallel()
	for _, text := range []string{
		"{}", "[]", "a: b", "a: {b: [c, {d: e}]}", `{"a": "b"}`, "--- \na: 1\n...\n", "%YAML 1.1\n---\na: 1", "\ufeffa: 1",
		"a: [on, off, yes, no, y, n, true, False, TRUE, On, oN]", "a: ['on', \"off\"]", "a: [~, null, Null, nULL, ]", "a:\nb:",
		"a: [0, -0, +1, 1_000, 0x1f, -0x1f, 010, 0o17, 0b101, -0b101, 09, 1000650000, 9223372036854775807, -9223372036854775808]",
		"a: [1.5, .5, -.5, 1., 1e3, 1E-3, 1e400, 1.0, 1e18, 1e19, 9007199254740993.0, 1_0.5, ._5, .1e]",
		"a: [1:30, 2026-01-01, 2026-01-01T00:00:00Z, 1.2.3, 1Gi, 100m, +, -, ., .., -x, 0x, 0b2, 1__0, _1, 1_]",
		"a: |\n  text\n  more\nb: >-\n  folded\n  text\n", "a: text\n  on\n  two lines", "a: 'it''s'\nb: \"\\u2028\\x00\"", "? a\n: b",
		`"<<": {a: b}`, "a: <<", "a: '*b'", "a: 'x & y' # &c", "a: =", "{a, b: }",
		strings.Repeat("[", 32) + strings.Repeat("]", 32),
	} {
		mustReadAsKubernetes(t, text)
	}
}

// mustReadAsKubernetes compares parseText with sigs.k8s.io/yaml, by which kubectl and the API
// server read YAML.
func mustReadAsKubernetes(t *testing.T, text string) {
	t.Helper()
	got, err := parseText(text)
	if err != nil {
		t.Errorf("%q is rejected: %v", text, err)
		return
	}
	asJSON, err := yaml.YAMLToJSONStrict([]byte(text))
	if err != nil {
		t.Errorf("%q is read as %v, and rejected by sigs.k8s.io/yaml: %v", text, got, err)
		return
	}
	var want any
	noError(t, kjson.UnmarshalCaseSensitivePreserveInts(asJSON, &want))
	if !reflect.DeepEqual(got, want) {
		t.Errorf("%q is read as %#v, want %#v", text, got, want)
	}
}

// FuzzParseText searches for a text on which parseText panics, differs from Kubernetes, or
// allocates much memory.
func FuzzParseText(f *testing.F) {
	for _, text := range []string{
		"a: &a [*a]", "a: 1\n---\nb: 2", "<<: {a: b}", "a: !!binary x", "? [a]\n: b", "- {op: add, path: /spec, value: 1e3}", "a: |+2\n   x\n",
		"%TAG ! tag:x,2000:\n---\na: b", "a: \"\\\n  b\"", "# c\na: b # d\n# e", "[[[[[[{a: {b: [c]}}]]]]]]", aliasBomb(6), "a: .1_0", "\"a\": 0b_1",
	} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		var err error
		used := allocated(func() { _, err = parseText(text) })
		if most := uint64(128<<10 + 2<<10*min(len(text), maxText)); used > most {
			t.Errorf("%d bytes of text take %d bytes of memory, more than %d", len(text), used, most)
		}
		if err == nil {
			mustReadAsKubernetes(t, text)
		}
	})
}
