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

func TestLoadTree_OverridesPathByPath(t *testing.T) {
	t.Parallel()
	layer := fstest.MapFS{
		serviceFile:            {Data: []byte("replaced")},
		siteFile:               {Data: []byte("replaced as well")},
		"components/site/more": {Data: []byte("added")},
		"README.md":            {Data: []byte("outside of the tree")},
		"base/..data/x":        {Data: []byte("ignored, as in a mounted ConfigMap")},
	}
	tree, err := LoadTree(manifests.FS, layer)
	noError(t, err)
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

// A ConfigMap whose volume items have paths is mounted as links through ..data into a
// directory that is named after a time.
func TestLoadTree_ReadsAMountedConfigMap(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	version := filepath.Join(dir, "..2026_11_20")
	site := component + "labels: [{pairs: {mounted: \"yes\"}}]\n"
	for name, content := range map[string]string{"kustomization.yaml": site, "note.txt": "unused"} {
		file := filepath.Join(version, "components/site", name)
		noError(t, os.MkdirAll(filepath.Dir(file), 0o700))
		noError(t, os.WriteFile(file, []byte(content), 0o600))
	}
	for link, target := range map[string]string{
		"..data":     "..2026_11_20",
		"components": "..data/components",
	} {
		noError(t, os.Symlink(target, filepath.Join(dir, link)))
	}
	tree, err := LoadTree(manifests.FS, os.DirFS(dir))
	noError(t, err)
	objects := mustRender(t, mustNew(t, tree, Defaults{}), plain())
	for _, object := range objects {
		if object.GetLabels()["mounted"] != "yes" {
			t.Errorf("%s has labels %v: the mounted file is ignored", object.GetKind(), object.GetLabels())
		}
	}
}

func TestNew_RejectsAnEmptyTree(t *testing.T) {
	t.Parallel()
	if _, err := New(Tree{}, Defaults{}); err == nil || !strings.Contains(err.Error(), "base") {
		t.Errorf("an empty tree: %v", err)
	}
}
