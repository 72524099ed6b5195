// SPDX-License-Identifier: Apache-2.0

package docs

import (
	"fmt"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/example/memcached-operator/test/controlplane"
)

var (
	link       = regexp.MustCompile(`\]\(([^)\s]+)\)`)
	heading    = regexp.MustCompile(`(?m)^#+ +(.*)$`)
	codeBlock  = regexp.MustCompile("(?ms)^ *```.*?^ *```")
	codeSpan   = regexp.MustCompile("`[^`\n]*`")
	notInSlugs = regexp.MustCompile(`[^\p{L}\p{N}_ -]`)
)

func TestLinks_Resolve(t *testing.T) {
	t.Parallel()
	for _, page := range pages(t) {
		text := codeSpan.ReplaceAllString(codeBlock.ReplaceAllString(read(t, page), ""), "")
		for _, found := range link.FindAllStringSubmatch(text, -1) {
			if strings.Contains(found[1], "://") || strings.HasPrefix(found[1], "mailto:") {
				continue
			}
			target := found[1]
			if strings.HasPrefix(target, "#") {
				target = path.Base(page) + target
			}
			mustExist(t, page, path.Join(path.Dir(page), target))
		}
	}
}

// mustExist checks that the repository has the file, and the page the heading, of target, which
// file refers to.
func mustExist(t *testing.T, file, target string) {
	t.Helper()
	name, anchor, _ := strings.Cut(target, "#")
	if _, err := os.Stat(filepath.Join(controlplane.Root(), name)); err != nil {
		t.Errorf("%s: %s: there is no such file", file, target)
	} else if anchor != "" && strings.HasSuffix(name, ".md") && !slices.Contains(anchors(t, name), anchor) {
		t.Errorf("%s: %s: there is no such heading", file, target)
	}
}

// pageReference is a page named outside of pages, in a comment, a message or a URL.
var pageReference = regexp.MustCompile(`\bdocs/[\w./-]+\.md(?:#[\w-]+)?`)

// TestLinks_ResolveOutsideOfPages: code, scripts and manifests refer to pages too.
func TestLinks_ResolveOutsideOfPages(t *testing.T) {
	t.Parallel()
	for _, file := range files(t, ".", ".go", ".sh", ".yaml", ".json", ".tpl", ".txt", ".gotmpl", "Makefile", ".ci/run") {
		for _, reference := range pageReference.FindAllString(read(t, file), -1) {
			mustExist(t, file, reference)
		}
	}
}

// decisionReference is a decision record that a text names by its number: "decision 7", a path, or
// a link such as [0007](…).
var decisionReference = regexp.MustCompile(`(?i)\bdecisions?(?: records?)? (\d+)\b|\bdecisions/(\d+)|\[(\d{4})\]\(`)

func TestDecisions_ReferencesExist(t *testing.T) {
	t.Parallel()
	records := map[string]bool{}
	for _, file := range files(t, "docs/decisions", ".md") {
		if number, _, found := strings.Cut(path.Base(file), "-"); found {
			records[strings.TrimLeft(number, "0")] = true
		}
	}
	references := 0
	for _, file := range files(t, ".", ".go", ".md", ".sh", ".yaml", "Makefile") {
		for _, found := range decisionReference.FindAllStringSubmatch(read(t, file), -1) {
			references++
			if number := strings.TrimLeft(found[1]+found[2]+found[3], "0"); !records[number] {
				t.Errorf("%s: %q: docs/decisions has no record of this number", file, found[0])
			}
		}
	}
	if references == 0 {
		t.Error("no reference to a decision record is found")
	}
}

// anchors are the names that GitHub gives to a page's headings.
func anchors(t *testing.T, page string) []string {
	t.Helper()
	seen := map[string]int{}
	var names []string
	for _, found := range heading.FindAllStringSubmatch(codeBlock.ReplaceAllString(read(t, page), ""), -1) {
		title := link.ReplaceAllString(found[1], "]")
		name := strings.ReplaceAll(notInSlugs.ReplaceAllString(strings.ToLower(title), ""), " ", "-")
		if seen[name]++; seen[name] > 1 {
			name = fmt.Sprintf("%s-%d", name, seen[name]-1)
		}
		names = append(names, name)
	}
	return names
}
