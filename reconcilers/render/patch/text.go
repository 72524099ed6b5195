// SPDX-License-Identifier: Apache-2.0

package patch

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"regexp"
	"strings"

	utiljson "k8s.io/apimachinery/pkg/util/json"
	kyaml "sigs.k8s.io/kustomize/kyaml/yaml"
	"sigs.k8s.io/yaml"
)

const (
	// maxText is the maximum length of a patch, in bytes.
	maxText = 16 << 10
	// maxJSON is the maximum length of a patch as JSON, in bytes.
	maxJSON = 32 << 10
	// MaxValues is the maximum number of keys and values in a patch, on which the cost of
	// applying it depends. 8 KB of a Deployment have about 500.
	MaxValues = 1000
	// maxDepth is the maximum nesting of maps and lists in a patch. An affinity term,
	// the deepest part of a Deployment, ends at level 14.
	maxDepth = 32
)

// LimitError says that a spec, a patch or a rendered object exceeds a limit. Retrying does
// not help; the message says what to change.
type LimitError struct {
	Message string
}

func (e *LimitError) Error() string { return e.Message }

// JSONSize returns the length of value as JSON, in bytes.
func JSONSize(value any) int {
	text, err := json.Marshal(value)
	if err != nil {
		return math.MaxInt // It is no JSON: a number is infinite.
	}
	return len(text)
}

// parseText parses the text of a patch into maps, lists and scalars, by sigs.k8s.io/yaml as
// kubectl does: on is true and "on" is a string. It rejects anchors, aliases, merge keys,
// tags, further documents, keys that are not strings, and duplicate keys. Nothing is
// expanded, so that the memory needed is proportional to the text.
func parseText(text string) (value any, err error) {
	if len(text) > maxText {
		return nil, &LimitError{fmt.Sprintf("the patch has %d bytes, which is more than the maximum of %d; split it or remove comments", len(text), maxText)}
	}
	root, err := parseNodes(text)
	if err != nil {
		return nil, err
	}
	if count := countNodes(root); count > MaxValues {
		return nil, &LimitError{fmt.Sprintf("the patch has %d keys and values, which is more than the maximum of %d; split it", count, MaxValues)}
	}
	if err := checkNode(root, 1); err != nil {
		return nil, err
	}
	asJSON, err := yaml.YAMLToJSON([]byte(text))
	if err != nil {
		return nil, errors.New("it cannot be read as YAML 1.1; quote strings") // its error may quote them
	}
	if len(asJSON) > maxJSON {
		return nil, &LimitError{fmt.Sprintf("the patch has %d bytes as JSON, which is more than the maximum of %d; split it", len(asJSON), maxJSON)}
	}
	return value, utiljson.Unmarshal(asJSON, &value)
}

// parseNodes parses text, which must contain one document.
func parseNodes(text string) (root *kyaml.Node, err error) {
	defer func() {
		if recover() != nil {
			root, err = nil, errors.New("it cannot be read as YAML")
		}
	}()
	decoder := kyaml.NewDecoder(strings.NewReader(text))
	var document, next kyaml.Node
	switch err := decoder.Decode(&document); {
	case errors.Is(err, io.EOF):
		return nil, errors.New("the patch is empty")
	case err != nil:
		return nil, syntaxError(err)
	}
	if err := decoder.Decode(&next); !errors.Is(err, io.EOF) {
		return nil, errors.New("the patch contains a second document (after ---); make it a separate patch")
	}
	return document.Content[0], nil
}

// syntaxError returns the error of the YAML parser without the names of anchors.
func syntaxError(err error) error {
	text := strings.TrimPrefix(err.Error(), "yaml: ")
	if strings.HasPrefix(text, "unknown anchor") {
		return errors.New("aliases (*name) are refused; repeat the value")
	}
	return fmt.Errorf("it cannot be read as YAML: %s", text)
}

// countNodes counts node and the nodes below it, without following aliases.
func countNodes(node *kyaml.Node) int {
	count := 1
	for _, inner := range node.Content {
		count += countNodes(inner)
	}
	return count
}

// checkNode returns an error for what is rejected of node, at level depth from 1, and below.
func checkNode(node *kyaml.Node, depth int) error {
	wrong := func(text string, args ...any) error {
		return fmt.Errorf("line %d: %s", node.Line, fmt.Sprintf(text, args...))
	}
	switch {
	case node.Kind == kyaml.AliasNode:
		return wrong("aliases (*name) are refused; repeat the value")
	case node.Anchor != "":
		return wrong("anchors (&name) are refused; repeat the value")
	case node.Style&kyaml.TaggedStyle != 0:
		return wrong("tags (!name) are refused; quote strings")
	case depth > maxDepth:
		return wrong("maps and lists are nested more than %d deep", maxDepth)
	case node.ShortTag() == kyaml.NodeTagFloat && strings.ContainsAny(node.Value, "nN"):
		return wrong("infinity and NaN are not valid in JSON; quote strings")
	case node.ShortTag() == kyaml.NodeTagInt && node.Decode(new(int64)) != nil:
		return wrong("a number exceeds a signed 64-bit integer; quote strings")
	case node.Kind == kyaml.MappingNode:
		if err := checkKeys(node, depth); err != nil {
			return err
		}
	}
	for i, item := range node.Content {
		if node.Kind == kyaml.MappingNode && i%2 == 0 {
			continue
		}
		if err := checkNode(item, depth+1); err != nil {
			return err
		}
	}
	return nil
}

// yaml11Bool matches what is a boolean to YAML 1.1, which Kubernetes reads, and a string to YAML 1.2, in which nodes are.
var yaml11Bool = regexp.MustCompile(`^(y|Y|yes|Yes|YES|on|On|ON|n|N|no|No|NO|off|Off|OFF)$`)

// checkKeys returns an error for what is rejected of the keys of a map at level depth.
func checkKeys(node *kyaml.Node, depth int) error {
	seen := map[string]bool{}
	for i := 0; i+1 < len(node.Content); i += 2 {
		key := node.Content[i]
		isPlain := key.Kind == kyaml.ScalarNode && key.Style == 0
		if isPlain && key.Value == "<<" {
			return fmt.Errorf("line %d: merge keys (<<) are refused; repeat the fields", key.Line)
		}
		if err := checkNode(key, depth); err != nil {
			return err
		}
		switch {
		case key.Kind != kyaml.ScalarNode:
			return fmt.Errorf("line %d: a key is a map or a list; keys must be strings", key.Line)
		case isPlain && (key.ShortTag() != kyaml.NodeTagString && key.ShortTag() != "!!timestamp" || yaml11Bool.MatchString(key.Value)):
			return fmt.Errorf("line %d: the key %s is not a string in YAML; quote it", key.Line, key.Value)
		case seen[key.Value]:
			return fmt.Errorf("line %d: the key %q is already set in this map", key.Line, key.Value)
		}
		seen[key.Value] = true
	}
	return nil
}
