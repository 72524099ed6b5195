// SPDX-License-Identifier: Apache-2.0

package template

import (
	"cmp"
	gojson "encoding/json"
	"errors"
	"fmt"
	"maps"
	"path"
	"reflect"
	"slices"
	"strings"

	"sigs.k8s.io/json"
	"sigs.k8s.io/kustomize/api/konfig"
	"sigs.k8s.io/kustomize/api/types"
	"sigs.k8s.io/yaml"
)

// refusedFields maps the fields of a kustomization that templates may not use to the
// reason and the alternative. Fields that kustomize itself rejects are not listed.
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
	"secretGenerator":             "the operator does not manage Secrets; mount one by name",
	"sortOptions":                 "the operator orders the objects",
	"buildMetadata":               "the annotations would be part of the objects",
}

// parsed is a tree with its kustomizations, by directory.
type parsed struct {
	tree           Tree
	kustomizations map[string]*types.Kustomization
}

// parse parses and checks every kustomization file of tree.
func parse(tree Tree) (p parsed, errs []error) {
	p = parsed{tree, map[string]*types.Kustomization{}}
	for _, name := range slices.Sorted(maps.Keys(tree)) {
		if !isKustomization(name) {
			continue
		}
		dir := path.Dir(name)
		if _, found := p.kustomizations[dir]; found {
			errs = append(errs, In(name, "", fmt.Errorf("%s has a second kustomization file; remove one of them", dir)))
			continue
		}
		k, found := tree.kustomization(name)
		errs = append(errs, In(name, "", found...))
		p.kustomizations[dir] = k
	}
	return p, append(errs, p.checkCycles())
}

func isKustomization(name string) bool {
	return slices.Contains(konfig.RecognizedKustomizationFileNames(), path.Base(name))
}

// withRoot returns a copy of p with root as the kustomization on top.
func (p parsed) withRoot(root string) (parsed, error) {
	top := &types.Kustomization{}
	if err := top.Unmarshal([]byte(root)); err != nil {
		return parsed{}, err
	}
	all := maps.Clone(p.kustomizations)
	all["."] = top
	return parsed{p.tree, all}, nil
}

// checkCycles returns an error when directories list each other.
func (p parsed) checkCycles() error {
	var visit func(dir string, above []string) error
	visit = func(dir string, above []string) error {
		k := p.kustomizations[dir]
		if k == nil {
			return nil
		}
		if slices.Contains(above, dir) {
			return In(above[len(above)-1]+"/"+kustomizationFile, "", fmt.Errorf("cycle: %s", strings.Join(append(above, dir), " -> ")))
		}
		for _, child := range slices.Concat(k.Resources, k.Components) {
			if err := visit(path.Join(dir, child), append(above, dir)); err != nil {
				return err
			}
		}
		return nil
	}
	for _, dir := range slices.Sorted(maps.Keys(p.kustomizations)) {
		if err := visit(dir, nil); err != nil {
			return err
		}
	}
	return nil
}

// kustomization returns the kustomization in the file name, as far as it can be read.
func (t Tree) kustomization(name string) (k *types.Kustomization, errs []error) {
	k = &types.Kustomization{}
	var fields map[string]any
	if err := DecodeStrict(t[name], &fields); err != nil {
		return k, []error{err}
	}
	for _, field := range slices.Sorted(maps.Keys(fields)) {
		if reason, refused := refusedFields[field]; refused {
			errs = append(errs, fmt.Errorf("field %q is refused: %s", field, reason))
		}
	}
	errs = append(errs, DecodeStrict(t[name], k))
	for i, label := range k.Labels {
		if label.IncludeSelectors {
			errs = append(errs, fmt.Errorf("labels[%d].includeSelectors is refused: it changes selectors, which are immutable; use includeTemplates", i))
		}
	}
	for _, file := range namedFiles(k) {
		errs = append(errs, t.checkPath(path.Dir(name), file))
	}
	return k, errs
}

// DecodeStrict decodes YAML; a field that is unknown, miscased or duplicated is an error.
// Kustomize itself accepts fields in any case, which would bypass refusedFields.
func DecodeStrict(content []byte, into any) error {
	asJSON, err := yaml.YAMLToJSONStrict(content)
	if err != nil {
		return errors.Join(syntaxErrors(err, 0)...)
	}
	strict, err := json.UnmarshalStrict(asJSON, into)
	if mismatch, ok := errors.AsType[*gojson.UnmarshalTypeError](err); ok {
		err = typeError(mismatch)
	}
	return errors.Join(append(strict, err)...)
}

// typeError returns err in the words of YAML.
func typeError(err *gojson.UnmarshalTypeError) error {
	names := map[string]string{"array": "a list", "object": "a map", "bool": "true or false", "string": "a string", "number": "a number"}
	wanted := map[reflect.Kind]string{
		reflect.Map: "a map", reflect.Struct: "a map", reflect.Slice: "a list", reflect.String: "a string", reflect.Bool: "true or false",
		reflect.Int: "a number", reflect.Int32: "a number", reflect.Int64: "a number",
	}
	got, _, _ := strings.Cut(err.Value, " ")
	text := fmt.Sprintf("expected %s, not %s", cmp.Or(wanted[err.Type.Kind()], err.Type.String()), cmp.Or(names[got], err.Value))
	if err.Type.Kind() == reflect.String {
		text += "; quote it"
	}
	return Problem{Path: err.Field, Message: text}
}

// namedFile is a file or directory that a kustomization names.
type namedFile struct {
	// field is the field of the kustomization that names it.
	field, target string
	content       content
}

// content is the kind of content of a file.
type content int

const (
	anything content = iota
	objects
	patches
)

// namedFiles returns the files and directories that k names.
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

// checkPath returns an error when a path leads out of the tree or could be a URL to
// kustomize, which would fetch it even if a directory of that name exists.
func (t Tree) checkPath(dir string, file namedFile) error {
	resolved := path.Join(dir, file.target)
	remote := strings.ContainsAny(file.target, ":@?") ||
		strings.HasPrefix(strings.ToLower(file.target), "github.com/")
	if _, isFile := t[resolved]; !remote && !path.IsAbs(file.target) && (isFile || t.hasDir(resolved)) {
		return nil
	}
	return Problem{Path: file.field, Message: fmt.Sprintf("%q does not exist in the templates; correct the path or add the file (remote and absolute paths are not supported)", file.target)}
}
