// SPDX-License-Identifier: Apache-2.0

package docs

import (
	"os/exec"
	"regexp"
	"strings"
	"testing"
)

var (
	shellBlock = regexp.MustCompile("(?ms)^ *```(?:sh|bash)\n(.*?)^ *```")
	makeLine   = regexp.MustCompile(`(?m)^ *make ([^#|&>\n]*)`)
	quoted     = regexp.MustCompile(`"[^"]*"`)
	makeTarget = regexp.MustCompile(`(?m)^([a-z0-9-]+):`)
)

// Every block of commands is valid bash, and names targets that the Makefile has.
func TestShellBlocks_AreValid(t *testing.T) {
	t.Parallel()
	targets := map[string]bool{}
	for _, found := range makeTarget.FindAllStringSubmatch(read(t, "Makefile"), -1) {
		targets[found[1]] = true
	}
	blocks := 0
	for _, page := range pages(t) {
		for _, found := range shellBlock.FindAllStringSubmatch(read(t, page), -1) {
			blocks++
			command := exec.CommandContext(t.Context(), "bash", "-n")
			command.Stdin = strings.NewReader(found[1])
			if output, err := command.CombinedOutput(); err != nil {
				t.Errorf("%s: %s in\n%s", page, output, found[1])
			}
			for _, line := range makeLine.FindAllStringSubmatch(found[1], -1) {
				for word := range strings.FieldsSeq(quoted.ReplaceAllString(line[1], "")) {
					if !targets[word] && !strings.ContainsAny(word, "=$") {
						t.Errorf("%s: the Makefile has no target %s: make %s", page, word, line[1])
					}
				}
			}
		}
	}
	if blocks < 40 {
		t.Errorf("there are only %d blocks of commands", blocks)
	}
}
