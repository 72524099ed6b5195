// SPDX-License-Identifier: Apache-2.0

package template

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"sigs.k8s.io/kustomize/api/types"
	"sigs.k8s.io/kustomize/kyaml/resid"
	kyaml "sigs.k8s.io/kustomize/kyaml/yaml"
)

// checkReplacements returns an error for each replacement that reads a field which example
// does not set, or the name of another template.
func (p parsed) checkReplacements(example Input) (errs []error) {
	for _, dir := range slices.Sorted(maps.Keys(p.kustomizations)) {
		replacements, err := p.replacementsIn(dir)
		errs = append(errs, err)
		for _, replacement := range replacements {
			errs = append(errs, In(replacement.file, replacement.item, replacement.checkSource(example)))
		}
	}
	return errs
}

func (r locatedReplacement) checkSource(example Input) error {
	from := r.filter.Replacements[0].Source
	if from == nil {
		if r.filter.Replacements[0].SourceValue == nil {
			return errors.New("source is missing")
		}
		return nil
	}
	path, _ := r.inputSource()
	if path == nil {
		if from.FieldPath == types.DefaultReplacementFieldPath {
			return fmt.Errorf("the source is metadata.name of %s %s, which differs for each Memcached; write the name into a field that kustomize knows as a reference", from.Kind, from.Name)
		}
		return nil
	}
	if strings.ContainsAny(from.FieldPath, "[*") || Lookup(example.fields(), path) != nil {
		return nil
	}
	file := MemcachedFile
	if from.Kind == valuesKind {
		file = ValuesFile
	}
	return fmt.Errorf("the source is %s, which %s does not set; add an example value there", from.FieldPath, file)
}

// checkTargets returns an error for each target of a replacement that selects no object of
// any file, which kustomize ignores.
func (p parsed) checkTargets() (errs []error) {
	ids, err := p.resourceIDs()
	if err != nil {
		return nil // checkFiles reports the file that cannot be read.
	}
	for _, dir := range slices.Sorted(maps.Keys(p.kustomizations)) {
		replacements, _ := p.replacementsIn(dir) // checkReplacements reports its error.
		for _, r := range replacements {
			for _, target := range r.filter.Replacements[0].Targets {
				errs = append(errs, In(r.file, r.item, checkTarget(target, ids)))
			}
		}
	}
	return errs
}

func checkTarget(target *types.TargetSelector, ids []resid.ResId) error {
	if target.Select == nil {
		return errors.New("a target has no select")
	}
	selector, err := types.NewTargetSelectorRegex(target)
	if err != nil {
		return err
	}
	if !slices.ContainsFunc(ids, selector.Selects) {
		return fmt.Errorf("the target %s %s selects no object of the templates; correct it, or remove the target", target.Select.Kind, target.Select.Name)
	}
	return nil
}

// checkShapes returns an error for each replacement that copies a map or a list of example into a field that holds a
// single value: kustomize leaves it empty.
func (s *Set) checkShapes(example Input) (errs []error) {
	fields := example.fields()
	for _, r := range s.replacements {
		path, options := r.inputSource()
		if path == nil || options {
			continue
		}
		shape := ""
		switch Lookup(fields, path).(type) {
		case map[string]any:
			shape = "map"
		case []any:
			shape = "list"
		default:
			continue
		}
		for _, target := range r.filter.Replacements[0].Targets {
			for _, node := range s.nodes {
				for _, field := range targeted(target, node) {
					if found := valuesAt(node, field); len(found) > 0 && found[0].Kind == kyaml.ScalarNode {
						errs = append(errs, In(r.file, r.item, fmt.Errorf("it copies a %s, %s, to %s, which holds a single value and would become empty; copy one of its fields, or name another target",
							shape, Dotted(path), field)))
					}
				}
			}
		}
	}
	return errs
}

// targeted returns the field paths of target in node, none if it does not select node.
func targeted(target *types.TargetSelector, node *kyaml.RNode) []string {
	selector, err := types.NewTargetSelectorRegex(target)
	id := resid.NewResId(resid.GvkFromNode(node), node.GetName())
	if err != nil || !selector.Selects(id) || selector.RejectsAny([]resid.ResId{id}) {
		return nil
	}
	return target.FieldPaths
}
