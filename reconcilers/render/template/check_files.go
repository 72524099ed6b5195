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
func (s source) checkFiles(v Validator) (errs []error) {
	for _, dir := range slices.Sorted(maps.Keys(s.kustomizations)) {
		for _, file := range namedFiles(s.kustomizations[dir]) {
			errs = append(errs, s.checkFile(path.Join(dir, file.target), file.content, v)...)
		}
		for i, patch := range s.kustomizations[dir].Patches {
			where := fmt.Sprintf("%s: patches[%d]", path.Join(dir, kustomizationFile), i)
			errs = append(errs, prefixed(where, checkPatches([]byte(patch.Patch), v)...)...)
		}
	}
	return errs
}

func (s source) checkFile(name string, content content, v Validator) []error {
	text, isFile := s.tree[name]
	if !isFile || name == MemcachedFile || name == ValuesFile || name == ParametersFile {
		return nil
	}
	switch content {
	case objects:
		return prefixed(name, checkObjects(text, v)...)
	case patches:
		return prefixed(name, checkPatches(text, v)...)
	default:
		return nil
	}
}

func checkObjects(text []byte, v Validator) []error {
	documents, err := readDocuments(text)
	errs := unjoin(err)
	if len(documents)+len(errs) == 0 {
		return []error{errors.New("contains no object; remove it from the resources")}
	}
	for _, document := range documents {
		errs = append(errs, v.checkObject(&unstructured.Unstructured{Object: document})...)
	}
	return errs
}

func (v Validator) checkObject(object *unstructured.Unstructured) []error {
	switch {
	case object.GetAPIVersion() == "":
		return []error{errors.New("apiVersion is missing")}
	case object.GetKind() == "":
		return []error{errors.New("kind is missing")}
	case strings.HasSuffix(object.GetKind(), "List"): // Kustomize expands it.
		return nil
	case object.GetAnnotations()[LocalConfigAnnotation] != "": // It is not emitted.
		return nil
	case object.GetName() == "":
		return []error{fmt.Errorf("%s: metadata.name is missing", object.GetKind())}
	default:
		return v.validateTemplate(object)
	}
}

// checkPatches validates strategic merge patches as partial objects. Patches with
// directives ($patch: delete) and JSON patches are validated by their result.
func checkPatches(text []byte, v Validator) []error {
	documents, err := readDocuments(text)
	errs := unjoin(err)
	for _, document := range documents {
		if !hasDirective(document) {
			errs = append(errs, v.validateTemplate(&unstructured.Unstructured{Object: document})...)
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
