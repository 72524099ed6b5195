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
	cyclic := t.TempDir()
	if err := os.Mkdir(filepath.Join(cyclic, "base"), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink("../base", filepath.Join(cyclic, "base/again")); err != nil {
		t.Fatal(err)
	}
	dangling := t.TempDir()
	if err := os.Mkdir(filepath.Join(dangling, "base"), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink("nowhere.yaml", filepath.Join(dangling, "base/service.yaml")); err != nil {
		t.Fatal(err)
	}
	huge := t.TempDir()
	if err := os.Mkdir(filepath.Join(huge, "base"), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(huge, "base/huge.yaml"), make([]byte, maxTreeBytes+1), 0o600); err != nil {
		t.Fatal(err)
	}
	for name, test := range map[string]struct{ dir, want string }{
		"rejects a link to a parent directory":  {cyclic, "base/again"},
		"rejects a dangling link":               {dangling, "base/service.yaml"},
		"rejects a tree above the maximum size": {huge, "base/huge.yaml"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, err := LoadTree(manifests.FS, os.DirFS(test.dir))
			if err == nil || !strings.Contains(err.Error(), test.want) {
				t.Errorf("the error does not name %s: %v", test.want, err)
			}
		})
	}
}
