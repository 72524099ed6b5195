// SPDX-License-Identifier: Apache-2.0

package memcached_test

import (
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"regexp/syntax"
	"slices"
	"strings"
	"testing"

	"github.com/example/memcached-operator/test/testenv"
)

// TestExtraArgs_PageIsComplete sees that the page for users lists what the API takes: each option,
// and no other.
func TestExtraArgs_PageIsComplete(t *testing.T) {
	t.Parallel()
	allowed := map[string]bool{}
	for _, pattern := range extraArgsPatterns(t) {
		parsed, err := syntax.Parse(pattern, syntax.Perl)
		testenv.NoError(t, err)
		for _, text := range texts(parsed) {
			allowed[option(text)] = true
		}
	}
	page, err := os.ReadFile(filepath.Join(repository, "docs", "reference", "extra-args.md"))
	testenv.NoError(t, err)
	_, lists, _ := strings.Cut(string(page), "\n## Options\n")
	lists, _, _ = strings.Cut(lists, "\n## Rejected options\n")
	listed := map[string]bool{}
	for line := range strings.Lines(lists) {
		cells := strings.Split(line, "|")
		if len(cells) < 2 {
			continue
		}
		for _, found := range regexp.MustCompile("`([^`]+)`").FindAllStringSubmatch(cells[1], -1) {
			name := strings.TrimSuffix(found[1], "=")
			if !strings.HasPrefix(name, "--") {
				name = "--extended=" + name
			}
			listed[option(name)] = true
		}
	}
	if want, got := slices.Sorted(maps.Keys(allowed)), slices.Sorted(maps.Keys(listed)); !slices.Equal(want, got) {
		t.Errorf("the page lists\n%q, and the API takes\n%q", got, want)
	}
}
