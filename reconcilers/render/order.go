// SPDX-License-Identifier: Apache-2.0

package render

import (
	"fmt"
	"path"
	"slices"
	"strings"

	"sigs.k8s.io/kustomize/api/types"
)

// order walks kustomizations in the order in which kustomize runs them, and looks
// for what cannot be moved before a replacement: what it does depends on the very
// value that was filled in, so that comparing a few builds proves nothing about the
// next one. Examples: images, which finds an image by its name; a patch that merges
// ports by containerPort; a patch that removes a key of a map with null.
type order struct {
	tree           Tree
	kustomizations map[string]*types.Kustomization
	// filled has the last step of every path that was filled in so far.
	filled map[string]bool
}

// dependsOnValues tells whether something below dir does.
func (o order) dependsOnValues(dir string) (bool, error) {
	k, ok := o.kustomizations[dir]
	if !ok {
		return false, nil
	}
	for _, child := range slices.Concat(k.Resources, k.Components) {
		if depends, err := o.dependsOnValues(path.Join(dir, child)); depends || err != nil {
			return depends, err
		}
	}
	if len(o.filled) > 0 {
		if len(k.Images) > 0 {
			return true, nil
		}
		for i, patch := range k.Patches {
			depends, err := o.patchDepends(dir, patch)
			if err != nil {
				return false, fmt.Errorf("%s: patches[%d]: %w", path.Join(dir, kustomizationFile), i, err)
			}
			if depends {
				return true, nil
			}
		}
	}
	replacements, err := o.tree.replacementsIn(dir, k)
	if err != nil {
		return false, err
	}
	for _, r := range replacements {
		for _, target := range r.filter.Replacements[0].Targets {
			for _, fieldPath := range target.FieldPaths {
				o.filled[fieldPath[strings.LastIndex(fieldPath, ".")+1:]] = true
			}
		}
	}
	return false, nil
}

func (o order) patchDepends(dir string, patch types.Patch) (bool, error) {
	if patch.Target != nil && patch.Target.LabelSelector+patch.Target.AnnotationSelector != "" {
		return true, nil
	}
	text := []byte(patch.Patch)
	if patch.Path != "" {
		text = o.tree[path.Join(dir, patch.Path)]
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
		if o.mergeDepends(fields) {
			return true, nil
		}
	}
	return false, nil
}

// mergeDepends tells whether merging value, a part of a strategic merge patch,
// depends on what it is merged into.
func (o order) mergeDepends(value any) bool {
	switch v := value.(type) {
	case nil:
		return true
	case map[string]any:
		for key, item := range v {
			if strings.HasPrefix(key, "$") && key != "$patch" || o.mergeDepends(item) {
				return true
			}
		}
	case []any:
		return slices.ContainsFunc(v, o.mergeDepends) || slices.ContainsFunc(v, o.mergesByFilled)
	}
	return false
}

// mergesByFilled tells whether an item of a list can be merged by a number that was
// filled in, as ports are.
func (o order) mergesByFilled(item any) bool {
	fields, _ := item.(map[string]any)
	for key, value := range fields {
		if _, isInt := value.(int); isInt && o.filled[key] {
			return true
		}
	}
	return false
}
