// SPDX-License-Identifier: Apache-2.0

package docs

import (
	"html"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// clusterOnly are the headings that `make demo`, which is recorded, does not print: those of `make demo-cluster`.
var clusterOnly = []string{
	"Using the cluster of the context $(kubectl config current-context), namespace memcached-demo",
	"Installing the CustomResourceDefinition, unless it exists",
}

// last is printed last, by the part of the script that starts and stops the control plane and comes first in the file.
const last = "The control plane is stopped and its files are removed."

// TestRecording_IsOfTheDemo compares the headings and commands of the README's recording with those of hack/demo.sh.
func TestRecording_IsOfTheDemo(t *testing.T) {
	t.Parallel()
	var printed strings.Builder
	for _, row := range regexp.MustCompile(`(?m)^<text class="([^"]*)"[^>]*>(.*)</text>$`).FindAllStringSubmatch(read(t, "docs/images/demo.svg"), -1) {
		text := html.UnescapeString(row[2])
		// A line that is wider than the picture is continued in the next row.
		if row[1] == "l" || strings.HasPrefix(text, "==> ") || strings.HasPrefix(text, "$ ") {
			printed.WriteString("\n")
		}
		printed.WriteString(text)
	}
	var headings []string
	for line := range strings.Lines(printed.String()) {
		if heading, ok := strings.CutPrefix(strings.TrimSpace(line), "==> "); ok {
			headings = append(headings, heading)
		}
	}
	script := read(t, "hack/demo.sh")
	var want []string
	for _, found := range regexp.MustCompile(`(?m)^ *say (?:'([^']*)'|"([^"]*)")$`).FindAllStringSubmatch(script, -1) {
		if heading := found[1] + found[2]; !slices.Contains(clusterOnly, heading) {
			want = append(want, heading)
		}
	}
	if i := slices.Index(want, last); i >= 0 {
		want = append(slices.Delete(want, i, i+1), last)
	}
	if len(want) < 5 || !slices.Equal(headings, want) {
		t.Errorf("docs/images/demo.svg has the headings\n%s\nwant\n%s\nRecord it again: hack/record.sh", strings.Join(headings, "\n"), strings.Join(want, "\n"))
	}
	commands := regexp.MustCompile(`(?m)\brun (kubectl [^$'"\n;]*)$`).FindAllStringSubmatch(script, -1)
	if len(commands) < 5 {
		t.Fatalf("hack/demo.sh has %d commands without variables", len(commands))
	}
	for _, command := range commands {
		if !strings.Contains(printed.String(), "\n$ "+command[1]) {
			t.Errorf("docs/images/demo.svg does not show `%s`. Record it again: hack/record.sh", command[1])
		}
	}
}
