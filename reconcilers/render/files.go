// SPDX-License-Identifier: Apache-2.0

package render

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"maps"
	"path"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	utilyaml "k8s.io/apimachinery/pkg/util/yaml"
	"sigs.k8s.io/kustomize/api/types"
	kyaml "sigs.k8s.io/kustomize/kyaml/yaml"
	"sigs.k8s.io/yaml"
)

// checkFiles reads, before kustomize does, every file with objects or patches that a
// kustomization names: the error can say in which file the mistake was made, where
// kustomize speaks of the path it took and a build of the object it led to.
func (t Tree) checkFiles(kustomizations map[string]*types.Kustomization, c checker) error {
	for _, dir := range slices.Sorted(maps.Keys(kustomizations)) {
		for _, file := range namedFiles(kustomizations[dir]) {
			name := path.Join(dir, file.target)
			text, isFile := t[name]
			if !isFile || name == memcachedFile || name == valuesFile {
				continue
			}
			check := map[content]func([]byte, checker) error{objects: checkObjects, patches: checkPatches}[file.content]
			if check == nil {
				continue
			}
			if err := check(text, c); err != nil {
				return fmt.Errorf("%s: %w", name, err)
			}
		}
		for i, patch := range kustomizations[dir].Patches {
			if err := checkPatches([]byte(patch.Patch), c); err != nil {
				return fmt.Errorf("%s: patches[%d]: %w", path.Join(dir, kustomizationFile), i, err)
			}
		}
	}
	return nil
}

func checkObjects(text []byte, c checker) error {
	documents, err := readDocuments(text)
	if err != nil {
		return err
	}
	if len(documents) == 0 {
		return errors.New("holds no object; take it out of the resources")
	}
	for _, document := range documents {
		object := &unstructured.Unstructured{Object: document}
		isList := strings.HasSuffix(object.GetKind(), "List")
		switch {
		case object.GetAPIVersion() == "":
			return errors.New("apiVersion is missing")
		case object.GetKind() == "":
			return errors.New("kind is missing")
		case isList: // Kustomize takes it apart.
			continue
		case object.GetAnnotations()[localConfigAnnotation] != "": // It is not emitted.
			continue
		case object.GetName() == "":
			return fmt.Errorf("%s: metadata.name is missing", object.GetKind())
		}
		if err := c.checkTemplate(object); err != nil {
			return fmt.Errorf("%s %s: %w", object.GetKind(), object.GetName(), err)
		}
	}
	return nil
}

// checkPatches checks strategic merge patches as the parts of objects they are.
// Those with directives ($patch: delete), and JSON patches, show in what they make.
func checkPatches(text []byte, c checker) error {
	documents, err := readDocuments(text)
	if err != nil {
		return err
	}
	for _, document := range documents {
		if hasDirective(document) {
			continue
		}
		object := &unstructured.Unstructured{Object: document}
		if err := c.checkTemplate(object); err != nil {
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

// readDocuments reads YAML documents in the plain form of unstructured objects,
// without their nulls.
func readDocuments(text []byte) ([]map[string]any, error) {
	nodes, err := parseDocuments(text)
	if err != nil {
		return nil, err
	}
	return toObjects(nodes)
}

// parseDocuments parses YAML documents, and passes over empty ones and over lists,
// which JSON patches are. A key that is written twice is an error.
func parseDocuments(text []byte) ([]*kyaml.RNode, error) {
	var nodes []*kyaml.RNode
	reader := utilyaml.NewYAMLReader(bufio.NewReader(bytes.NewReader(text)))
	for {
		content, err := reader.Read()
		if errors.Is(err, io.EOF) {
			return nodes, nil
		}
		if err != nil {
			return nil, err
		}
		if _, err := yaml.YAMLToJSONStrict(content); err != nil {
			return nil, err
		}
		node, err := kyaml.Parse(string(content))
		if errors.Is(err, io.EOF) {
			continue
		}
		if err != nil {
			return nil, err
		}
		if node.YNode().Kind == kyaml.MappingNode {
			nodes = append(nodes, node)
		}
	}
}
