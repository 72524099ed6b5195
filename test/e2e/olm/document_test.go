// SPDX-License-Identifier: Apache-2.0

//go:build e2e

package olm

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/example/memcached-operator/test/e2e/cluster"
)

// block is a fenced block of the documentation: "sh" is commands to follow, "text" after them what they
// print, and anything else, "bash" say, is not for this story.
type block struct {
	language, content string
	line              int
}

// TestTheDocumentation does what docs/install-olm.md says, word by word: the images' names are the
// only ones that differ. It installs for all namespaces, so it is not parallel.
func TestTheDocumentation(t *testing.T) {
	kubeconfig := filepath.Join(t.TempDir(), "kubeconfig") // a copy: the reader sets a namespace in it
	content, err := os.ReadFile(suite.Kubeconfig)
	cluster.Must(t, err)
	cluster.Must(t, os.WriteFile(kubeconfig, content, 0o600))
	for _, namespace := range []string{"memcached-operator-system", "shop"} {
		suite.KeepOnFailure(t, namespace)
	}
	t.Cleanup(func() {
		suite.Kubectl(t, "delete", "--ignore-not-found", "namespace/shop", "namespace/memcached-operator-system")
		suite.Kubectl(t, "--namespace="+global, "delete", "--ignore-not-found", "catalogsource/memcached-operator")
	})

	images := strings.NewReplacer(
		"registry.example.com/memcached-operator-catalog:v0.0.1", suite.oldCatalog,
		"registry.example.com/memcached-operator-catalog:v0.0.2", suite.newCatalog)
	ran, printed := 0, ""
	for _, b := range blocks(documentation()) {
		switch {
		case b.language == "sh":
			printed = shell(t, b.line, images.Replace(b.content), kubeconfig)
			ran++
		case b.language == "text" && printed != "":
			prints(t, b, printed)
			printed = ""
		}
	}
	if ran < 8 {
		t.Errorf("only %d blocks of commands were found", ran)
	}
}

// blocks are the fenced blocks of a Markdown text.
func blocks(text string) []block {
	var found []block
	var open *block
	number := 0
	for line := range strings.Lines(text) {
		number++
		language, fence := strings.CutPrefix(strings.TrimSuffix(line, "\n"), "```")
		switch {
		case fence && open == nil:
			open = &block{language: language, line: number}
		case fence:
			found, open = append(found, *open), nil
		case open != nil:
			open.content += line
		}
	}
	return found
}

// shell runs a block of commands, each of which has to succeed, and returns what they print.
func shell(t *testing.T, line int, commands, kubeconfig string) string {
	t.Helper()
	command := exec.CommandContext(context.WithoutCancel(t.Context()), "bash", "-euo", "pipefail", "-c", commands)
	command.Dir = cluster.Root()
	command.Env = append(os.Environ(), "KUBECONFIG="+kubeconfig)
	output, err := command.CombinedOutput()
	if err != nil {
		status := suite.Kubectl(t, "get", "subscriptions,installplans,clusterserviceversions,catalogsources", "-A", "-o", "yaml")
		t.Fatalf("docs/install-olm.md, line %d: %v\n%s\n%s\n%s", line, err, commands, output, status)
	}
	return string(output)
}

// prints fails unless each line of a block was printed, whatever the space between words; "*" is any word.
func prints(t *testing.T, b block, printed string) {
	t.Helper()
	space := regexp.MustCompile(`[ \t]+`)
	printed = space.ReplaceAllString(printed, " ")
	for line := range strings.Lines(b.content) {
		want := strings.ReplaceAll(regexp.QuoteMeta(strings.TrimSpace(line)), `\*`, `\S+`)
		if !regexp.MustCompile(fmt.Sprintf(`(?m)^\s*%s\s*$`, want)).MatchString(printed) {
			t.Errorf("docs/install-olm.md, line %d: it does not print %q but:\n%s", b.line, line, printed)
		}
	}
}
