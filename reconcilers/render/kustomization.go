// SPDX-License-Identifier: Apache-2.0

package render

import (
	"fmt"
	"maps"
	"path"
	"slices"
	"strings"

	"sigs.k8s.io/kustomize/api/konfig"
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
		if !slices.Contains(konfig.RecognizedKustomizationFileNames(), path.Base(name)) {
			continue
		}
		k, err := t.kustomization(name)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", name, err)
		}
		result[path.Dir(name)] = k
	}
	return result, nil
}

func (t Tree) kustomization(name string) (*types.Kustomization, error) {
	var fields map[string]any
	if err := yaml.Unmarshal(t[name], &fields); err != nil {
		return nil, err
	}
	for _, field := range slices.Sorted(maps.Keys(fields)) {
		if reason, refused := refusedFields[field]; refused {
			return nil, fmt.Errorf("field %q is refused: %s", field, reason)
		}
	}
	k := &types.Kustomization{}
	if err := k.Unmarshal(t[name]); err != nil {
		return nil, err
	}
	if err := t.checkPaths(path.Dir(name), k); err != nil {
		return nil, err
	}
	return k, nil
}

// checkPaths refuses every path that leads out of the tree, before kustomize would
// take it for a URL and fetch it.
func (t Tree) checkPaths(dir string, k *types.Kustomization) error {
	check := func(field, target string) error {
		resolved := path.Join(dir, target)
		if _, isFile := t[resolved]; isFile || t.hasDir(resolved) {
			return nil
		}
		return fmt.Errorf("%s: %q is not in the templates (remote and absolute paths are refused)", field, target)
	}
	for _, target := range k.Resources {
		if err := check("resources", target); err != nil {
			return err
		}
	}
	for _, target := range k.Components {
		if err := check("components", target); err != nil {
			return err
		}
	}
	for i, patch := range k.Patches {
		if patch.Path == "" {
			continue
		}
		if err := check(fmt.Sprintf("patches[%d].path", i), patch.Path); err != nil {
			return err
		}
	}
	for i, replacement := range k.Replacements {
		if replacement.Path == "" {
			continue
		}
		if err := check(fmt.Sprintf("replacements[%d].path", i), replacement.Path); err != nil {
			return err
		}
	}
	for i, generator := range k.ConfigMapGenerator {
		sources := slices.Concat(generator.FileSources, generator.EnvSources)
		if generator.EnvSource != "" {
			sources = append(sources, generator.EnvSource)
		}
		for _, source := range sources {
			target := source[strings.Index(source, "=")+1:]
			if err := check(fmt.Sprintf("configMapGenerator[%d]", i), target); err != nil {
				return err
			}
		}
	}
	return nil
}
