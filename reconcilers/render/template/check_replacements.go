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

// checkReplacements returns an error for each replacement that reads a field which example
// does not set, or the name of another template.
func (s source) checkReplacements(example Input) (errs []error) {
	for _, dir := range slices.Sorted(maps.Keys(s.kustomizations)) {
		replacements, err := s.replacementsIn(dir)
		errs = append(errs, err)
		for _, replacement := range replacements {
			errs = append(errs, prefixed(replacement.where, replacement.checkSource(example))...)
		}
	}
	return errs
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

// checkTargets returns an error for each target of a replacement that selects no object of
// any file, which kustomize ignores.
func (s source) checkTargets() (errs []error) {
	ids, err := s.resourceIDs()
	if err != nil {
		return nil // checkFiles reports the file that cannot be read.
	}
	for _, dir := range slices.Sorted(maps.Keys(s.kustomizations)) {
		replacements, _ := s.replacementsIn(dir) // checkReplacements reports its error.
		for _, r := range replacements {
			for _, target := range r.filter.Replacements[0].Targets {
				errs = append(errs, prefixed(r.where, checkTarget(target, ids))...)
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
