// SPDX-License-Identifier: Apache-2.0

// Command figures prints the figures that this repository keeps to, each with its goal: lengths
// of functions and files, test code beside production code, golden files and the README.
//
// Production code is the Go code of the operator, test code that of all _test.go files and of
// test/. Programs under hack/ are development tools and stand apart. Generated files do not
// count. A line of code is one with a token on it: neither blank nor only a comment.
package main

import (
	"cmp"
	"errors"
	"fmt"
	"go/ast"
	"go/parser"
	"go/scanner"
	"go/token"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path"
	"slices"
	"strings"
)

func main() {
	if err := run(os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, "figures:", err)
		os.Exit(1)
	}
}

func run(out io.Writer) error {
	list, err := exec.Command("git", "ls-files", "--cached", "--others", "--exclude-standard").Output()
	if err != nil {
		return fmt.Errorf("listing the files: %w", err)
	}
	var production, tests group
	golden := 0
	for name := range strings.Lines(string(list)) {
		name = strings.TrimSpace(name)
		isGo := strings.HasSuffix(name, ".go")
		isGolden := strings.Contains(name, "/testdata/golden")
		if !isGo && !isGolden {
			continue
		}
		content, err := os.ReadFile(name)
		if errors.Is(err, fs.ErrNotExist) { // deleted and not committed yet
			continue
		}
		if err != nil {
			return err
		}
		switch {
		case isGolden:
			golden += lines(content)
			err = nil
		case isGenerated(name, content):
		case strings.HasSuffix(name, "_test.go"), strings.HasPrefix(name, "test/"):
			err = tests.add(name, content)
		case !strings.HasPrefix(name, "hack/"):
			err = production.add(name, content)
		}
		if err != nil {
			return fmt.Errorf("reading %s: %w", name, err)
		}
	}
	readme, err := os.ReadFile("README.md")
	if err != nil {
		return err
	}
	report(out, production, tests, golden, lines(readme))
	return nil
}

// figure is a measured value. A goal of 0 means that there is none.
type figure struct {
	name  string
	value float64
	goal  float64
	where string
}

func report(out io.Writer, production, tests group, golden, readme int) {
	ratio := float64(tests.code) / float64(max(production.code, 1))
	figures := []figure{
		{"longest function, lines", production.function.lines, 60, production.function.name},
		{"longest function of tests, lines", tests.function.lines, 60, tests.function.name},
		{"longest file, lines", production.longest().lines, 300, production.longest().name},
		{"longest file of tests, lines", tests.longest().lines, 300, tests.longest().name},
		{"median file, lines", production.median(), 100, ""},
		{"median file of tests, lines", tests.median(), 0, ""},
		{"production code, lines", float64(production.code), 0, fmt.Sprintf("%.0f with comments and blank lines", production.total())},
		{"test code with support, lines", float64(tests.code), 0, fmt.Sprintf("%.0f with comments and blank lines", tests.total())},
		{"test code to production code", ratio, 2.3, fmt.Sprintf("%.2f with comments and blank lines", tests.total()/max(production.total(), 1))},
		{"golden files, lines", float64(golden), 3000, ""},
		{"README.md, lines", float64(readme), 150, ""},
	}
	for _, f := range figures {
		goal, result := "", ""
		if f.goal > 0 {
			goal, result = fmt.Sprintf("<= %v", f.goal), "met"
			if f.value > f.goal {
				result = "missed"
			}
		}
		fmt.Fprintln(out, strings.TrimRight(fmt.Sprintf("%-33s %8s %8s  %-6s  %s", f.name, number(f.value), goal, result, f.where), " "))
	}
}

// number prints whole numbers without decimals.
func number(value float64) string {
	if value == float64(int(value)) {
		return fmt.Sprint(int(value))
	}
	return fmt.Sprintf("%.2f", value)
}

// named is a number of lines, and whose.
type named struct {
	name  string
	lines float64
}

// group adds up Go files.
type group struct {
	files    []named
	function named
	code     int
}

func (g *group) add(name string, content []byte) error {
	g.files = append(g.files, named{name, float64(lines(content))})
	files := token.NewFileSet()
	parsed, err := parser.ParseFile(files, name, content, parser.SkipObjectResolution)
	if err != nil {
		return err
	}
	for _, declaration := range parsed.Decls {
		function, ok := declaration.(*ast.FuncDecl)
		if !ok {
			continue
		}
		begin, end := files.Position(function.Pos()).Line, files.Position(function.End()).Line
		if length := float64(end - begin + 1); length > g.function.lines {
			g.function = named{fmt.Sprintf("%s:%d %s", name, begin, function.Name.Name), length}
		}
	}
	g.code += codeLines(content)
	return nil
}

func (g *group) longest() named {
	if len(g.files) == 0 {
		return named{}
	}
	return slices.MaxFunc(g.files, func(a, b named) int { return cmp.Compare(a.lines, b.lines) })
}

func (g *group) median() float64 {
	if len(g.files) == 0 {
		return 0
	}
	sorted := slices.SortedFunc(slices.Values(g.files), func(a, b named) int { return cmp.Compare(a.lines, b.lines) })
	return sorted[len(sorted)/2].lines
}

func (g *group) total() float64 {
	sum := 0.0
	for _, file := range g.files {
		sum += file.lines
	}
	return sum
}

// codeLines counts the lines of Go source that have a token; raw strings count all their lines.
func codeLines(content []byte) int {
	files := token.NewFileSet()
	file := files.AddFile("", files.Base(), len(content))
	var s scanner.Scanner
	s.Init(file, content, nil, 0)
	seen := map[int]bool{}
	for {
		position, kind, literal := s.Scan()
		if kind == token.EOF {
			return len(seen)
		}
		if kind == token.SEMICOLON && literal == "\n" { // inserted at the end of a line
			continue
		}
		first := file.Line(position)
		for i := range strings.Count(literal, "\n") + 1 {
			seen[first+i] = true
		}
	}
}

// isGenerated reports whether a tool wrote the file, by Go's convention.
func isGenerated(name string, content []byte) bool {
	if strings.HasPrefix(path.Base(name), "zz_generated.") {
		return true
	}
	head, _, _ := strings.Cut(string(content), "\npackage ")
	return strings.Contains(head, "// Code generated ") && strings.Contains(head, " DO NOT EDIT.")
}

func lines(content []byte) int { return strings.Count(string(content), "\n") }
