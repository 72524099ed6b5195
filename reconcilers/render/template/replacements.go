// SPDX-License-Identifier: Apache-2.0

package template

import (
	"errors"
	"fmt"
	"path"
	"slices"
	"strings"

	"sigs.k8s.io/kustomize/api/filters/replacement"
	"sigs.k8s.io/kustomize/api/types"
	"sigs.k8s.io/kustomize/kyaml/utils"
	kyaml "sigs.k8s.io/kustomize/kyaml/yaml"
	"sigs.k8s.io/yaml"
)

// locatedReplacement is a replacement with the file and the item of its definition, for messages.
type locatedReplacement struct {
	file, item string
	filter     replacement.Filter
}

// inputSource returns the path below Input.fields of the value that r reads; nil if it
// does not read the input. options reports whether it reads a part of the value only.
func (r locatedReplacement) inputSource() (path []any, options bool) {
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

// run runs the replacement on nodes, among which are the resources of an input with fields.
func (r locatedReplacement) run(nodes []*kyaml.RNode, fields map[string]any) (err error) {
	// Kustomize panics on some paths, which must not end the operator.
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("kustomize panicked: %v", p)
		}
	}()
	path, _ := r.inputSource()
	if path != nil && !strings.ContainsAny(Dotted(path), "[*") && Lookup(fields, path) == nil {
		return missingField(path)
	}
	_, err = r.filter.Filter(nodes)
	return err
}

// replacements returns the replacements below dir in the order in which kustomize runs
// them: those of a directory follow those of its resources and components.
func (p parsed) replacements(dir string) ([]locatedReplacement, error) {
	k, ok := p.kustomizations[dir]
	if !ok {
		return nil, nil
	}
	var result []locatedReplacement
	for _, child := range slices.Concat(k.Resources, k.Components) {
		nested, err := p.replacements(path.Join(dir, child))
		if err != nil {
			return nil, err
		}
		result = append(result, nested...)
	}
	own, err := p.replacementsIn(dir)
	return append(result, own...), err
}

// replacementsIn returns the replacements of the kustomization in dir. The error joins those of
// the ones that are left out.
func (p parsed) replacementsIn(dir string) (result []locatedReplacement, err error) {
	var errs []error
	for i, field := range p.kustomizations[dir].Replacements {
		file, item := path.Join(dir, kustomizationFile), fmt.Sprintf("replacements[%d]", i)
		list := []types.Replacement{field.Replacement}
		if field.Path != "" {
			file, item = path.Join(dir, field.Path), ""
			if list, err = parseReplacements(p.tree[file]); err != nil {
				errs = append(errs, In(file, item, err))
				continue
			}
		}
		for _, r := range list {
			if slices.Contains(r.Targets, nil) {
				errs = append(errs, In(file, item, errors.New("a target is empty")))
				continue
			}
			setDefaults(&r)
			result = append(result, locatedReplacement{file, item, replacement.Filter{Replacements: []types.Replacement{r}}})
		}
	}
	return result, errors.Join(errs...)
}

func parseReplacements(content []byte) ([]types.Replacement, error) {
	var document any
	if err := yaml.Unmarshal(content, &document); err != nil {
		return nil, errors.Join(syntaxErrors(err, 0)...)
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
