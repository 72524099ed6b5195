// SPDX-License-Identifier: Apache-2.0

// Package docs tests what is written for people: that links and references resolve, that the API
// server accepts the examples, that fields, alerts, runbooks and the dashboard agree, and that
// words replaced by standard terms do not come back.
package docs

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/example/memcached-operator/test/controlplane"
	"github.com/example/memcached-operator/test/testenv"
)

// suite is the API server that all tests share.
var suite testenv.Env

func TestMain(m *testing.M) {
	os.Exit(testenv.Main(m, &suite, testenv.Setup{Arguments: []string{testenv.WithoutControllers}}))
}

func read(t *testing.T, path string) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(controlplane.Root(), filepath.FromSlash(path)))
	testenv.NoError(t, err)
	return string(text)
}

// tracked returns the paths, from the root of the repository, of its files: those that git tracks,
// and new ones that it does not ignore.
var tracked = sync.OnceValues(func() ([]string, error) {
	command := exec.Command("git", "ls-files", "--cached", "--others", "--exclude-standard")
	command.Dir = controlplane.Root()
	output, err := command.Output()
	if err != nil {
		return nil, fmt.Errorf("listing the files of the repository: %w", err)
	}
	return slices.DeleteFunc(strings.Fields(string(output)), func(file string) bool {
		_, err := os.Stat(filepath.Join(controlplane.Root(), file)) // deleted, and not committed yet
		return err != nil
	}), nil
})

// files returns the files of the repository in directory, or below it, whose names have one of
// the endings.
func files(t *testing.T, directory string, endings ...string) []string {
	t.Helper()
	all, err := tracked()
	testenv.NoError(t, err)
	var found []string
	for _, file := range all {
		below := directory == "." || strings.HasPrefix(file, directory+"/")
		if below && slices.ContainsFunc(endings, func(end string) bool { return strings.HasSuffix(file, end) }) {
			found = append(found, file)
		}
	}
	if len(found) == 0 {
		t.Fatalf("%s has no file that ends with one of %q", directory, endings)
	}
	return found
}

// pages returns all pages, the generated ones too.
func pages(t *testing.T) []string {
	t.Helper()
	return files(t, ".", ".md")
}
