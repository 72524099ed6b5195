// SPDX-License-Identifier: Apache-2.0

package template

import (
	"bufio"
	"bytes"
	"errors"
	"io"

	utilyaml "k8s.io/apimachinery/pkg/util/yaml"
	kyaml "sigs.k8s.io/kustomize/kyaml/yaml"
	"sigs.k8s.io/yaml"
)

// readDocuments reads YAML documents in the form of unstructured objects, without nulls.
func readDocuments(text []byte) ([]map[string]any, error) {
	nodes, err := parseDocuments(text)
	if err != nil {
		return nil, err
	}
	return toObjects(nodes)
}

// parseDocuments parses YAML documents, except empty ones and lists, which are JSON
// patches. A duplicate key is an error.
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
