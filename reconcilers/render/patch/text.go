// SPDX-License-Identifier: Apache-2.0

package patch

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"regexp"
	"strconv"
	"strings"

	kyaml "sigs.k8s.io/kustomize/kyaml/yaml"
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

// parseText parses the text of a patch into maps, lists and scalars as sigs.k8s.io/yaml
// does: on is true and "on" is a string. It rejects anchors, aliases, merge keys, tags,
// further documents, keys that are not strings, and duplicate keys. Nothing is expanded,
// so that the memory needed is proportional to the text.
func parseText(text string) (any, error) {
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
	value, err := plainValue(root, 1)
	if err != nil {
		return nil, err
	}
	if size := JSONSize(value); size > maxJSON {
		return nil, &LimitError{fmt.Sprintf("the patch has %d bytes as JSON, which is more than the maximum of %d; split it", size, maxJSON)}
	}
	return value, nil
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

// plainValue converts node. depth is the level of node, from 1.
func plainValue(node *kyaml.Node, depth int) (any, error) {
	switch {
	case node.Kind == kyaml.AliasNode:
		return nil, fmt.Errorf("line %d: aliases (*name) are refused; repeat the value", node.Line)
	case node.Anchor != "":
		return nil, fmt.Errorf("line %d: anchors (&name) are refused; repeat the value", node.Line)
	case node.Style&kyaml.TaggedStyle != 0:
		return nil, fmt.Errorf("line %d: tags (!name) are refused; quote strings", node.Line)
	case depth > maxDepth:
		return nil, fmt.Errorf("line %d: maps and lists are nested more than %d deep", node.Line, maxDepth)
	}
	switch node.Kind {
	case kyaml.MappingNode:
		return plainMap(node, depth)
	case kyaml.SequenceNode:
		list := make([]any, 0, len(node.Content))
		for _, item := range node.Content {
			value, err := plainValue(item, depth+1)
			if err != nil {
				return nil, err
			}
			list = append(list, value)
		}
		return list, nil
	default:
		return plainScalar(node)
	}
}

// plainMap converts a map at level depth.
func plainMap(node *kyaml.Node, depth int) (any, error) {
	fields := make(map[string]any, len(node.Content)/2)
	for i := 0; i+1 < len(node.Content); i += 2 {
		keyNode := node.Content[i]
		if keyNode.Kind == kyaml.ScalarNode && keyNode.Style == 0 && keyNode.Value == "<<" {
			return nil, fmt.Errorf("line %d: merge keys (<<) are refused; repeat the fields", keyNode.Line)
		}
		key, err := plainValue(keyNode, depth)
		if err != nil {
			return nil, err
		}
		name, isString := key.(string)
		if !isString && keyNode.Kind != kyaml.ScalarNode {
			return nil, fmt.Errorf("line %d: a key is a map or a list; keys must be strings", keyNode.Line)
		}
		if !isString {
			return nil, fmt.Errorf("line %d: the key %s is not a string in YAML; quote it", keyNode.Line, keyNode.Value)
		}
		if _, twice := fields[name]; twice {
			return nil, fmt.Errorf("line %d: the key %q is already set in this map", keyNode.Line, name)
		}
		if fields[name], err = plainValue(node.Content[i+1], depth+1); err != nil {
			return nil, err
		}
	}
	return fields, nil
}

// yamlWords maps the words that YAML 1.1, and therefore Kubernetes, does not read as strings
// to their values.
var yamlWords = map[string]any{
	"": nil, "~": nil, "null": nil, "Null": nil, "NULL": nil,
	"y": true, "Y": true, "yes": true, "Yes": true, "YES": true, "on": true, "On": true, "ON": true, "true": true, "True": true, "TRUE": true,
	"n": false, "N": false, "no": false, "No": false, "NO": false, "off": false, "Off": false, "OFF": false, "false": false, "False": false, "FALSE": false,
}

var (
	yamlFloat    = regexp.MustCompile(`^[-+]?(\.[0-9]+|[0-9]+(\.[0-9]*)?)([eE][-+]?[0-9]+)?$`)
	yamlInfinite = regexp.MustCompile(`^([-+]?\.(inf|Inf|INF)|\.(nan|NaN|NAN))$`)
)

// plainScalar converts a scalar: a quoted one is a string.
func plainScalar(node *kyaml.Node) (any, error) {
	text := node.Value
	if node.Style != 0 {
		return text, nil
	}
	if value, ok := yamlWords[text]; ok {
		return value, nil
	}
	if !strings.ContainsAny(text[:1], "+-.0123456789") {
		return text, nil
	}
	if yamlInfinite.MatchString(text) {
		return nil, fmt.Errorf("line %d: infinity and NaN are not valid in JSON; quote strings", node.Line)
	}
	digits := text
	if text[0] != '.' {
		digits = strings.ReplaceAll(text, "_", "")
		if whole, err := strconv.ParseInt(digits, 0, 64); err == nil {
			return whole, nil
		}
		if _, err := strconv.ParseUint(digits, 0, 64); err == nil {
			return nil, fmt.Errorf("line %d: a number exceeds a signed 64-bit integer; quote strings", node.Line)
		}
		if !yamlFloat.MatchString(digits) {
			return text, nil
		}
	}
	number, ok := parseFloat(digits)
	switch {
	case !ok:
		return text, nil
	case number == math.Trunc(number) && math.Abs(number) < 1<<63:
		// JSON does not distinguish 1.0 and 1.
		return int64(number), nil
	default:
		return number, nil
	}
}

// parseFloat parses a number. ok is false for other text and numbers that are too large,
// which YAML reads as strings.
func parseFloat(text string) (number float64, ok bool) {
	number, err := strconv.ParseFloat(text, 64)
	return number, err == nil
}
