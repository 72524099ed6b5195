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
)

// checkReplacements returns an error when a replacement reads a field that example does
// not set, or the name of another template.
func (s source) checkReplacements(example Input) error {
	for _, dir := range slices.Sorted(maps.Keys(s.kustomizations)) {
		replacements, err := s.replacementsIn(dir)
		if err != nil {
			return err
		}
		for _, replacement := range replacements {
			if err := replacement.checkSource(example); err != nil {
				return fmt.Errorf("%s: %w", replacement.where, err)
			}
		}
	}
	return nil
}

func (r sourcedReplacement) checkSource(example Input) error {
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

// checkTargets returns an error when a target of a replacement selects no object of any
// file, which kustomize ignores.
func (s source) checkTargets() error {
	ids, err := s.resourceIDs()
	if err != nil {
		return err
	}
	for _, dir := range slices.Sorted(maps.Keys(s.kustomizations)) {
		replacements, err := s.replacementsIn(dir)
		if err != nil {
			return err
		}
		for _, r := range replacements {
			for _, target := range r.filter.Replacements[0].Targets {
				if err := checkTarget(target, ids); err != nil {
					return fmt.Errorf("%s: %w", r.where, err)
				}
			}
		}
	}
	return nil
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
		return fmt.Errorf("the target %s %s selects no object of the templates", target.Select.Kind, target.Select.Name)
	}
	return nil
}
