// SPDX-License-Identifier: Apache-2.0

package command

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"

	"k8s.io/apimachinery/pkg/runtime/schema"
	utilyaml "k8s.io/apimachinery/pkg/util/yaml"
	"sigs.k8s.io/yaml"

	cachev1alpha1 "github.com/example/memcached-operator/apis/v1alpha1"
)

// document is one object of the input.
type document struct {
	// source says where it is: the file, the document and the item of a List.
	source  string
	content []byte
	isYAML  bool
	kind    schema.GroupVersionKind
}

// isForeign reports whether d is an object of an API group other than that of Memcacheds.
func (d document) isForeign() bool {
	return d.kind.Kind != "" && d.kind.Version != "" && d.kind.Group != cachev1alpha1.SchemeGroupVersion.Group
}

// checkKind returns an error unless d is of kind want.
func (d document) checkKind(want schema.GroupVersionKind) error {
	apiVersion, kind := want.ToAPIVersionAndKind()
	switch {
	case d.kind.Kind == "" || d.kind.Version == "":
		return fmt.Errorf("apiVersion or kind is missing: a Memcached has apiVersion %s and kind %s", apiVersion, kind)
	case d.kind.GroupKind() != want.GroupKind():
		return fmt.Errorf("%s of %s is not a Memcached of %s: remove it from the input", d.kind.Kind, d.kind.GroupVersion(), apiVersion)
	case d.kind != want:
		return fmt.Errorf("no matches for kind %q in version %q: use version %q", kind, d.kind.GroupVersion().String(), apiVersion)
	default:
		return nil
	}
}

// readFiles returns the objects in files, of which - is in. An error says that a file cannot be read, or that there is
// nothing in any of them.
func readFiles(files []string, in io.Reader) ([]document, error) {
	var documents []document
	var names []string
	read := map[string]bool{}
	for _, file := range files {
		if read[file] {
			return nil, fmt.Errorf("-f %s is given twice", file)
		}
		read[file] = true
		content, name, err := readFile(file, in)
		if err != nil {
			return nil, err
		}
		names = append(names, name)
		found, err := parse(name, content)
		if err != nil {
			return nil, err
		}
		documents = append(documents, found...)
	}
	if len(documents) == 0 {
		return nil, fmt.Errorf("%s: no object found", strings.Join(names, ", "))
	}
	return documents, nil
}

func readFile(file string, in io.Reader) (content []byte, name string, err error) {
	if file == "-" {
		content, err = io.ReadAll(in)
		if err != nil {
			err = fmt.Errorf("reading standard input: %w", err)
		}
		return content, "standard input", err
	}
	content, err = os.ReadFile(file)
	return content, file, err
}

// parse returns the objects in content, which is a stream of JSON values or of YAML documents.
func parse(name string, content []byte) ([]document, error) {
	parts, isYAML := splitJSON(content), false
	if parts == nil {
		isYAML = true
		reader := utilyaml.NewYAMLReader(bufio.NewReader(bytes.NewReader(content)))
		for {
			part, err := reader.Read()
			if errors.Is(err, io.EOF) {
				break
			}
			if err != nil {
				return nil, fmt.Errorf("%s: %w", name, err)
			}
			parts = append(parts, part)
		}
	}
	var documents []document
	for i, part := range parts {
		source := name
		if len(parts) > 1 {
			source = fmt.Sprintf("%s: document %d", name, i+1)
		}
		found, err := parseObject(document{source: source, content: part, isYAML: isYAML})
		if err != nil {
			return nil, fmt.Errorf("%s: %w", source, err)
		}
		documents = append(documents, found...)
	}
	return documents, nil
}

// splitJSON returns the values of a stream of JSON, or nil when content is none: YAML may begin with a brace too.
func splitJSON(content []byte) [][]byte {
	if !utilyaml.IsJSONBuffer(content) {
		return nil
	}
	var parts [][]byte
	decoder := json.NewDecoder(bytes.NewReader(content))
	for {
		var part json.RawMessage
		err := decoder.Decode(&part)
		if errors.Is(err, io.EOF) {
			return parts
		}
		if err != nil {
			return nil
		}
		parts = append(parts, part)
	}
}

// parseObject returns the object in d, the items of a List, or nothing when d is empty. Duplicate fields are left to strict
// decoding, except for those of a List in YAML.
func parseObject(d document) ([]document, error) {
	asJSON, err := yaml.YAMLToJSON(d.content)
	if err != nil {
		return nil, err
	}
	if bytes.Equal(asJSON, []byte("null")) {
		return nil, nil
	}
	if !d.isYAML {
		asJSON = d.content
	}
	var object struct {
		APIVersion string            `json:"apiVersion"`
		Kind       string            `json:"kind"`
		Items      []json.RawMessage `json:"items"`
	}
	if err := json.Unmarshal(asJSON, &object); err != nil {
		return nil, errors.New("it is not an object with apiVersion, kind and metadata")
	}
	d.kind = schema.FromAPIVersionAndKind(object.APIVersion, object.Kind)
	if !strings.HasSuffix(object.Kind, "List") {
		return []document{d}, nil
	}
	if d.isYAML {
		if _, err := yaml.YAMLToJSONStrict(d.content); err != nil {
			return nil, err
		}
	}
	var items []document
	for i, item := range object.Items {
		found, err := parseObject(document{source: fmt.Sprintf("%s: items[%d]", d.source, i), content: item})
		if err != nil {
			return nil, fmt.Errorf("items[%d]: %w", i, err)
		}
		items = append(items, found...)
	}
	return items, nil
}
