// SPDX-License-Identifier: Apache-2.0

package template

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
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
	// siteComponent is always active and always last: it is reserved for users' changes.
	siteComponent = "site"
	// MemcachedFile contains the example Memcached, which a build replaces by that of its input.
	MemcachedFile = "base/memcached.yaml"
	// ValuesFile contains the example Values, which a build replaces by those of its input.
	ValuesFile = "base/values.yaml"
	// ParametersFile declares parameters. No kustomization lists it.
	ParametersFile = "base/parameters.yaml"

	kustomizationFile = "kustomization.yaml"

	// maxTreeBytes is the maximum size of a layer: four times the largest ConfigMap, by
	// which a directory is usually mounted into a pod.
	maxTreeBytes = 4 << 20
)

// Tree is a set of template files by slash-separated path, such as
// base/deployment.yaml or components/site/kustomization.yaml.
type Tree map[string][]byte

// LoadTree reads layers, each of which overrides the ones before it, path by path. It
// reads the directories base and components, follows symbolic links, and ignores names
// that begin with "..": a mounted ConfigMap has both.
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
		return fmt.Errorf("%s: directories are nested too deeply; check for a symbolic link to a parent directory", dir)
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
			return fmt.Errorf("%s: the templates exceed %d bytes", name, maxTreeBytes)
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

// Digest returns a digest of the paths and the contents of all files.
func (t Tree) Digest() string {
	hash := sha256.New()
	for _, name := range slices.Sorted(maps.Keys(t)) {
		fmt.Fprintf(hash, "%s %d\n%s", name, len(t[name]), t[name])
	}
	return hex.EncodeToString(hash.Sum(nil))
}

// sameIn reports whether both trees contain the same files, byte for byte, below dir.
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

// components returns the names of the directories below components, sorted, without site.
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

// root returns the kustomization on top of base, components and site.
func (t Tree) root(components []string) string { return rootOf(t.withSite(components)) }

// withSite returns components and site, if there is one.
func (t Tree) withSite(components []string) []string {
	if !t.hasDir(componentsDir + "/" + siteComponent) {
		return components
	}
	return append(slices.Clone(components), siteComponent)
}

// rootOf returns the kustomization on top of base and components.
func rootOf(components []string) string {
	var b strings.Builder
	b.WriteString("resources:\n- " + baseDir + "\n")
	if len(components) > 0 {
		b.WriteString("components:\n")
	}
	for _, name := range components {
		fmt.Fprintf(&b, "- %s/%s\n", componentsDir, name)
	}
	return b.String()
}
