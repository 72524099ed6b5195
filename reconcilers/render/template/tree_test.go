// SPDX-License-Identifier: Apache-2.0

package template

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/example/memcached-operator/manifests"
)

func TestLoadTree_Rejects(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		file  string
		write func(file string) error
	}{
		"rejects a link to a parent directory":  {"base/again", func(file string) error { return os.Symlink("../base", file) }},
		"rejects a dangling link":               {"base/service.yaml", func(file string) error { return os.Symlink("nowhere.yaml", file) }},
		"rejects a tree above the maximum size": {"base/huge.yaml", func(file string) error { return os.WriteFile(file, make([]byte, maxTreeBytes+1), 0o600) }},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			if err := os.Mkdir(filepath.Join(dir, "base"), 0o700); err != nil {
				t.Fatal(err)
			}
			if err := test.write(filepath.Join(dir, test.file)); err != nil {
				t.Fatal(err)
			}
			_, err := LoadTree(manifests.FS, os.DirFS(dir))
			if err == nil || !strings.Contains(err.Error(), test.file) {
				t.Errorf("the error does not name %s: %v", test.file, err)
			}
		})
	}
}
