// SPDX-License-Identifier: Apache-2.0

package render

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"path"
	"slices"
	"strings"
)

const (
	baseDir       = "base"
	componentsDir = "components"
	// siteComponent is always on and always last: the place for a user's own changes.
	siteComponent = "site"
	// memcachedFile and valuesFile are where the inputs of a build are put.
	memcachedFile = "base/memcached.yaml"
	valuesFile    = "base/values.yaml"

	kustomizationFile = "kustomization.yaml"

	// maxTreeBytes bounds what is read from a layer: four times the largest
	// ConfigMap, which is how a directory usually arrives in a pod.
	maxTreeBytes = 4 << 20
)

// Tree is a set of template files by slash-separated path, such as
// base/deployment.yaml or components/site/kustomization.yaml.
type Tree map[string][]byte

// LoadTree reads layers, each laid over the ones before it, path by path. Only the
// directories base and components count; symbolic links are followed, and names
// that begin with ".." are passed over, as a mounted ConfigMap has both.
func LoadTree(layers ...fs.FS) (Tree, error) {
	tree := Tree{}
	for _, layer := range layers {
		files := Tree{}
		for _, dir := range []string{baseDir, componentsDir} {
			if _, err := fs.Stat(layer, dir); errors.Is(err, fs.ErrNotExist) {
				continue
			}
			if err := files.read(layer, dir, 0); err != nil {
				return nil, fmt.Errorf("reading templates: %w", err)
			}
		}
		maps.Copy(tree, files)
	}
	return tree, nil
}

func (t Tree) read(layer fs.FS, dir string, depth int) error {
	if depth > 16 {
		return fmt.Errorf("%s: directories are nested too deeply; is there a symbolic link that leads back?", dir)
	}
	entries, err := fs.ReadDir(layer, dir)
	if err != nil {
		return err
	}
	for _, entry := range entries {
		if strings.HasPrefix(entry.Name(), "..") {
			continue
		}
		name := path.Join(dir, entry.Name())
		info, err := fs.Stat(layer, name)
		if err != nil {
			return err
		}
		if info.IsDir() {
			if err := t.read(layer, name, depth+1); err != nil {
				return err
			}
			continue
		}
		content, err := fs.ReadFile(layer, name)
		if err != nil {
			return err
		}
		t[name] = content
		if t.bytes() > maxTreeBytes {
			return fmt.Errorf("%s: the templates hold more than %d bytes", name, maxTreeBytes)
		}
	}
	return nil
}

func (t Tree) bytes() int {
	n := 0
	for _, content := range t {
		n += len(content)
	}
	return n
}

func (t Tree) hasDir(dir string) bool {
	for name := range t {
		if strings.HasPrefix(name, dir+"/") {
			return true
		}
	}
	return false
}

// sameIn tells whether both trees hold the same files, byte for byte, below dir.
func (t Tree) sameIn(dir string, other Tree) bool {
	below := func(tree Tree) Tree {
		files := Tree{}
		for name, content := range tree {
			if strings.HasPrefix(name, dir+"/") {
				files[name] = content
			}
		}
		return files
	}
	return maps.EqualFunc(below(t), below(other), bytes.Equal)
}

// components are the names of the directories under components, sorted, without site.
func (t Tree) components() []string {
	seen := map[string]bool{}
	for name := range t {
		parts := strings.Split(name, "/")
		if len(parts) > 2 && parts[0] == componentsDir && parts[1] != siteComponent {
			seen[parts[1]] = true
		}
	}
	return slices.Sorted(maps.Keys(seen))
}

// root is the kustomization that puts base and components together. Its text is
// also the identity of a set of components.
func (t Tree) root(components []string) string {
	var b strings.Builder
	b.WriteString("resources:\n- " + baseDir + "\n")
	if t.hasDir(componentsDir + "/" + siteComponent) {
		components = append(slices.Clone(components), siteComponent)
	}
	if len(components) > 0 {
		b.WriteString("components:\n")
	}
	for _, name := range components {
		fmt.Fprintf(&b, "- %s/%s\n", componentsDir, name)
	}
	return b.String()
}
