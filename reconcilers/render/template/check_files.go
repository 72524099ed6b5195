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
// kustomize reads it: the error names the file, where kustomize names the directories it
// came through and a build names the resulting object.
func (s source) checkFiles(v Validator) error {
	for _, dir := range slices.Sorted(maps.Keys(s.kustomizations)) {
		for _, file := range namedFiles(s.kustomizations[dir]) {
			if err := s.checkFile(path.Join(dir, file.target), file.content, v); err != nil {
				return err
			}
		}
		for i, patch := range s.kustomizations[dir].Patches {
			if err := checkPatches([]byte(patch.Patch), v); err != nil {
				return fmt.Errorf("%s: patches[%d]: %w", path.Join(dir, kustomizationFile), i, err)
			}
		}
	}
	return nil
}

func (s source) checkFile(name string, content content, v Validator) error {
	text, isFile := s.tree[name]
	if !isFile || name == MemcachedFile || name == ValuesFile {
		return nil
	}
	var err error
	switch content {
	case objects:
		err = checkObjects(text, v)
	case patches:
		err = checkPatches(text, v)
	case anything:
	}
	if err != nil {
		return fmt.Errorf("%s: %w", name, err)
	}
	return nil
}

func checkObjects(text []byte, v Validator) error {
	documents, err := readDocuments(text)
	if err != nil {
		return err
	}
	if len(documents) == 0 {
		return errors.New("contains no object; remove it from the resources")
	}
	for _, document := range documents {
		object := &unstructured.Unstructured{Object: document}
		isList := strings.HasSuffix(object.GetKind(), "List")
		switch {
		case object.GetAPIVersion() == "":
			return errors.New("apiVersion is missing")
		case object.GetKind() == "":
			return errors.New("kind is missing")
		case isList: // Kustomize expands it.
			continue
		case object.GetAnnotations()[LocalConfigAnnotation] != "": // It is not emitted.
			continue
		case object.GetName() == "":
			return fmt.Errorf("%s: metadata.name is missing", object.GetKind())
		}
		if err := v.validateTemplate(object); err != nil {
			return fmt.Errorf("%s %s: %w", object.GetKind(), object.GetName(), err)
		}
	}
	return nil
}

// checkPatches validates strategic merge patches as partial objects. Patches with
// directives ($patch: delete) and JSON patches are validated by their result.
func checkPatches(text []byte, v Validator) error {
	documents, err := readDocuments(text)
	if err != nil {
		return err
	}
	for _, document := range documents {
		if hasDirective(document) {
			continue
		}
		object := &unstructured.Unstructured{Object: document}
		if err := v.validateTemplate(object); err != nil {
			return fmt.Errorf("%s %s: %w", object.GetKind(), object.GetName(), err)
		}
	}
	return nil
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
