// SPDX-License-Identifier: Apache-2.0

package template

import (
	"errors"
	"fmt"
	"maps"
	"path"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// checkFiles checks every file with objects or patches that a kustomization names before
// kustomize reads it: the errors name the file, where kustomize names the directories it
// came through and a build names the resulting object.
func (p parsed) checkFiles(v Validator) (errs []error) {
	for _, dir := range slices.Sorted(maps.Keys(p.kustomizations)) {
		for _, file := range namedFiles(p.kustomizations[dir]) {
			errs = append(errs, p.checkFile(path.Join(dir, file.target), file.content, v))
		}
		for i, patch := range p.kustomizations[dir].Patches {
			file := path.Join(dir, kustomizationFile)
			for _, problem := range problemsIn(In(file, fmt.Sprintf("patches[%d]", i), checkPatches([]byte(patch.Patch), v)...)) {
				problem.Line = lineIn(p.tree[file], problem)
				errs = append(errs, problem)
			}
		}
	}
	return errs
}

func (p parsed) checkFile(name string, content content, v Validator) error {
	text, isFile := p.tree[name]
	if !isFile || name == MemcachedFile || name == ValuesFile || name == ParametersFile {
		return nil
	}
	switch content {
	case objects:
		return In(name, "", checkObjects(text, v)...)
	case patches:
		return In(name, "", checkPatches(text, v)...)
	default:
		return nil
	}
}

func checkObjects(text []byte, v Validator) []error {
	documents, err := readDocuments(text)
	if err == nil && len(documents) == 0 {
		return []error{errors.New("contains no object; remove it from the resources")}
	}
	errs := []error{err}
	for _, document := range documents {
		errs = append(errs, v.checkObject(&unstructured.Unstructured{Object: document}))
	}
	return errs
}

func (v Validator) checkObject(object *unstructured.Unstructured) error {
	switch {
	case object.GetAPIVersion() == "":
		return errors.New("apiVersion is missing")
	case object.GetKind() == "":
		return errors.New("kind is missing")
	case strings.HasSuffix(object.GetKind(), "List"): // Kustomize expands it.
		return nil
	case object.GetAnnotations()[LocalConfigAnnotation] != "": // It is not emitted.
		return nil
	case object.GetName() == "":
		return Problem{Object: object.GetKind(), Message: "metadata.name is missing"}
	default:
		return v.validateTemplate(object)
	}
}

// checkPatches validates strategic merge patches as partial objects. Patches with
// directives ($patch: delete) and JSON patches are validated by their result.
func checkPatches(text []byte, v Validator) []error {
	documents, err := readDocuments(text)
	errs := []error{err}
	for _, document := range documents {
		if !hasDirective(document) {
			errs = append(errs, v.validateTemplate(&unstructured.Unstructured{Object: document}))
		}
	}
	return errs
}

func hasDirective(value any) bool {
	switch v := value.(type) {
	case map[string]any:
		for key, item := range v {
			if strings.HasPrefix(key, "$") || hasDirective(item) {
				return true
			}
		}
	case []any:
		return slices.ContainsFunc(v, hasDirective)
	}
	return false
}
