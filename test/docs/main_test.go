// SPDX-License-Identifier: Apache-2.0

// Package docs tests what is written for people: that links lead somewhere, that
// examples are taken by the API server, and that fields, alerts, run books and the
// dashboard speak of the same things.
package docs

import (
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/example/memcached-operator/test/controlplane"
)

// plane is the API server that says what it thinks of the examples.
var plane *controlplane.ControlPlane

func TestMain(m *testing.M) {
	os.Exit(controlplane.Main(m, &plane))
}

func fatal(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func read(t *testing.T, path string) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(controlplane.Root(), filepath.FromSlash(path)))
	fatal(t, err)
	return string(text)
}

// files are the paths, from the root of the repository, of all files under directory
// whose names end so.
func files(t *testing.T, directory, end string) []string {
	t.Helper()
	var found []string
	fatal(t, fs.WalkDir(os.DirFS(controlplane.Root()), directory, func(path string, entry fs.DirEntry, err error) error {
		if err == nil && !entry.IsDir() && strings.HasSuffix(path, end) {
			found = append(found, path)
		}
		return err
	}))
	if len(found) == 0 {
		t.Fatalf("%s has no file that ends with %s", directory, end)
	}
	return found
}

// pages are all pages that people write, and the generated reference.
func pages(t *testing.T) []string {
	t.Helper()
	return append(files(t, "docs", ".md"), "README.md", "CONTRIBUTING.md", "manifests/README.md")
}
