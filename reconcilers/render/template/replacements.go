// SPDX-License-Identifier: Apache-2.0

package template

import (
	"errors"
	"fmt"
	"path"
	"regexp"
	"slices"

	"sigs.k8s.io/kustomize/api/filters/replacement"
	"sigs.k8s.io/kustomize/api/types"
	"sigs.k8s.io/kustomize/kyaml/utils"
	"sigs.k8s.io/yaml"
)

// sourcedReplacement is a replacement with the file and position of its definition, for
// error messages.
type sourcedReplacement struct {
	where  string
	filter replacement.Filter
}

// byValue matches the step of a field path that selects an item by one of its fields.
var byValue = regexp.MustCompile(`\[([^]=]+)=`)

// inputSource returns the path below Input.fields of the value that r reads; nil if it
// does not read the input. options reports whether it reads a part of the value only.
func (r sourcedReplacement) inputSource() (path []any, options bool) {
	from := r.filter.Replacements[0].Source
	if from == nil || from.Kind != memcachedKind && from.Kind != valuesKind {
		return nil, false
	}
	path = []any{from.Kind}
	for _, step := range utils.SmarterPathSplitter(from.FieldPath, ".") {
		path = append(path, step)
	}
	return path, from.Options != nil
}

// replacements returns the replacements below dir in the order in which kustomize runs
// them: those of a directory follow those of its resources and components.
func (s source) replacements(dir string) ([]sourcedReplacement, error) {
	k, ok := s.kustomizations[dir]
	if !ok {
		return nil, nil
	}
	var result []sourcedReplacement
	for _, child := range slices.Concat(k.Resources, k.Components) {
		nested, err := s.replacements(path.Join(dir, child))
		if err != nil {
			return nil, err
		}
		result = append(result, nested...)
	}
	own, err := s.replacementsIn(dir)
	return append(result, own...), err
}

// replacementsIn returns the replacements of the kustomization in dir. The error joins those of
// the ones that are left out.
func (s source) replacementsIn(dir string) (result []sourcedReplacement, err error) {
	var errs []error
	for i, field := range s.kustomizations[dir].Replacements {
		where := fmt.Sprintf("%s: replacements[%d]", path.Join(dir, kustomizationFile), i)
		list := []types.Replacement{field.Replacement}
		if field.Path != "" {
			where = path.Join(dir, field.Path)
			if list, err = parseReplacements(s.tree[where]); err != nil {
				errs = append(errs, prefixed(where, err)...)
				continue
			}
		}
		for _, r := range list {
			if slices.Contains(r.Targets, nil) {
				errs = append(errs, fmt.Errorf("%s: a target is empty", where))
				continue
			}
			setDefaults(&r)
			result = append(result, sourcedReplacement{where, replacement.Filter{Replacements: []types.Replacement{r}}})
		}
	}
	return result, errors.Join(errs...)
}

func parseReplacements(content []byte) ([]types.Replacement, error) {
	var document any
	if err := yaml.Unmarshal(content, &document); err != nil {
		return nil, err
	}
	if _, isList := document.([]any); isList {
		var list []types.Replacement
		err := DecodeStrict(content, &list)
		return list, err
	}
	var one types.Replacement
	err := DecodeStrict(content, &one)
	return []types.Replacement{one}, err
}

// setDefaults sets the defaults that the filter would set when it runs: it would write to
// a value that goroutines share.
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
