// SPDX-License-Identifier: Apache-2.0

package template

import (
	"fmt"
	"path"
	"regexp"
	"slices"
	"strings"

	"sigs.k8s.io/kustomize/api/types"
	"sigs.k8s.io/kustomize/kyaml/utils"
	"sigs.k8s.io/yaml"
)

// valueDependence walks kustomizations in the order in which kustomize runs them and looks for steps whose effect
// depends on a value that an earlier replacement filled in, so that comparing the builds of two inputs proves nothing
// about a third: a patch that selects objects by labels, tests a value, merges an item of a list by a key that was
// filled in, or removes what is below a value that was filled in; and an images transformer. What a step writes in any
// case, or reads at a fixed path, the comparison shows.
type valueDependence struct {
	parsed
	// filled holds the paths that were filled in so far. A step into a list is "*".
	filled [][]string
}

// dependsOnValues says how a build of p depends on values in this way; it is empty if it does not.
func (p parsed) dependsOnValues() (string, error) {
	return (&valueDependence{parsed: p}).in(".")
}

// in looks at the kustomization in dir and at those that it lists.
func (d *valueDependence) in(dir string) (string, error) {
	k, ok := d.kustomizations[dir]
	if !ok {
		return "", nil
	}
	for _, child := range slices.Concat(k.Resources, k.Components) {
		if found, err := d.in(path.Join(dir, child)); found != "" || err != nil {
			return found, err
		}
	}
	if len(k.Images) > 0 && slices.ContainsFunc(d.filled, func(f []string) bool { return f[len(f)-1] == "image" }) {
		return path.Join(dir, kustomizationFile) + ": images selects images by their names, which replacements fill in", nil
	}
	for i, patch := range k.Patches {
		if found, err := d.inPatch(dir, patch); found != "" || err != nil {
			return prefixedUnlessEmpty(fmt.Sprintf("%s: patches[%d]", path.Join(dir, kustomizationFile), i), found), err
		}
	}
	replacements, err := d.replacementsIn(dir)
	for _, r := range replacements {
		for _, target := range r.filter.Replacements[0].Targets {
			for _, fieldPath := range target.FieldPaths {
				d.filled = append(d.filled, steps(fieldPath))
			}
		}
	}
	return "", err
}

func prefixedUnlessEmpty(prefix, text string) string {
	if text == "" {
		return ""
	}
	return prefix + ": " + text
}

// listSteps matches the steps of a path of a replacement that lead into a list.
var listSteps = regexp.MustCompile(`^(\*|-|[0-9]+|\[.*=.*\])$`)

// steps returns the steps of fieldPath, a path of a replacement.
func steps(fieldPath string) []string {
	path := utils.SmarterPathSplitter(fieldPath, ".")
	for i, step := range path {
		if listSteps.MatchString(step) {
			path[i] = "*"
		}
	}
	return path
}

func (d *valueDependence) inPatch(dir string, patch types.Patch) (string, error) {
	if len(d.filled) == 0 {
		return "", nil
	}
	if patch.Target != nil && patch.Target.LabelSelector+patch.Target.AnnotationSelector != "" {
		return "it selects objects by labels or annotations, which replacements fill in", nil
	}
	text := []byte(patch.Patch)
	if patch.Path != "" {
		text = d.tree[path.Join(dir, patch.Path)]
	}
	var operations []struct{ Op string }
	if yaml.Unmarshal(text, &operations) == nil {
		if slices.ContainsFunc(operations, func(o struct{ Op string }) bool { return o.Op == "test" }) {
			return "it tests a value, which replacements may fill in", nil
		}
		return "", nil
	}
	nodes, err := parseDocuments(text)
	if err != nil {
		return "", err
	}
	for _, node := range nodes {
		fields, err := node.Map()
		if err != nil {
			return "", err
		}
		if found := d.inMerge(fields, nil); found != "" {
			return found, nil
		}
	}
	return "", nil
}

// mergeKeys are the fields by which kustomize merges the items of lists, in the schemas of Kubernetes.
var mergeKeys = []string{"name", "containerPort", "port", "protocol", "mountPath", "devicePath", "ip", "type", "topologyKey", "whenUnsatisfiable", "uid"}

// inMerge looks at value, a part of a strategic merge patch at path.
func (d *valueDependence) inMerge(value any, path []string) string {
	switch v := value.(type) {
	case map[string]any:
		for key, item := range v {
			inner := append(slices.Clone(path), key)
			switch {
			case (item == nil || strings.HasPrefix(key, "$")) && d.isFilled(path):
				return "it removes a part of " + strings.Join(path, ".") + ", which a replacement fills in"
			case len(path) > 0 && path[len(path)-1] == "*" && slices.Contains(mergeKeys, key) && d.isFilled(inner):
				return "it merges items by " + strings.Join(inner, ".") + ", which a replacement fills in"
			}
			if found := d.inMerge(item, inner); found != "" {
				return found
			}
		}
	case []any:
		for _, item := range v {
			if found := d.inMerge(item, append(slices.Clone(path), "*")); found != "" {
				return found
			}
		}
	}
	return ""
}

// isFilled reports whether the value at path is, or is a part of, one that a replacement has filled in.
func (d *valueDependence) isFilled(path []string) bool {
	return slices.ContainsFunc(d.filled, func(filled []string) bool {
		if len(filled) > len(path) {
			return false
		}
		for i, step := range filled {
			if step != path[i] && step != "*" {
				return false
			}
		}
		return true
	})
}
