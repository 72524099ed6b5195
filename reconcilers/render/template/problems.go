// SPDX-License-Identifier: Apache-2.0

package template

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"
)

// Problem is a mistake in a template file, or a part of one that has no effect.
type Problem struct {
	// File is the path in the tree, empty if the problem is in no single file.
	File string
	// Line is the line in File, 0 if it is not known.
	Line int
	// Text names the field and says what to do.
	Text string
	// Set names the components with which the build has the problem; empty for those of an
	// empty Memcached.
	Set string
}

// Error returns the problem in one line.
func (p Problem) Error() string {
	text := strings.ReplaceAll(strings.TrimSpace(p.Text), "\n", " ")
	if p.Set != "" {
		text += " (" + p.Set + ")"
	}
	switch {
	case p.File == "":
		return text
	case p.Line == 0:
		return p.File + ": " + text
	default:
		return fmt.Sprintf("%s:%d: %s", p.File, p.Line, text)
	}
}

// Problems are problems by file and line, each once.
type Problems []Problem

// Error returns a line for each problem, and their number unless there is one.
func (p Problems) Error() string {
	if len(p) == 1 {
		return p[0].Error()
	}
	lines := []string{fmt.Sprintf("%d problems:", len(p))}
	for _, problem := range p {
		lines = append(lines, problem.Error())
	}
	return strings.Join(lines, "\n")
}

// Err returns p as an error, nil if it is empty.
func (p Problems) Err() error {
	if len(p) == 0 {
		return nil
	}
	return p
}

// Sorted returns p by file and line. Of problems that differ in Set only, it keeps the first.
func (p Problems) Sorted() Problems {
	var result Problems
	for _, problem := range p {
		if !slices.ContainsFunc(result, func(other Problem) bool {
			return other.File == problem.File && other.Line == problem.Line && other.Text == problem.Text
		}) {
			result = append(result, problem)
		}
	}
	slices.SortStableFunc(result, func(a, b Problem) int {
		return cmp.Or(strings.Compare(a.File, b.File), cmp.Compare(a.Line, b.Line), strings.Compare(a.Text, b.Text))
	})
	return result
}

// Problems returns the problems that errs report. The message of an error begins with the file,
// if any; kind and name of an object, if any; and the path of a field, from which the line is found.
func (t Tree) Problems(errs ...error) Problems {
	var problems Problems
	for _, err := range errs {
		for _, err := range unjoin(err) {
			if found, ok := errors.AsType[Problem](err); ok {
				problems = append(problems, found)
				continue
			}
			if found, ok := errors.AsType[Problems](err); ok {
				problems = append(problems, found...)
				continue
			}
			problems = append(problems, t.problem(err.Error()))
		}
	}
	return problems.Sorted()
}

// unjoin returns the errors that errors.Join joined, err itself if it is another one, and none for nil.
func unjoin(err error) []error {
	if err == nil {
		return nil
	}
	joined, ok := err.(interface{ Unwrap() []error })
	if !ok {
		return []error{err}
	}
	var errs []error
	for _, inner := range joined.Unwrap() {
		errs = append(errs, unjoin(inner)...)
	}
	return errs
}

// prefixed returns errs, each with prefix and a colon before it.
func prefixed(prefix string, errs ...error) []error {
	var result []error
	for _, err := range errs {
		for _, inner := range unjoin(err) {
			result = append(result, fmt.Errorf("%s: %w", prefix, inner))
		}
	}
	return result
}

// Prefixed returns err with prefix and a colon before it, and before each error that it joins.
func Prefixed(prefix string, err error) error {
	return errors.Join(prefixed(prefix, err)...)
}
