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
	// Item is the item of a list of the file that has the problem, such as patches[0]; it may be empty.
	Item string
	// Object is the kind and the name of the object that has the problem, such as Deployment memcached; it may be empty.
	Object string
	// Path is the path of the field that has the problem; it may be empty.
	Path string
	// Message says what is wrong and what to do.
	Message string
	// Set names the components with which the build has the problem; empty for those of an
	// empty Memcached.
	Set string
}

// Error returns the problem in one line.
func (p Problem) Error() string {
	text := strings.ReplaceAll(strings.TrimSpace(p.text()), "\n", " ")
	if p.Set != "" {
		text += " (" + p.Set + ")"
	}
	file := p.File
	if p.Line > 0 {
		file += fmt.Sprintf(":%d", p.Line)
	}
	return joined(file, text)
}

// text returns the problem without its file.
func (p Problem) text() string { return joined(p.Item, p.Object, p.Path, p.Message) }

// joined returns those of parts that are not empty, with colons between them.
func joined(parts ...string) string {
	return strings.Join(slices.DeleteFunc(parts, func(part string) bool { return part == "" }), ": ")
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
			return other.File == problem.File && other.Line == problem.Line && other.text() == problem.text()
		}) {
			result = append(result, problem)
		}
	}
	slices.SortStableFunc(result, func(a, b Problem) int {
		return cmp.Or(strings.Compare(a.File, b.File), cmp.Compare(a.Line, b.Line), strings.Compare(a.text(), b.text()))
	})
	return result
}

// Problems returns the problems that errs are or join, with their lines.
func (t Tree) Problems(errs ...error) Problems {
	problems := problemsIn(errs...)
	for i := range problems {
		problems[i] = t.located(problems[i])
	}
	return problems.Sorted()
}

// problemsIn returns copies of the problems that errs are or join. Another error is a problem of no file.
func problemsIn(errs ...error) (problems Problems) {
	for _, err := range errs {
		if several, ok := err.(interface{ Unwrap() []error }); ok {
			problems = append(problems, problemsIn(several.Unwrap()...)...)
		} else if found, ok := errors.AsType[Problems](err); ok {
			problems = append(problems, found...)
		} else if found, ok := errors.AsType[Problem](err); ok {
			problems = append(problems, found)
		} else if err != nil {
			problems = append(problems, Problem{Message: err.Error()})
		}
	}
	return problems
}

// In returns the problems that errs are or join as those of file, unless they name another one, and of an item of it if
// they name none; nil if there are none.
func In(file, item string, errs ...error) error {
	problems := problemsIn(errs...)
	for i := range problems {
		problems[i].File = cmp.Or(problems[i].File, file)
		problems[i].Item = cmp.Or(problems[i].Item, item)
	}
	return problems.Err()
}

// OfObject returns the problems that errs are or join as those of an object; nil if there are none.
func OfObject(kind, name string, errs ...error) error {
	problems := problemsIn(errs...)
	for i := range problems {
		problems[i].Object = kind + " " + name
	}
	return problems.Err()
}
