// SPDX-License-Identifier: Apache-2.0

package docs

import (
	"os/exec"
	"regexp"
	"strings"
	"testing"

	shellpages "github.com/example/memcached-operator/test/pages"
)

var testFunction = regexp.MustCompile(`(?m)^func ((?:Test|Fuzz)\w+)\(`)

// testNames returns the names of all tests.
func testNames(t *testing.T) map[string]bool {
	t.Helper()
	names := map[string]bool{}
	for _, file := range files(t, ".", "_test.go") {
		for _, found := range testFunction.FindAllStringSubmatch(read(t, file), -1) {
			names[found[1]] = true
		}
	}
	return names
}

// TestClaims_NameTests checks the table of docs/testing.md: each test exists, and each decision has one.
func TestClaims_NameTests(t *testing.T) {
	t.Parallel()
	tests, page := testNames(t), read(t, "docs/testing.md")
	named := regexp.MustCompile("`((?:Test|Fuzz)[A-Z][A-Za-z0-9_]*)").FindAllStringSubmatch(page, -1)
	if len(named) < 40 {
		t.Errorf("docs/testing.md names only %d tests", len(named))
	}
	for _, found := range named {
		if !tests[found[1]] {
			t.Errorf("docs/testing.md names %s, which does not exist", found[1])
		}
	}
	for _, decision := range files(t, "docs/decisions", ".md") {
		if name := strings.TrimPrefix(decision, "docs/"); !strings.Contains(page, name) {
			t.Errorf("docs/testing.md names no test of %s", decision)
		}
	}
}

// TestShellBlocks_AreRun looks at every block of commands: it is valid bash, names targets that the Makefile has, and the
// comment above it names the test that runs it, or why none does.
func TestShellBlocks_AreRun(t *testing.T) {
	t.Parallel()
	tests, targets, count := testNames(t), makeTargets(t), 0
	for _, page := range pages(t) {
		for _, block := range shellpages.Shell(t, page) {
			count++
			switch {
			case block.Test == "" && block.Reason == "":
				t.Errorf("%s: write above it <!-- run by TestName -->, the test that runs it, or <!-- not run: reason -->", block)
			case block.Test != "" && !tests[block.Test]:
				t.Errorf("%s is run by %s, which does not exist", block, block.Test)
			}
			command := exec.CommandContext(t.Context(), "bash", "-n")
			command.Stdin = strings.NewReader(block.Content)
			if output, err := command.CombinedOutput(); err != nil {
				t.Errorf("%s: %s", block, output)
			}
			for _, line := range makeLine.FindAllStringSubmatch(block.Content, -1) {
				for word := range strings.FieldsSeq(quoted.ReplaceAllString(line[1], "")) {
					if !targets[word] && !strings.ContainsAny(word, "=$") {
						t.Errorf("%s: the Makefile has no target %s", block, word)
					}
				}
			}
		}
	}
	if count < 80 {
		t.Errorf("there are only %d blocks of commands", count)
	}
}

var (
	makeLine   = regexp.MustCompile(`(?m)^ *make ([^#|&>\n]*)`)
	quoted     = regexp.MustCompile(`"[^"]*"`)
	makeTarget = regexp.MustCompile(`(?m)^([a-z0-9-]+):`)
)

func makeTargets(t *testing.T) map[string]bool {
	t.Helper()
	targets := map[string]bool{}
	for _, found := range makeTarget.FindAllStringSubmatch(read(t, "Makefile"), -1) {
		targets[found[1]] = true
	}
	return targets
}
