// SPDX-License-Identifier: Apache-2.0

package render

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"path"
	"regexp"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/kustomize/api/filters/replacement"
	"sigs.k8s.io/kustomize/api/types"
	"sigs.k8s.io/kustomize/kyaml/resid"
	"sigs.k8s.io/kustomize/kyaml/utils"
	"sigs.k8s.io/yaml"
)

// sourcedReplacement is a replacement and where it is written, for error messages.
type sourcedReplacement struct {
	where  string
	filter replacement.Filter
}

// byValue matches the step of a field path that picks an item by one of its fields.
var byValue = regexp.MustCompile(`\[([^]=]+)=`)

// inputSource returns the path below input.fields of the value that r reads; nil where
// it reads none of the input. options tells whether it reads a part of the value only.
func (r sourcedReplacement) inputSource() (source []any, options bool) {
	from := r.filter.Replacements[0].Source
	if from == nil || from.Kind != memcachedKind && from.Kind != valuesKind {
		return nil, false
	}
	source = []any{from.Kind}
	for _, step := range utils.SmarterPathSplitter(from.FieldPath, ".") {
		source = append(source, step)
	}
	return source, from.Options != nil
}

// picksByFilled tells whether a replacement picks an item by a field that another one
// fills in: which item that is depends on the value.
func picksByFilled(replacements []sourcedReplacement) bool {
	filled := map[string]bool{}
	for _, r := range replacements {
		for _, target := range r.filter.Replacements[0].Targets {
			if target.Select == nil {
				return true // It is rejected elsewhere.
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

// replacements collects the replacements in the order in which kustomize runs them:
// those of a directory come after those of what it is made of.
func (t Tree) replacements(dir string, kustomizations map[string]*types.Kustomization) ([]sourcedReplacement, error) {
	var result []sourcedReplacement
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
func (t Tree) replacementsIn(dir string, k *types.Kustomization) ([]sourcedReplacement, error) {
	var result []sourcedReplacement
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
			result = append(result, sourcedReplacement{where, replacement.Filter{Replacements: []types.Replacement{r}}})
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

// checkReplacements rejects a replacement that reads a field which the example does not
// set, or the name of another template.
func (r *Renderer) checkReplacements() error {
	for _, dir := range slices.Sorted(maps.Keys(r.kustomizations)) {
		replacements, err := r.tree.replacementsIn(dir, r.kustomizations[dir])
		if err != nil {
			return err
		}
		for _, replacement := range replacements {
			if err := replacement.checkSource(r.example); err != nil {
				return fmt.Errorf("%s: %w", replacement.where, err)
			}
		}
	}
	return nil
}

func (r sourcedReplacement) checkSource(example input) error {
	from := r.filter.Replacements[0].Source
	if from == nil {
		if r.filter.Replacements[0].SourceValue == nil {
			return errors.New("it has no source")
		}
		return nil
	}
	source, _ := r.inputSource()
	if source == nil {
		if from.FieldPath == types.DefaultReplacementFieldPath {
			return fmt.Errorf("the source is metadata.name of %s %s, which is another one for each Memcached; name the object in a field that kustomize knows as a reference", from.Kind, from.Name)
		}
		return nil
	}
	if strings.ContainsAny(from.FieldPath, "[*") || lookup(example.fields(), source) != nil {
		return nil
	}
	file := memcachedFile
	if from.Kind == valuesKind {
		file = valuesFile
	}
	return fmt.Errorf("the source is %s, which %s does not set; add an example of it there", from.FieldPath, file)
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

// objectIDs returns the identities of all objects that stand in the files or are
// generated, whether or not a patch removes them again.
func (t Tree) objectIDs(kustomizations map[string]*types.Kustomization) ([]resid.ResId, error) {
	var ids []resid.ResId
	err := t.forEachObject(kustomizations, func(_ string, id resid.ResId) { ids = append(ids, id) })
	return ids, err
}

// files returns the file of each template, and the first one of each kind.
func (t Tree) files(kustomizations map[string]*types.Kustomization) (map[templateName]string, map[schema.GroupVersionKind]string, error) {
	files, first := map[templateName]string{}, map[schema.GroupVersionKind]string{}
	err := t.forEachObject(kustomizations, func(file string, id resid.ResId) {
		kind := schema.GroupVersionKind{Group: id.Group, Version: id.Version, Kind: id.Kind}
		files[templateName{kind.GroupVersion().String(), id.Kind, id.Name}] = file
		if first[kind] == "" {
			first[kind] = file
		}
	})
	return files, first, err
}

// fileOf returns the file of template, less the hash in the name of a generated one.
func (r *Renderer) fileOf(template templateName) string {
	if file, ok := r.files[template]; ok {
		return file
	}
	if i := strings.LastIndex(template.name, "-"); i >= 0 {
		template.name = template.name[:i]
	}
	return cmp.Or(r.files[template], baseDir)
}

// forEachObject calls visit for the objects in the files, and for those that are
// generated, with the kustomization as their file.
func (t Tree) forEachObject(kustomizations map[string]*types.Kustomization, visit func(file string, id resid.ResId)) error {
	for _, dir := range slices.Sorted(maps.Keys(kustomizations)) {
		k := kustomizations[dir]
		for _, target := range k.Resources {
			name := path.Join(dir, target)
			documents, err := readDocuments(t[name])
			if err != nil {
				return fmt.Errorf("%s: %w", name, err)
			}
			for _, document := range documents {
				for _, id := range identities(&unstructured.Unstructured{Object: document}) {
					visit(name, id)
				}
			}
		}
		for _, generator := range k.ConfigMapGenerator {
			visit(path.Join(dir, kustomizationFile), resid.NewResId(resid.Gvk{Version: "v1", Kind: "ConfigMap"}, generator.Name))
		}
	}
	return nil
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
