// SPDX-License-Identifier: Apache-2.0

package render

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// A difference is a unified diff without line numbers, so that it does not change when the
// text it applies to changes elsewhere. A hunk applies to the first match of its context
// and removed lines after the previous hunk.

const (
	hunkHeader = "@@\n"
	// contextLines is the minimum number of unchanged lines before a change.
	contextLines = 1
)

// lineEdit is a line that is kept (' '), removed ('-') or added ('+').
type lineEdit struct {
	kind byte
	line string
}

// editsBetween returns a shortest list of edits from one list of lines to another.
func editsBetween(from, to []string) []lineEdit {
	// common[i][j] is the length of the longest common subsequence of from[i:] and to[j:].
	common := make([][]int, len(from)+1)
	for i := range common {
		common[i] = make([]int, len(to)+1)
	}
	for i := range slices.Backward(from) {
		for j := range slices.Backward(to) {
			if from[i] == to[j] {
				common[i][j] = common[i+1][j+1] + 1
			} else {
				common[i][j] = max(common[i+1][j], common[i][j+1])
			}
		}
	}
	var edits []lineEdit
	i, j := 0, 0
	for i < len(from) || j < len(to) {
		switch {
		case i < len(from) && j < len(to) && from[i] == to[j]:
			edits = append(edits, lineEdit{' ', from[i]})
			i, j = i+1, j+1
		case j == len(to) || i < len(from) && common[i+1][j] >= common[i][j+1]:
			edits = append(edits, lineEdit{'-', from[i]})
			i++
		default:
			edits = append(edits, lineEdit{'+', to[j]})
			j++
		}
	}
	return edits
}

// difference returns the hunks that turn from into to. It extends the leading context of a
// hunk until its first match is the right one.
func difference(from, to string) string {
	lines := splitLines(from)
	edits := editsBetween(lines, splitLines(to))
	var text strings.Builder
	// consumed is the number of lines before the current hunk, position the one before edit i.
	consumed, position := 0, 0
	for i := 0; i < len(edits); {
		if edits[i].kind == ' ' {
			i, position = i+1, position+1
			continue
		}
		end := hunkEnd(edits, i)
		for context := contextLines; ; context++ {
			start := max(i-context, i-(position-consumed))
			hunk := edits[start:end]
			at := position - (i - start)
			if match := indexOfLines(lines[consumed:], oldLines(hunk)); consumed+match == at || start == i-(position-consumed) {
				text.WriteString(hunkHeader)
				for _, e := range hunk {
					text.WriteString(string(e.kind) + strings.TrimSuffix(e.line, "\n") + "\n")
				}
				consumed = at + len(oldLines(hunk))
				break
			}
		}
		i, position = end, consumed
	}
	return text.String()
}

// hunkEnd returns the end of the hunk with the change at i: changes with at most contextLines
// unchanged lines between them are one hunk.
func hunkEnd(edits []lineEdit, i int) int {
	end := i
	for j := i; j < len(edits) && j <= end+contextLines+1; j++ {
		if edits[j].kind != ' ' {
			end = j
		}
	}
	return end + 1
}

func splitLines(text string) []string { return slices.Collect(strings.Lines(text)) }

// oldLines returns the lines that a hunk matches.
func oldLines(hunk []lineEdit) []string {
	var lines []string
	for _, e := range hunk {
		if e.kind != '+' {
			lines = append(lines, e.line)
		}
	}
	return lines
}

// indexOfLines returns the index of the first match of part in lines, -1 if there is none.
func indexOfLines(lines, part []string) int {
	for i := 0; i+len(part) <= len(lines); i++ {
		if slices.Equal(lines[i:i+len(part)], part) {
			return i
		}
	}
	return -1
}

// applyDifference applies the hunks of text, every line of which it must understand, to from.
func applyDifference(from, text string) (string, error) {
	if text == "" {
		return from, nil
	}
	hunks := strings.Split(text, hunkHeader)
	if hunks[0] != "" {
		return "", fmt.Errorf("expected %q at the beginning of %q", hunkHeader, hunks[0])
	}
	lines := splitLines(from)
	var result strings.Builder
	for _, hunk := range hunks[1:] {
		var edits []lineEdit
		for line := range strings.Lines(hunk) {
			if !strings.ContainsAny(line[:1], " -+") {
				return "", fmt.Errorf("unexpected line %q", line)
			}
			edits = append(edits, lineEdit{line[0], line[1:]})
		}
		at := indexOfLines(lines, oldLines(edits))
		if at < 0 || len(edits) == 0 {
			return "", fmt.Errorf("the hunk does not match:\n%s", hunk)
		}
		result.WriteString(strings.Join(lines[:at], ""))
		for _, e := range edits {
			if e.kind != '-' {
				result.WriteString(e.line)
			}
		}
		lines = lines[at+len(oldLines(edits)):]
	}
	result.WriteString(strings.Join(lines, ""))
	return result.String(), nil
}

// TestDifference_Reproduces changes, adds and removes random lines of a text: the difference
// must reproduce the changed text byte for byte.
func TestDifference_Reproduces(t *testing.T) {
	t.Parallel()
	from := readFile(t, filepath.Join(goldenDir, plainGolden))
	random := rand.New(rand.NewPCG(1, 2))
	for range 100 {
		lines := splitLines(from)
		for range 1 + random.IntN(6) {
			at := random.IntN(len(lines))
			switch random.IntN(4) {
			case 0:
				lines = slices.Delete(lines, at, at+1)
			case 1:
				lines = slices.Insert(lines, at, lines[random.IntN(len(lines))])
			case 2:
				lines[at] = "x" + lines[at]
			default:
				lines = slices.Insert(lines, at, "new: line\n")
			}
		}
		to := strings.Join(lines, "")
		got, err := applyDifference(from, difference(from, to))
		if err != nil || got != to {
			t.Fatalf("the difference\n%s\ngives (%v)\n%s, want\n%s", difference(from, to), err, got, to)
		}
	}
}

// TestDifference_DependsOnEveryLine shows that a golden file cannot change unnoticed: without
// any of its lines it does not apply, or gives other objects, unless the line is context.
func TestDifference_DependsOnEveryLine(t *testing.T) {
	t.Parallel()
	name, hunks, err := cutHeader(readFile(t, filepath.Join(goldenDir, "tls.diff")))
	noError(t, err)
	from := readFile(t, filepath.Join(goldenDir, name))
	want, err := applyDifference(from, hunks)
	noError(t, err)
	lines := splitLines(hunks)
	for i, line := range lines {
		if line == hunkHeader || line[0] == ' ' {
			continue
		}
		got, err := applyDifference(from, strings.Join(slices.Concat(lines[:i], lines[i+1:]), ""))
		if err == nil && got == want {
			t.Errorf("line %d (%q) has no effect", i, line)
		}
	}
}

// cutHeader returns the name of the file that the golden file text applies to, and its hunks.
func cutHeader(text string) (from, hunks string, err error) {
	for _, prefix := range []string{"--- ", "+++ "} {
		line, rest, ok := strings.Cut(text, "\n")
		name, isHeader := strings.CutPrefix(line, prefix)
		if !ok || !isHeader {
			return "", "", errors.New("the header is missing")
		}
		if prefix == "--- " {
			from = name
		}
		text = rest
	}
	return from, text, nil
}

func readFile(tb testing.TB, file string) string {
	tb.Helper()
	text, err := os.ReadFile(file)
	noError(tb, err)
	return string(text)
}
