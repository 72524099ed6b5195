// SPDX-License-Identifier: Apache-2.0

package render

import (
	"fmt"
	"maps"
	"path"
	"slices"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/kustomize/api/filters/replacement"
	"sigs.k8s.io/kustomize/api/types"
	"sigs.k8s.io/kustomize/kyaml/resid"
	"sigs.k8s.io/yaml"
)

// located is a replacement and where it is written, for error messages.
type located struct {
	where  string
	filter replacement.Filter
}

// replacements collects the replacements in the order in which kustomize runs them:
// those of a directory come after those of what it is made of.
func (t Tree) replacements(dir string, kustomizations map[string]*types.Kustomization) ([]located, error) {
	var result []located
	k, ok := kustomizations[dir]
	if !ok {
		return nil, nil
	}
	for _, children := range [][]string{k.Resources, k.Components} {
		for _, child := range children {
			nested, err := t.replacements(path.Join(dir, child), kustomizations)
			if err != nil {
				return nil, err
			}
			result = append(result, nested...)
		}
	}
	own, err := t.replacementsIn(dir, k)
	return append(result, own...), err
}

// replacementsIn are the replacements of k itself, which is in dir.
func (t Tree) replacementsIn(dir string, k *types.Kustomization) ([]located, error) {
	var result []located
	for i, field := range k.Replacements {
		where := fmt.Sprintf("%s: replacements[%d]", path.Join(dir, kustomizationFile), i)
		list := []types.Replacement{field.Replacement}
		if field.Path != "" {
			where = path.Join(dir, field.Path)
			var err error
			if list, err = parseReplacements(t[where]); err != nil {
				return nil, fmt.Errorf("%s: %w", where, err)
			}
		}
		for _, r := range list {
			if slices.Contains(r.Targets, nil) {
				return nil, fmt.Errorf("%s: a target is empty", where)
			}
			setDefaults(&r)
			result = append(result, located{where, replacement.Filter{Replacements: []types.Replacement{r}}})
		}
	}
	return result, nil
}

func parseReplacements(content []byte) ([]types.Replacement, error) {
	var document any
	if err := yaml.Unmarshal(content, &document); err != nil {
		return nil, err
	}
	if _, isList := document.([]any); isList {
		var list []types.Replacement
		err := decodeStrict(content, &list)
		return list, err
	}
	var one types.Replacement
	err := decodeStrict(content, &one)
	return []types.Replacement{one}, err
}

// setDefaults sets what the filter would otherwise set when it runs, in a value
// that goroutines share.
func setDefaults(r *types.Replacement) {
	if r.Source != nil && r.Source.FieldPath == "" {
		r.Source.FieldPath = types.DefaultReplacementFieldPath
	}
	for _, target := range r.Targets {
		if len(target.FieldPaths) == 0 {
			target.FieldPaths = []string{types.DefaultReplacementFieldPath}
		}
	}
}

// checkTargets refuses a replacement with a target that selects no object of any
// file: kustomize would pass over it in silence.
func (t Tree) checkTargets(kustomizations map[string]*types.Kustomization) error {
	ids, err := t.objectIDs(kustomizations)
	if err != nil {
		return err
	}
	for _, dir := range slices.Sorted(maps.Keys(kustomizations)) {
		replacements, err := t.replacementsIn(dir, kustomizations[dir])
		if err != nil {
			return err
		}
		for _, r := range replacements {
			for _, target := range r.filter.Replacements[0].Targets {
				if target.Select == nil {
					return fmt.Errorf("%s: a target has no select", r.where)
				}
				selector, err := types.NewTargetSelectorRegex(target)
				if err != nil {
					return fmt.Errorf("%s: %w", r.where, err)
				}
				if !slices.ContainsFunc(ids, selector.Selects) {
					return fmt.Errorf("%s: no object of the templates is selected by %s %s", r.where, target.Select.Kind, target.Select.Name)
				}
			}
		}
	}
	return nil
}

// objectIDs are the identities of all objects that stand in the files or are
// generated, whether or not a patch takes them away again.
func (t Tree) objectIDs(kustomizations map[string]*types.Kustomization) ([]resid.ResId, error) {
	var ids []resid.ResId
	for dir, k := range kustomizations {
		for _, target := range k.Resources {
			name := path.Join(dir, target)
			documents, err := readDocuments(t[name])
			if err != nil {
				return nil, fmt.Errorf("%s: %w", name, err)
			}
			for _, document := range documents {
				ids = append(ids, identities(&unstructured.Unstructured{Object: document})...)
			}
		}
		for _, generator := range k.ConfigMapGenerator {
			ids = append(ids, resid.NewResId(resid.Gvk{Version: "v1", Kind: "ConfigMap"}, generator.Name))
		}
	}
	return ids, nil
}

func identities(object *unstructured.Unstructured) []resid.ResId {
	if !object.IsList() {
		return []resid.ResId{resid.NewResId(gvk(object), object.GetName())}
	}
	var ids []resid.ResId
	items, _ := object.Object["items"].([]any)
	for _, item := range items {
		if fields, ok := item.(map[string]any); ok {
			ids = append(ids, identities(&unstructured.Unstructured{Object: fields})...)
		}
	}
	return ids
}
