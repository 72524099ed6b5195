// SPDX-License-Identifier: Apache-2.0

package sanitize

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"unicode/utf8"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
	"sigs.k8s.io/structured-merge-diff/v6/typed"
)

func TestText_EscapesAndTruncates(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("x", MaxBytes)
	for name, test := range map[string]struct{ text, want string }{
		"keeps plain text":                         {`a "b" \n c`, `a "b" \n c`},
		"keeps letters of any script":              {"žluťoučký 記憶 🐎", "žluťoučký 記憶 🐎"},
		"escapes line breaks and tabs":             {"a\nb\r\tc", `a\nb\u000d\tc`},
		"escapes a terminal's control sequence":    {"\x1b[31mred\x07", `\u001b[31mred\u0007`},
		"escapes NUL and DEL":                      {"\x00\x7f", `\u0000\u007f`},
		"escapes C1 controls":                      {"\u0085\u009b", `\u0085\u009b`},
		"escapes what turns the direction":         {"a\u202eb\u2066c", `a\u202eb\u2066c`},
		"escapes what cannot be seen":              {"a\u200bb\ufeff", `a\u200bb\ufeff`},
		"escapes line and paragraph separators":    {"\u2028\u2029", `\u2028\u2029`},
		"escapes tags beyond the basic plane":      {"\U000e0041", `\U000e0041`},
		"escapes bytes that are no UTF-8":          {"a\xff\xfeb\xc3", `a\xff\xfeb\xc3`},
		"keeps the replacement character":          {"\ufffd", "\ufffd"},
		"keeps what just fits":                     {long, long},
		"truncates what is one byte too long":      {long + "y", long[:MaxBytes-3] + "…"},
		"truncates before a character that is cut": {long[:MaxBytes-4] + "žžž", long[:MaxBytes-4] + "…"},
		"truncates before an escape that is cut":   {long[:MaxBytes-5] + "\x00\x00", long[:MaxBytes-5] + "…"},
	} {
		got := Text(test.text)
		if got != test.want {
			t.Errorf("%s: got %q, want %q", name, got, test.want)
		}
		if again := Text(got); again != got {
			t.Errorf("%s: sanitized again it is %q", name, again)
		}
	}
}

func FuzzText(f *testing.F) {
	f.Add("a\n\xff\u202e", 10)
	f.Add(strings.Repeat("ž\x00", 2000), 1024)
	f.Fuzz(func(t *testing.T, text string, limit int) {
		limit = 3 + (limit&0x7fffffff)%2048
		got := TextOf(text, limit)
		if len(got) > limit || !utf8.ValidString(got) || strings.ContainsAny(got, "\n\r\t\x00\x1b\u2028\u202e") {
			t.Errorf("of %q with the limit %d it makes %q", text, limit, got)
		}
		if again := TextOf(got, limit); again != got {
			t.Errorf("%q becomes %q when it is sanitized again", got, again)
		}
	})
}

func invalid(errs ...*field.Error) error {
	return apierrors.NewInvalid(schema.GroupKind{Group: "apps", Kind: "Deployment"}, "cache", errs)
}

func TestMessage_OmitsValues(t *testing.T) {
	t.Parallel()
	path := field.NewPath("spec", "x")
	const prefix = `applying Deployment cache: Deployment.apps "cache" is invalid: spec.x: `
	for name, test := range map[string]struct {
		err  error
		want string
	}{
		"omits text":                    {invalid(field.Invalid(path, "hunter2", "must be shorter")), prefix + "Invalid value: must be shorter"},
		"omits text with colons":        {invalid(field.Invalid(path, `a": hunter2: "b`, "must be: shorter")), prefix + "Invalid value: must be: shorter"},
		"omits a map":                   {invalid(field.Invalid(path, map[string]string{"password": "hunter2: x"}, "is wrong")), prefix + "Invalid value: is wrong"},
		"omits a number":                {invalid(field.Invalid(path, 8675309, "is wrong")), prefix + "Invalid value: is wrong"},
		"omits the value in the detail": {invalid(field.Invalid(path, "hunter2", `no field is called "hunter2"`)), prefix + `Invalid value: no field is called "…"`},
		"omits part of it in the detail": {
			invalid(field.Invalid(path, map[string]any{"a": []string{"hunter2"}}, "hunter2 is unknown")), prefix + "Invalid value: … is unknown",
		},
		"omits a value alone": {invalid(field.Duplicate(path, "hunter2")), prefix + "Duplicate value"},
		"omits what is unsupported": {
			invalid(field.NotSupported(path, "hunter2", []string{"a", "b"})), prefix + `Unsupported value: supported values: "a", "b"`,
		},
		"keeps what is required":  {invalid(field.Required(path, "say it: now")), prefix + "Required value: say it: now"},
		"keeps what is forbidden": {invalid(field.Forbidden(path, "may not be set")), prefix + "Forbidden: may not be set"},
		"joins several": {
			invalid(field.Invalid(path, "hunter2", "a"), field.Invalid(path.Child("y"), "hunter2", "b")), prefix + "Invalid value: a; spec.x.y: Invalid value: b",
		},
		"keeps other answers": {apierrors.NewForbidden(schema.GroupResource{Resource: "pods"}, "a", errors.New("quota")), `applying Deployment cache: pods "a" is forbidden: quota`},
	} {
		err := fmt.Errorf("applying Deployment cache: %w", test.err)
		if got := Message(err); got != test.want {
			t.Errorf("%s: got %q, want %q", name, got, test.want)
		}
		joined := errors.Join(errors.New("first"), reconcile.TerminalError(err))
		if got := Message(joined); strings.Contains(got, "hunter2") {
			t.Errorf("%s: joined with another error it is %q", name, got)
		}
	}
}

func TestError_UnwrapsOriginal(t *testing.T) {
	t.Parallel()
	if Error(nil) != nil {
		t.Error("nil becomes an error")
	}
	err := Error(reconcile.TerminalError(invalid(field.Invalid(field.NewPath("x"), "hunter2\n", "is wrong"))))
	if !errors.Is(err, reconcile.TerminalError(nil)) || !apierrors.IsInvalid(err) {
		t.Errorf("it is no terminal, invalid error any more: %v", err)
	}
	for _, format := range []string{"%v", "%+v", "%s"} {
		if text := fmt.Sprintf(format, err); strings.Contains(text, "hunter2") {
			t.Errorf("%s shows the value: %s", format, text)
		}
	}
}

func TestSchema_OmitsValuesAndGoTypes(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		err  error
		want string
	}{
		"says what type is expected": {
			typed.ValidationErrors{{Path: ".spec.a", ErrorMessage: `expected string, got &value.valueUnstructured{Value:"x: y"}`}}, "spec.a: expected a string",
		},
		"says number for numeric": {typed.ValidationErrors{{Path: ".a", ErrorMessage: "expected numeric (int or float), got string"}}, "a: expected a number"},
		"names an unknown field":  {typed.ValidationErrors{{Path: ".spec.sise", ErrorMessage: "field not declared in schema"}}, "spec.sise: unknown field"},
		"names an element's index": {
			typed.ValidationErrors{{Path: ".a", ErrorMessage: `element 3: associative list with keys has an element that omits all key fields ["name"] (and doesn't have default values for any key fields)`}},
			"a: element 3 lacks the key of this list, name",
		},
		"omits the key of a duplicate": {typed.ValidationErrors{{Path: ".a", ErrorMessage: `duplicate entries for key ["hunter2"]`}}, "a: two elements of this list have the same key"},
		"sorts":                        {typed.ValidationErrors{{Path: ".b", ErrorMessage: "field not declared in schema"}, {Path: ".a", ErrorMessage: "x hunter2"}}, "a: it does not fit the schema; b: unknown field"},
		"explains a quantity":          {errors.New("quantities must match the regular expression '^x$'"), "a quantity is malformed; write it like 500m, 2 or 1Gi"},
		"explains a time":              {errors.New(`parsing time "hunter2" as "2006"`), "a time is malformed; write it like 2006-01-02T15:04:05Z"},
		"keeps other errors":           {errors.New("other"), "other"},
	} {
		if got := Schema(test.err).Error(); got != test.want {
			t.Errorf("%s: got %q, want %q", name, got, test.want)
		}
	}
	if err := Schema(nil); err != nil {
		t.Errorf("nil becomes %v", err)
	}
}
