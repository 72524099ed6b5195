// SPDX-License-Identifier: Apache-2.0

package sanitize

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"sigs.k8s.io/structured-merge-diff/v6/typed"
)

// Error returns an error with the text of Message that wraps err. It returns nil for nil.
func Error(err error) error {
	if err == nil {
		return nil
	}
	return &sanitized{Message(err), err}
}

type sanitized struct {
	text string
	err  error
}

func (e *sanitized) Error() string { return e.text }

func (e *sanitized) Unwrap() error { return e.err }

// Message returns the Text of err without the values that the API server quotes when it rejects an object as
// invalid.
func Message(err error) string {
	text := err.Error()
	for _, answer := range answers(err, nil) {
		text = strings.ReplaceAll(text, answer.Error(), withoutValues(answer.Status()))
	}
	return Text(text)
}

// answer is an error that the API server returned.
type answer interface {
	error
	apierrors.APIStatus
}

// answers appends the answers that err wraps, in all branches.
func answers(err error, found []answer) []answer {
	switch e := err.(type) { //nolint:errorlint // errors.As would find the first one of several only
	case answer:
		return append(found, e)
	case interface{ Unwrap() error }:
		if inner := e.Unwrap(); inner != nil {
			found = answers(inner, found)
		}
	case interface{ Unwrap() []error }:
		for _, inner := range e.Unwrap() {
			found = answers(inner, found)
		}
	}
	return found
}

// withoutValues returns the message of status, rebuilt from its causes if they are errors of fields.
func withoutValues(status metav1.Status) string {
	if status.Reason != metav1.StatusReasonInvalid || status.Details == nil || len(status.Details.Causes) == 0 {
		return status.Message
	}
	var causes []string
	for _, cause := range status.Details.Causes {
		if cause.Field == "" {
			// Not an error of a field: the message of an admission policy.
			return status.Message
		}
		causes = append(causes, cause.Field+": "+withoutValue(cause))
	}
	kind := status.Details.Kind
	if status.Details.Group != "" {
		kind += "." + status.Details.Group
	}
	return fmt.Sprintf("%s %q is invalid: %s", kind, status.Details.Name, strings.Join(causes, "; "))
}

// withoutValue removes the value from a cause's message, which reads
// "Invalid value: <value>: <detail>" for most types.
func withoutValue(cause metav1.StatusCause) string {
	noValue := []field.ErrorType{field.ErrorTypeRequired, field.ErrorTypeForbidden, field.ErrorTypeTooLong, field.ErrorTypeTooShort, field.ErrorTypeInternal}
	if slices.Contains(noValue, field.ErrorType(cause.Type)) {
		return cause.Message
	}
	kind, rest, found := strings.Cut(cause.Message, ": ")
	if !found {
		return cause.Message
	}
	var value any
	decoder := json.NewDecoder(strings.NewReader(rest))
	end := 0
	if quoted, err := strconv.QuotedPrefix(rest); err == nil {
		end = len(quoted)
		value, _ = strconv.Unquote(quoted)
	} else if decoder.Decode(&value) == nil {
		end = int(decoder.InputOffset())
	}
	if detail, found := strings.CutPrefix(rest[end:], ": "); found && end > 0 {
		return kind + ": " + omit(value, detail)
	}
	return kind
}

// omit removes the strings in value from detail, which may quote them again. Short strings are kept, since they
// are more likely part of the message.
func omit(value any, detail string) string {
	texts := textsIn(value, nil)
	slices.SortFunc(texts, func(a, b string) int {
		return cmp.Or(len(b)-len(a), strings.Compare(a, b))
	})
	for _, text := range texts {
		if len(text) >= 4 {
			detail = strings.ReplaceAll(detail, text, ellipsis)
		}
	}
	return detail
}

// textsIn appends the strings in value to texts.
func textsIn(value any, texts []string) []string {
	switch v := value.(type) {
	case string:
		texts = append(texts, v)
	case map[string]any:
		for _, item := range v {
			texts = textsIn(item, texts)
		}
	case []any:
		for _, item := range v {
			texts = textsIn(item, texts)
		}
	}
	return texts
}

// FieldError is what is wrong with a field, without its value.
type FieldError struct {
	// Path is the path of the field, such as spec.containers[0]; empty if it is not known.
	Path, Message string
}

// Fields returns the schema errors in err, sorted, without the values and Go types that structured-merge-diff quotes. Another
// error is one of no path; there are none for nil.
func Fields(err error) (fields []FieldError) {
	found, ok := errors.AsType[typed.ValidationErrors](err)
	if !ok && err != nil {
		return []FieldError{{"", conversion(err)}}
	}
	for _, e := range found {
		fields = append(fields, FieldError{strings.TrimPrefix(e.Path, "."), schemaText(e.ErrorMessage)})
	}
	// The check iterates over maps.
	slices.SortFunc(fields, func(a, b FieldError) int {
		return cmp.Or(strings.Compare(a.Path, b.Path), strings.Compare(a.Message, b.Message))
	})
	return fields
}

// Schema returns the Fields of err as one error; nil for nil.
func Schema(err error) error {
	var texts []string
	for _, field := range Fields(err) {
		texts = append(texts, strings.TrimPrefix(field.Path+": "+field.Message, ": "))
	}
	if len(texts) == 0 {
		return nil
	}
	return errors.New(strings.Join(texts, "; "))
}

// conversion returns a readable message of a value that cannot be converted to its Go type.
func conversion(err error) string {
	switch {
	case strings.Contains(err.Error(), "quantities must match the regular expression"), strings.Contains(err.Error(), "unable to parse quantity"):
		return "a quantity is malformed; write it like 500m, 2 or 1Gi"
	case strings.Contains(err.Error(), "parsing time"):
		return "a time is malformed; write it like 2006-01-02T15:04:05Z"
	}
	return err.Error()
}

// schemaErrors maps the messages of structured-merge-diff, which may end with a value, to messages without
// values.
var schemaErrors = []struct {
	pattern *regexp.Regexp
	text    string
}{
	{regexp.MustCompile(`field not declared in schema`), "unknown field"},
	{regexp.MustCompile(`duplicate entries for key`), "two elements of this list have the same key"},
	{regexp.MustCompile(`(?s)element (\d+): .*omits all key fields \["(.*)"\]`), "element $1 lacks the key of this list, $2"},
	{regexp.MustCompile(`(?s)element (\d+): .*`), "element $1 does not fit the schema"},
	{regexp.MustCompile(`expected (list|map|string|boolean)`), "expected a $1"},
	{regexp.MustCompile(`expected numeric`), "expected a number"},
	{regexp.MustCompile(`expected any scalar`), "expected a string, a number or a boolean"},
}

// schemaText returns the message for a message of structured-merge-diff.
func schemaText(message string) string {
	for _, e := range schemaErrors {
		if match := e.pattern.FindStringSubmatchIndex(message); match != nil {
			return string(e.pattern.ExpandString(nil, e.text, message, match))
		}
	}
	return "it does not fit the schema"
}
