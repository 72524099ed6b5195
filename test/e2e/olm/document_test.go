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

	"github.com/example/memcached-operator/test/controlplane"
	"github.com/example/memcached-operator/test/pages"
	"github.com/example/memcached-operator/test/testenv"
)

// TestDocs_InstallOLM runs the blocks "sh" of docs/user/install-olm.md; a block "text" after one is what it prints. Only
// the names of the images differ. It installs for all namespaces, so it is not parallel. Before the upgrade it looks at that install.
func TestDocs_InstallOLM(t *testing.T) {
	kubeconfig := filepath.Join(t.TempDir(), "kubeconfig") // a copy: the reader sets a namespace in it
	content, err := os.ReadFile(suite.Kubeconfig)
	testenv.NoError(t, err)
	testenv.NoError(t, os.WriteFile(kubeconfig, content, 0o600))
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
	ran, printed, looked := 0, "", false
	for _, b := range pages.Read(t, "docs/user/install-olm.md") {
		if !looked && strings.Contains(b.Content, "memcached-operator-catalog:v0.0.2") {
			servesAll(t, installIn("memcached-operator-system", "memcached-operator", "olm"))
			looked = true
		}
		switch {
		case b.Language == "sh":
			printed = shell(t, b.Line, images.Replace(b.Content), kubeconfig)
			ran++
		case b.Language == "text" && printed != "":
			prints(t, b, printed)
			printed = ""
		}
	}
	if ran < 8 || !looked {
		t.Errorf("only %d blocks of commands were found; one that upgrades: %t", ran, looked)
	}
}

// shell runs a block of commands, each of which has to succeed, and returns what they print.
func shell(t *testing.T, line int, commands, kubeconfig string) string {
	t.Helper()
	command := exec.CommandContext(context.WithoutCancel(t.Context()), "bash", "-euo", "pipefail", "-c", commands)
	command.Dir = controlplane.Root()
	command.Env = append(os.Environ(), "KUBECONFIG="+kubeconfig)
	output, err := command.CombinedOutput()
	if err != nil {
		status := suite.Kubectl(t, "get", "subscriptions,installplans,clusterserviceversions,catalogsources", "-A", "-o", "yaml")
		t.Fatalf("docs/user/install-olm.md, line %d: %v\n%s\n%s\n%s", line, err, commands, output, status)
	}
	return string(output)
}

// prints fails unless each line of a block was printed, whatever the space between words; "*" is any word.
func prints(t *testing.T, b pages.Block, printed string) {
	t.Helper()
	space := regexp.MustCompile(`[ \t]+`)
	printed = space.ReplaceAllString(printed, " ")
	for line := range strings.Lines(b.Content) {
		want := strings.ReplaceAll(regexp.QuoteMeta(strings.TrimSpace(line)), `\*`, `\S+`)
		if !regexp.MustCompile(fmt.Sprintf(`(?m)^\s*%s\s*$`, want)).MatchString(printed) {
			t.Errorf("docs/user/install-olm.md, line %d: it does not print %q but:\n%s", b.Line, line, printed)
		}
	}
}
