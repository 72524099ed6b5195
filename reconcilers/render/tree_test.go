// SPDX-License-Identifier: Apache-2.0

package render

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/example/memcached-operator/manifests"
)

func TestADirectoryIsLaidOverTheTreePathByPath(t *testing.T) {
	t.Parallel()
	layer := fstest.MapFS{
		serviceFile:            {Data: []byte("replaced")},
		siteFile:               {Data: []byte("replaced as well")},
		"components/site/more": {Data: []byte("added")},
		"README.md":            {Data: []byte("not of the tree")},
		"base/..data/x":        {Data: []byte("what a mounted ConfigMap has beside its files")},
	}
	tree, err := LoadTree(manifests.FS, layer)
	if err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]string{
		serviceFile:            "replaced",
		siteFile:               "replaced as well",
		"components/site/more": "added",
		deploymentFile:         string(shipped(t)[deploymentFile]),
	} {
		if string(tree[name]) != want {
			t.Errorf("%s is %q", name, tree[name])
		}
	}
	if got, want := len(tree), len(shipped(t))+1; got != want {
		t.Errorf("the tree has %d files, want %d", got, want)
	}
}

// A ConfigMap whose volume items have paths arrives as links through ..data into a
// directory whose name is a time.
func TestAMountedConfigMapIsLaidOverTheTree(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	version := filepath.Join(dir, "..2026_11_20")
	site := component + "labels: [{pairs: {mounted: \"yes\"}}]\n"
	for name, content := range map[string]string{"kustomization.yaml": site, "note.txt": "unused"} {
		file := filepath.Join(version, "components/site", name)
		if err := os.MkdirAll(filepath.Dir(file), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for link, target := range map[string]string{
		"..data":     "..2026_11_20",
		"components": "..data/components",
	} {
		if err := os.Symlink(target, filepath.Join(dir, link)); err != nil {
			t.Fatal(err)
		}
	}
	tree, err := LoadTree(manifests.FS, os.DirFS(dir))
	if err != nil {
		t.Fatal(err)
	}
	objects := mustRender(t, mustNew(t, tree, Defaults{}), plain())
	for _, object := range objects {
		if object.GetLabels()["mounted"] != "yes" {
			t.Errorf("%s has labels %v: the mounted file does not count", object.GetKind(), object.GetLabels())
		}
	}
}

func TestLoadTreeRefuses(t *testing.T) {
	t.Parallel()
	circle := t.TempDir()
	if err := os.Mkdir(filepath.Join(circle, "base"), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink("../base", filepath.Join(circle, "base/again")); err != nil {
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
	for sentence, test := range map[string]struct{ dir, want string }{
		"a link that leads back":           {circle, "base/again"},
		"a link to nowhere":                {dangling, serviceFile},
		"more than the operator will hold": {huge, "base/huge.yaml"},
	} {
		t.Run(sentence, func(t *testing.T) {
			t.Parallel()
			_, err := LoadTree(manifests.FS, os.DirFS(test.dir))
			if err == nil || !strings.Contains(err.Error(), test.want) {
				t.Errorf("the error does not name %s: %v", test.want, err)
			}
		})
	}
}

func TestNewWantsABase(t *testing.T) {
	t.Parallel()
	if _, err := New(Tree{}, Defaults{}); err == nil || !strings.Contains(err.Error(), "base") {
		t.Errorf("an empty tree: %v", err)
	}
}
