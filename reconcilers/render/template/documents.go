// SPDX-License-Identifier: Apache-2.0

package template

import (
	"bufio"
	"bytes"
	"errors"
	"io"
	"regexp"
	"strconv"
	"strings"

	utilyaml "k8s.io/apimachinery/pkg/util/yaml"
	kyaml "sigs.k8s.io/kustomize/kyaml/yaml"
	"sigs.k8s.io/yaml"
)

// readDocuments reads YAML documents in the form of unstructured objects, without nulls. The
// error joins those of all documents.
func readDocuments(text []byte) ([]map[string]any, error) {
	nodes, err := parseDocuments(text)
	errs := []error{err}
	var objects []map[string]any
	for _, node := range nodes {
		object, err := toObjects([]*kyaml.RNode{node})
		errs = append(errs, err)
		objects = append(objects, object...)
	}
	return objects, errors.Join(errs...)
}

// parseDocuments parses YAML documents, except empty ones and lists, which are JSON
// patches. A duplicate key is an error. The error joins those of all documents.
func parseDocuments(text []byte) ([]*kyaml.RNode, error) {
	nodes, err := parseNodes(text)
	var documents []*kyaml.RNode
	for _, node := range nodes {
		if node.YNode().Kind == kyaml.MappingNode {
			documents = append(documents, node)
		}
	}
	return documents, err
}

// parseNodes parses YAML documents, except empty ones. The lines of the nodes are those of text.
func parseNodes(text []byte) ([]*kyaml.RNode, error) {
	var nodes []*kyaml.RNode
	var errs []error
	reader := utilyaml.NewYAMLReader(bufio.NewReader(bytes.NewReader(text)))
	end := 0
	for {
		content, err := reader.Read()
		if errors.Is(err, io.EOF) {
			return nodes, errors.Join(errs...)
		}
		if err != nil {
			return nodes, errors.Join(append(errs, err)...)
		}
		begin := end + max(bytes.Index(text[end:], content), 0)
		end = min(begin+len(content), len(text))
		above := bytes.Count(text[:begin], []byte("\n"))
		if _, err := yaml.YAMLToJSONStrict(content); err != nil {
			errs = append(errs, syntaxErrors(err, above)...)
			continue
		}
		node, err := kyaml.Parse(string(content))
		if errors.Is(err, io.EOF) {
			continue
		}
		if err != nil {
			errs = append(errs, syntaxErrors(err, above)...)
			continue
		}
		addLines(node.YNode(), above)
		nodes = append(nodes, node)
	}
}

func addLines(node *kyaml.Node, lines int) {
	node.Line += lines
	for _, child := range node.Content {
		addLines(child, lines)
	}
}

// errorLine matches the line in an error of YAML, or in one of several that are below each other.
var errorLine = regexp.MustCompile(`(?:^(?:.*yaml: )?|^ *)line (\d+): (.*)$`)

// syntaxErrors returns the errors in err, an error of YAML, one for each line that it names. above
// is the number of lines above the document.
func syntaxErrors(err error, above int) []error {
	var errs []error
	for text := range strings.Lines(err.Error()) {
		if match := errorLine.FindStringSubmatch(strings.TrimRight(text, "\n")); match != nil {
			line, _ := strconv.Atoi(match[1])
			errs = append(errs, Problem{Line: line + above, Message: "invalid YAML: " + match[2]})
		}
	}
	if len(errs) == 0 {
		return []error{err}
	}
	return errs
}
