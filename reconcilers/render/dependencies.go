// SPDX-License-Identifier: Apache-2.0

package render

import (
	"fmt"
	"path"
	"slices"
	"strings"

	"sigs.k8s.io/kustomize/api/types"
	"sigs.k8s.io/yaml"
)

// dependencies walks kustomizations in the order in which kustomize runs them, and
// looks for what depends on a value that a replacement before it filled in, so that
// comparing a few builds proves nothing about the next one. Examples: images, which
// finds an image by its name; a patch that merges ports by containerPort; a patch that
// removes a key of a map with null.
type dependencies struct {
	tree           Tree
	kustomizations map[string]*types.Kustomization
	// filled has the last step of every path that was filled in so far.
	filled map[string]bool
}

// onValues tells whether something below dir depends on values.
func (d dependencies) onValues(dir string) (bool, error) {
	k, ok := d.kustomizations[dir]
	if !ok {
		return false, nil
	}
	for _, child := range slices.Concat(k.Resources, k.Components) {
		if depends, err := d.onValues(path.Join(dir, child)); depends || err != nil {
			return depends, err
		}
	}
	if len(d.filled) > 0 {
		if len(k.Images) > 0 {
			return true, nil
		}
		for i, patch := range k.Patches {
			depends, err := d.patchDepends(dir, patch)
			if err != nil {
				return false, fmt.Errorf("%s: patches[%d]: %w", path.Join(dir, kustomizationFile), i, err)
			}
			if depends {
				return true, nil
			}
		}
	}
	replacements, err := d.tree.replacementsIn(dir, k)
	if err != nil {
		return false, err
	}
	for _, r := range replacements {
		for _, target := range r.filter.Replacements[0].Targets {
			for _, fieldPath := range target.FieldPaths {
				d.filled[fieldPath[strings.LastIndex(fieldPath, ".")+1:]] = true
			}
		}
	}
	return false, nil
}

func (d dependencies) patchDepends(dir string, patch types.Patch) (bool, error) {
	if patch.Target != nil && patch.Target.LabelSelector+patch.Target.AnnotationSelector != "" {
		return true, nil
	}
	text := []byte(patch.Patch)
	if patch.Path != "" {
		text = d.tree[path.Join(dir, patch.Path)]
	}
	if d.operationDepends(text) {
		return true, nil
	}
	nodes, err := parseDocuments(text)
	if err != nil {
		return false, err
	}
	for _, node := range nodes {
		fields, err := node.Map()
		if err != nil {
			return false, err
		}
		if d.mergeDepends(fields) {
			return true, nil
		}
	}
	return false, nil
}

// operationDepends tells whether text is a JSON patch that tests a value, or goes into
// one that was filled in: an index there depends on how many items it has.
func (d dependencies) operationDepends(text []byte) bool {
	var operations []struct {
		Op, Path, From string
	}
	if err := yaml.Unmarshal(text, &operations); err != nil {
		return false // It is another form of patch.
	}
	for _, o := range operations {
		for _, pointer := range []string{o.Path, o.From} {
			steps := strings.Split(pointer, "/")
			if o.Op == "test" || slices.ContainsFunc(steps[:len(steps)-1], func(step string) bool { return d.filled[step] }) {
				return true
			}
		}
	}
	return false
}

// mergeDepends tells whether merging value, a part of a strategic merge patch,
// depends on what it is merged into.
func (d dependencies) mergeDepends(value any) bool {
	switch v := value.(type) {
	case nil:
		return true
	case map[string]any:
		for key, item := range v {
			if strings.HasPrefix(key, "$") && key != "$patch" || d.mergeDepends(item) {
				return true
			}
		}
	case []any:
		return slices.ContainsFunc(v, d.mergeDepends) || slices.ContainsFunc(v, d.mergesByFilled)
	}
	return false
}

// mergesByFilled tells whether an item of a list can be merged by a number that was
// filled in, as ports are.
func (d dependencies) mergesByFilled(item any) bool {
	fields, _ := item.(map[string]any)
	for key, value := range fields {
		if _, isInt := value.(int); isInt && d.filled[key] {
			return true
		}
	}
	return false
}
