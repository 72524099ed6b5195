// SPDX-License-Identifier: Apache-2.0

package patch

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"sort"
	"strings"

	jsonpatch "github.com/evanphx/json-patch/v5"
	utiljson "k8s.io/apimachinery/pkg/util/json"

	"github.com/example/memcached-operator/reconcilers/render/template"
)

// parseOperations parses a JSON patch (RFC 6902). Its errors contain the index of the operation.
func parseOperations(list []any) (jsonpatch.Patch, error) {
	operations := make(jsonpatch.Patch, 0, len(list))
	for i, item := range list {
		operation, err := parseOperation(item)
		if err != nil {
			return nil, fmt.Errorf("operation %d: %w", i, err)
		}
		operations = append(operations, operation)
	}
	return operations, nil
}

func parseOperation(item any) (jsonpatch.Operation, error) {
	fields, ok := item.(map[string]any)
	if !ok {
		return nil, errors.New("expected a map with op and path")
	}
	op, _ := fields["op"].(string)
	needs, ok := map[string][]string{
		"add": {"path", "value"}, "replace": {"path", "value"}, "test": {"path", "value"}, "remove": {"path"}, "move": {"from", "path"},
	}[op]
	switch {
	case op == "copy":
		return nil, errors.New("copy is not supported, since repeated copies could create an object of any size; repeat the value")
	case !ok:
		return nil, errors.New("op must be add, remove, replace, move or test")
	}
	for _, field := range slices.Sorted(maps.Keys(fields)) {
		if field != "op" && !slices.Contains(needs, field) {
			return nil, fmt.Errorf("unknown field %q; %s takes %s", field, op, strings.Join(needs, " and "))
		}
	}
	for _, field := range needs {
		if _, ok := fields[field]; !ok {
			return nil, fmt.Errorf("%s is missing; %s takes %s", field, op, strings.Join(needs, " and "))
		}
	}
	if fields["value"] == nil && (op == "add" || op == "replace") {
		return nil, errors.New("value is null; use remove")
	}
	for _, field := range slices.Backward(needs) {
		if text, _ := fields[field].(string); field != "value" && !strings.HasPrefix(text, "/") {
			return nil, fmt.Errorf("%s must be a string that starts with /, such as /spec/replicas", field)
		}
	}
	return encodeOperation(fields)
}

// encodeOperation returns the operation with fields.
func encodeOperation(fields map[string]any) (jsonpatch.Operation, error) {
	operation := jsonpatch.Operation{}
	for field, value := range fields {
		if fields["op"] != "test" {
			value = withoutNulls(value)
		}
		text, err := json.Marshal(value)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", field, err)
		}
		operation[field] = (*json.RawMessage)(&text)
	}
	return operation, nil
}

// applyOperations returns object with operations applied. The error contains the index of the first that fails.
func applyOperations(operations jsonpatch.Patch, object map[string]any) (map[string]any, error) {
	document, err := json.Marshal(object)
	if err != nil {
		return nil, err
	}
	patched, err := applyTo(document, operations)
	if err != nil {
		// The library does not say which.
		failed := sort.Search(len(operations)-1, func(i int) bool {
			_, err := applyTo(document, operations[:i+1])
			return err != nil
		})
		return nil, fmt.Errorf("operation %d: %w", failed, operationError(document, operations[:failed], operations[failed]))
	}
	result := map[string]any{}
	return result, utiljson.Unmarshal(patched, &result)
}

func applyTo(document []byte, operations jsonpatch.Patch) ([]byte, error) {
	options := jsonpatch.NewApplyOptions()
	options.SupportNegativeIndices = false
	return operations.ApplyWithOptions(document, options)
}

// operationError returns why failed fails after operations, without its value.
func operationError(document []byte, operations jsonpatch.Patch, failed jsonpatch.Operation) error {
	path, _ := failed.Path()
	before, err := applyTo(document, operations)
	if err != nil {
		return err
	}
	if failed.Kind() == "move" {
		from, _ := failed.From()
		if valueAt(before, from) == nil {
			return fmt.Errorf("%s does not exist", from)
		}
	}
	list, isList := valueAt(before, path[:strings.LastIndex(path, "/")]).([]any)
	switch {
	case isList && (failed.Kind() == "add" || failed.Kind() == "move"):
		return fmt.Errorf("%s is not an index of a list of %d elements", path, len(list))
	case failed.Kind() == "test" && valueAt(before, path) != nil:
		return fmt.Errorf("%s is not what the test expects", path)
	default:
		return fmt.Errorf("%s does not exist", path)
	}
}

// valueAt returns the value in document at pointer, nil if there is none.
func valueAt(document []byte, pointer string) (value any) {
	if utiljson.Unmarshal(document, &value) != nil || pointer == "" {
		return value
	}
	var path []any
	for step := range strings.SplitSeq(pointer[1:], "/") {
		path = append(path, strings.ReplaceAll(strings.ReplaceAll(step, "~1", "/"), "~0", "~"))
	}
	return template.Lookup(value, path)
}

// withoutNulls copies value without the nulls in its maps: server-side apply ignores their
// value and would still record their fields as owned.
func withoutNulls(value any) any {
	switch v := value.(type) {
	case map[string]any:
		result := make(map[string]any, len(v))
		for key, item := range v {
			if item != nil {
				result[key] = withoutNulls(item)
			}
		}
		return result
	case []any:
		result := make([]any, len(v))
		for i, item := range v {
			result[i] = withoutNulls(item)
		}
		return result
	default:
		return v
	}
}
