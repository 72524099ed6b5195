// SPDX-License-Identifier: Apache-2.0

package render

import (
	"errors"
	"fmt"
	"maps"
	"path"
	"slices"
	"strings"

	"sigs.k8s.io/json"
	"sigs.k8s.io/kustomize/api/types"
	"sigs.k8s.io/yaml"
)

// refusedFields are the fields of a kustomization that templates may not use, each
// with the reason and the way out. What kustomize itself would refuse is not listed.
var refusedFields = map[string]string{
	"openapi":                     "kustomize keeps one schema for the whole process",
	"generators":                  "plugins and exec are not run; use configMapGenerator",
	"transformers":                "plugins and exec are not run; use patches or replacements",
	"validators":                  "plugins and exec are not run",
	"helmCharts":                  "Helm is not run; render the chart and add the files",
	"helmGlobals":                 "Helm is not run; render the chart and add the files",
	"helmChartInflationGenerator": "Helm is not run; render the chart and add the files",
	"crds":                        "not supported; write references as replacements",
	"configurations":              "not supported; write references as replacements",
	"vars":                        "deprecated by kustomize; use replacements",
	"bases":                       "deprecated by kustomize; use resources",
	"imageTags":                   "deprecated by kustomize; use images",
	"patchesStrategicMerge":       "deprecated by kustomize; use patches",
	"patchesJson6902":             "deprecated by kustomize; use patches",
	"commonLabels":                "it changes selectors, which are immutable; use labels",
	"namespace":                   "the operator sets the namespace",
	"namePrefix":                  "the operator sets the names",
	"nameSuffix":                  "the operator sets the names",
	"secretGenerator":             "the operator reads and writes no Secrets; mount one by name",
	"sortOptions":                 "the operator orders the objects",
	"buildMetadata":               "the annotations would be part of the objects",
}

// kustomizations parses and checks every kustomization file of the tree, by the
// path of its directory.
func (t Tree) kustomizations() (map[string]*types.Kustomization, error) {
	result := map[string]*types.Kustomization{}
	for _, name := range slices.Sorted(maps.Keys(t)) {
		if !isKustomization(name) {
			continue
		}
		dir := path.Dir(name)
		if _, found := result[dir]; found {
			return nil, fmt.Errorf("%s: another kustomization file is in %s; keep one of them", name, dir)
		}
		k, err := t.kustomization(name)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", name, err)
		}
		result[dir] = k
	}
	return result, nil
}

// checkCycles rejects directories that list each other.
func checkCycles(kustomizations map[string]*types.Kustomization) error {
	var visit func(dir string, above []string) error
	visit = func(dir string, above []string) error {
		k := kustomizations[dir]
		if k == nil {
			return nil
		}
		if slices.Contains(above, dir) {
			return fmt.Errorf("%s/%s: cycle: it lists itself, by way of %s", above[len(above)-1], kustomizationFile, strings.Join(append(above, dir), ", "))
		}
		for _, child := range slices.Concat(k.Resources, k.Components) {
			if err := visit(path.Join(dir, child), append(above, dir)); err != nil {
				return err
			}
		}
		return nil
	}
	for _, dir := range slices.Sorted(maps.Keys(kustomizations)) {
		if err := visit(dir, nil); err != nil {
			return err
		}
	}
	return nil
}

func (t Tree) kustomization(name string) (*types.Kustomization, error) {
	var fields map[string]any
	if err := decodeStrict(t[name], &fields); err != nil {
		return nil, err
	}
	for _, field := range slices.Sorted(maps.Keys(fields)) {
		if reason, refused := refusedFields[field]; refused {
			return nil, fmt.Errorf("field %q is refused: %s", field, reason)
		}
	}
	k := &types.Kustomization{}
	if err := decodeStrict(t[name], k); err != nil {
		return nil, err
	}
	for i, label := range k.Labels {
		if label.IncludeSelectors {
			return nil, fmt.Errorf("labels[%d].includeSelectors is refused: it changes selectors, which are immutable; use includeTemplates", i)
		}
	}
	for _, file := range namedFiles(k) {
		if err := t.checkPath(path.Dir(name), file); err != nil {
			return nil, err
		}
	}
	return k, nil
}

// decodeStrict reads YAML; a field that is unknown, written in another case or
// written twice is an error. Kustomize itself takes fields in any case, which would
// let them pass by what is refused here.
func decodeStrict(content []byte, into any) error {
	asJSON, err := yaml.YAMLToJSONStrict(content)
	if err != nil {
		return err
	}
	strict, err := json.UnmarshalStrict(asJSON, into)
	return errors.Join(append(strict, err)...)
}

// namedFile is a file or directory that a kustomization names.
type namedFile struct {
	// field is where it is named.
	field, target string
	// content tells what the file holds.
	content content
}

type content int

const (
	anything content = iota
	objects
	patches
)

func namedFiles(k *types.Kustomization) []namedFile {
	var files []namedFile
	for _, target := range k.Resources {
		files = append(files, namedFile{"resources", target, objects})
	}
	for _, target := range k.Components {
		files = append(files, namedFile{"components", target, anything})
	}
	for i, patch := range k.Patches {
		if patch.Path != "" {
			files = append(files, namedFile{fmt.Sprintf("patches[%d].path", i), patch.Path, patches})
		}
	}
	for i, replacement := range k.Replacements {
		if replacement.Path != "" {
			files = append(files, namedFile{fmt.Sprintf("replacements[%d].path", i), replacement.Path, anything})
		}
	}
	for i, generator := range k.ConfigMapGenerator {
		sources := slices.Concat(generator.FileSources, generator.EnvSources)
		if generator.EnvSource != "" {
			sources = append(sources, generator.EnvSource)
		}
		for _, source := range sources {
			target := source[strings.Index(source, "=")+1:]
			files = append(files, namedFile{fmt.Sprintf("configMapGenerator[%d]", i), target, anything})
		}
	}
	return files
}

// checkPath refuses a path that leads out of the tree or that kustomize could take
// for a URL, even when there is a directory of that name: it would fetch it.
func (t Tree) checkPath(dir string, file namedFile) error {
	resolved := path.Join(dir, file.target)
	remote := strings.ContainsAny(file.target, ":@?") ||
		strings.HasPrefix(strings.ToLower(file.target), "github.com/")
	if _, isFile := t[resolved]; !remote && !path.IsAbs(file.target) && (isFile || t.hasDir(resolved)) {
		return nil
	}
	return fmt.Errorf("%s: %q is not in the templates (remote and absolute paths are refused)", file.field, file.target)
}
