// SPDX-License-Identifier: Apache-2.0

package template

import (
	"fmt"
	"path"
	"slices"
	"strings"

	"sigs.k8s.io/kustomize/api/types"
	"sigs.k8s.io/yaml"
)

// dependencies walks kustomizations in the order in which kustomize runs them and looks
// for steps that depend on a value which an earlier replacement filled in: comparing a
// few builds does not verify other values then. Examples: an images transformer, which
// selects an image by its name; a patch that merges ports by containerPort; a patch that
// removes a key of a map with null.
type dependencies struct {
	source
	// filled holds the last step of every path that was filled in so far.
	filled map[string]bool
}

// dependsOnValues reports whether the result of a build of s depends on the values of
// the input other than by copies of them.
func (s source) dependsOnValues(replacements []sourcedReplacement) (bool, error) {
	if selectsByFilled(replacements) {
		return true, nil
	}
	return dependencies{s, map[string]bool{}}.onValues(".")
}

// selectsByFilled reports whether a replacement selects an item by a field that another
// one fills in: the selected item depends on the value.
func selectsByFilled(replacements []sourcedReplacement) bool {
	filled := map[string]bool{}
	for _, r := range replacements {
		for _, target := range r.filter.Replacements[0].Targets {
			if target.Select == nil {
				return true // checkTargets rejects it.
			}
			kind := target.Select.Kind
			for _, path := range target.FieldPaths {
				path = "." + path
				for _, step := range byValue.FindAllStringSubmatch(path, -1) {
					if filled[kind+"."+step[1]] {
						return true
					}
				}
				filled[kind+path[strings.LastIndex(path, "."):]] = true
			}
		}
	}
	return false
}

// onValues reports whether a step below dir depends on values.
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
	if depends, err := d.transformersDepend(dir, k); depends || err != nil {
		return depends, err
	}
	replacements, err := d.replacementsIn(dir)
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

// transformersDepend reports whether the images or the patches of k depend on values.
func (d dependencies) transformersDepend(dir string, k *types.Kustomization) (bool, error) {
	if len(d.filled) == 0 {
		return false, nil
	}
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

// operationDepends reports whether text is a JSON patch that tests a value, or whose path
// leads into one that was filled in: an index depends on the number of items.
func (d dependencies) operationDepends(text []byte) bool {
	var operations []struct {
		Op, Path, From string
	}
	if err := yaml.Unmarshal(text, &operations); err != nil {
		return false // It is a strategic merge patch.
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

// mergeDepends reports whether the result of merging value, a part of a strategic merge
// patch, depends on the values that it is merged into.
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

// mergesByFilled reports whether an item of a list may be merged by a number that was
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
