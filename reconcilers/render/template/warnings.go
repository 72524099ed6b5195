// SPDX-License-Identifier: Apache-2.0

package template

import (
	"bytes"
	"fmt"
	"maps"
	"path"
	"slices"
	"strings"

	"sigs.k8s.io/kustomize/api/types"
	"sigs.k8s.io/kustomize/kyaml/utils"
	kyaml "sigs.k8s.io/kustomize/kyaml/yaml"
)

// Warnings returns what has no effect in the files that differ from shipped: files and
// directories that no kustomization lists, and constants that a replacement of components, which
// are always active, overwrites.
func (t *Templates) Warnings(shipped Tree, components []string) Problems {
	changed := func(name string) bool { return !bytes.Equal(t.tree[name], shipped[name]) }
	errs := t.unlisted(changed)
	top, err := t.withRoot(t.tree.root(components))
	if err != nil {
		return t.tree.Problems(append(errs, err)...)
	}
	replacements, err := top.replacements(".")
	errs = append(errs, err)
	for _, name := range slices.Sorted(maps.Keys(t.tree)) {
		if shipped[name] != nil && changed(name) && !isKustomization(name) {
			errs = append(errs, overwritten(name, t.tree[name], shipped[name], replacements)...)
		}
	}
	return t.tree.Problems(errs...)
}

// unlisted returns an error for each file and directory, of those that changed reports, that no
// kustomization lists. Pages (.md) and hidden files are expected to have no effect.
func (t *Templates) unlisted(changed func(string) bool) (errs []error) {
	listed := map[string]bool{}
	t.list(baseDir, listed)
	for _, name := range append(t.Components(), siteComponent) {
		t.list(path.Join(componentsDir, name), listed)
	}
	for _, name := range slices.Sorted(maps.Keys(t.tree)) {
		dir := path.Dir(name)
		switch {
		case !isKustomization(name) || listed[dir]:
			continue
		case changed(name):
			errs = append(errs, Problem{File: name, Message: fmt.Sprintf("no kustomization lists the directory %s, so it has no effect; add it to the resources or components of one, or remove it", dir)})
		}
		t.list(dir, listed) // One warning for the directory is enough.
	}
	for _, name := range slices.Sorted(maps.Keys(t.tree)) {
		if listed[name] || name == ParametersFile || isKustomization(name) || !changed(name) || path.Ext(name) == ".md" || strings.HasPrefix(path.Base(name), ".") {
			continue
		}
		errs = append(errs, Problem{File: name, Message: fmt.Sprintf("no kustomization lists this file, so it has no effect; %s, or remove it", t.whereToList(name))})
	}
	return errs
}

// list adds dir, and the files and directories that its kustomization names, to listed.
func (p parsed) list(dir string, listed map[string]bool) {
	if listed[dir] || p.kustomizations[dir] == nil {
		return
	}
	listed[dir] = true
	for _, file := range namedFiles(p.kustomizations[dir]) {
		target := path.Join(dir, file.target)
		p.list(target, listed)
		listed[target] = true
	}
}

// whereToList says what to do so that the file name has an effect.
func (p parsed) whereToList(name string) string {
	for dir := path.Dir(name); dir != "."; dir = path.Dir(dir) {
		if p.kustomizations[dir] != nil {
			return fmt.Sprintf("add it to the resources of %s/%s", dir, kustomizationFile)
		}
	}
	return fmt.Sprintf("move it to %s/%s and list it in the kustomization there", componentsDir, siteComponent)
}

// overwritten returns an error for each value that differs between content and shipped, two
// versions of the file name, and that one of replacements overwrites.
func overwritten(name string, content, shipped []byte, replacements []locatedReplacement) (errs []error) {
	now, _ := parseDocuments(content)
	before, _ := parseDocuments(shipped)
	for _, node := range now {
		i := slices.IndexFunc(before, func(other *kyaml.RNode) bool {
			return other.GetKind() == node.GetKind() && other.GetName() == node.GetName()
		})
		if i < 0 {
			continue
		}
		for _, r := range replacements {
			for _, target := range r.filter.Replacements[0].Targets {
				for _, found := range overwrittenBy(target, node, before[i]) {
					errs = append(errs, Problem{File: name, Line: found.line, Object: node.GetKind() + " " + node.GetName(), Path: found.path, Message: fmt.Sprintf(
						"this value has no effect: %s overwrites it with %s; set that one, or remove the target of the replacement", joined(r.file, r.item), describeSource(r))})
				}
			}
		}
	}
	return errs
}

// constant is a value in a template.
type constant struct {
	path string
	line int
}

// overwrittenBy returns the values of node at the paths of target that differ from those of before.
func overwrittenBy(target *types.TargetSelector, node, before *kyaml.RNode) (found []constant) {
	if target.Options != nil && target.Options.Delimiter != "" {
		return nil // It overwrites a part of the value.
	}
	for _, fieldPath := range targeted(target, node) {
		now, old := valuesAt(node, fieldPath), valuesAt(before, fieldPath)
		if len(now) != len(old) {
			continue
		}
		for i := range now {
			a, errA := kyaml.NewRNode(now[i]).String()
			b, errB := kyaml.NewRNode(old[i]).String()
			if errA == nil && errB == nil && a != b {
				found = append(found, constant{fieldPath, now[i].Line})
			}
		}
	}
	return found
}

// valuesAt returns the values at a path of a replacement.
func valuesAt(node *kyaml.RNode, fieldPath string) []*kyaml.Node {
	found, err := node.Pipe(&kyaml.PathMatcher{Path: utils.SmarterPathSplitter(fieldPath, ".")})
	if err != nil || found == nil {
		return nil
	}
	return found.Content()
}

// describeSource describes the value that r copies.
func describeSource(r locatedReplacement) string {
	from := r.filter.Replacements[0].Source
	switch {
	case from == nil:
		return "its sourceValue"
	case from.Kind == memcachedKind:
		return from.FieldPath + " of the Memcached"
	case from.Kind == valuesKind:
		return from.FieldPath + " of Values, which the operator computes from the Memcached and its environment"
	default:
		return fmt.Sprintf("%s of %s %s", from.FieldPath, from.Kind, from.Name)
	}
}
