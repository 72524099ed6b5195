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

func TestLinksLeadSomewhere(t *testing.T) {
	t.Parallel()
	for _, page := range pages(t) {
		text := codeSpan.ReplaceAllString(codeBlock.ReplaceAllString(read(t, page), ""), "")
		for _, found := range link.FindAllStringSubmatch(text, -1) {
			if strings.Contains(found[1], "://") {
				continue
			}
			file, anchor, _ := strings.Cut(found[1], "#")
			target := page
			if file != "" {
				target = path.Join(path.Dir(page), file)
			}
			if _, err := os.Stat(filepath.Join(controlplane.Root(), target)); err != nil {
				t.Errorf("%s: %s: there is no such file", page, found[1])
				continue
			}
			if anchor != "" && strings.HasSuffix(target, ".md") && !slices.Contains(anchors(t, target), anchor) {
				t.Errorf("%s: %s: there is no such heading", page, found[1])
			}
		}
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
