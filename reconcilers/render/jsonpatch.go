// SPDX-License-Identifier: Apache-2.0

package render

import (
	"errors"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strconv"
	"strings"
)

// operation is one operation of a JSON patch (RFC 6902).
type operation struct {
	op    string
	path  []string
	from  []string
	value any
}

// parseOperations parses a JSON patch. Its errors contain the index of the operation.
func parseOperations(list []any) ([]operation, error) {
	operations := make([]operation, 0, len(list))
	for i, item := range list {
		o, err := parseOperation(item)
		if err != nil {
			return nil, fmt.Errorf("operation %d: %w", i, err)
		}
		operations = append(operations, o)
	}
	return operations, nil
}

func parseOperation(item any) (operation, error) {
	fields, ok := item.(map[string]any)
	if !ok {
		return operation{}, errors.New("expected a map with op and path")
	}
	op, _ := fields["op"].(string)
	needs, ok := map[string][]string{
		"add": {"path", "value"}, "replace": {"path", "value"}, "test": {"path", "value"}, "remove": {"path"}, "move": {"from", "path"},
	}[op]
	switch {
	case op == "copy":
		return operation{}, errors.New("copy is not supported, since repeated copies could create an object of any size; repeat the value")
	case !ok:
		return operation{}, errors.New("op must be add, remove, replace, move or test")
	}
	for _, field := range slices.Sorted(maps.Keys(fields)) {
		if field != "op" && !slices.Contains(needs, field) {
			return operation{}, fmt.Errorf("unknown field %q; %s takes %s", field, op, strings.Join(needs, " and "))
		}
	}
	for _, field := range needs {
		if _, ok := fields[field]; !ok {
			return operation{}, fmt.Errorf("%s is missing; %s takes %s", field, op, strings.Join(needs, " and "))
		}
	}
	o := operation{op: op, value: fields["value"]}
	if o.value == nil && (op == "add" || op == "replace") {
		return operation{}, errors.New("value is null; use remove")
	}
	var err error
	if o.path, err = parsePointer(fields["path"]); err != nil {
		return operation{}, fmt.Errorf("path %w", err)
	}
	if op == "move" {
		if o.from, err = parsePointer(fields["from"]); err != nil {
			return operation{}, fmt.Errorf("from %w", err)
		}
	}
	return o, nil
}

// parsePointer splits a JSON pointer (RFC 6901) into its steps.
func parsePointer(value any) ([]string, error) {
	text, _ := value.(string)
	if !strings.HasPrefix(text, "/") {
		return nil, errors.New("must be a string that starts with /, such as /spec/replicas")
	}
	steps := strings.Split(text[1:], "/")
	for i, step := range steps {
		steps[i] = strings.ReplaceAll(strings.ReplaceAll(step, "~1", "/"), "~0", "~")
	}
	return steps, nil
}

// pointer returns the JSON pointer with steps.
func pointer(steps []string) string {
	var text strings.Builder
	for _, step := range steps {
		text.WriteString("/" + strings.ReplaceAll(strings.ReplaceAll(step, "~", "~0"), "/", "~1"))
	}
	return text.String()
}

// apply applies the operation to object. Its errors contain the path.
func (o operation) apply(object map[string]any) error {
	switch o.op {
	case "add":
		return edit(object, o.path, func(parent any, step string) (any, error) { return insert(parent, step, withoutNulls(o.value)) })
	case "replace":
		return edit(object, o.path, func(parent any, step string) (any, error) { return replace(parent, step, withoutNulls(o.value)) })
	case "remove":
		_, err := take(object, o.path)
		return err
	case "move":
		value, err := take(object, o.from)
		if err != nil {
			return err
		}
		return edit(object, o.path, func(parent any, step string) (any, error) { return insert(parent, step, value) })
	default: // test
		return edit(object, o.path, func(parent any, step string) (any, error) { return parent, same(parent, step, o.value) })
	}
}

var errNotThere = errors.New("does not exist")

// edit calls change with the map or list that contains the last of steps, and replaces it
// by the result: a list that grows may be reallocated.
func edit(value any, steps []string, change func(parent any, step string) (any, error)) error {
	_, err := editAt(value, steps, change)
	if err != nil {
		return fmt.Errorf("%s %w", pointer(steps), err)
	}
	return nil
}

func editAt(value any, steps []string, change func(parent any, step string) (any, error)) (any, error) {
	if len(steps) == 1 {
		return change(value, steps[0])
	}
	child, ok := childOf(value, steps[0])
	if !ok {
		return nil, errNotThere
	}
	changed, err := editAt(child, steps[1:], change)
	if err != nil {
		return nil, err
	}
	return replace(value, steps[0], changed)
}

// childOf returns the value at step of a map or a list.
func childOf(parent any, step string) (any, bool) {
	switch p := parent.(type) {
	case map[string]any:
		child, ok := p[step]
		return child, ok
	case []any:
		if i, ok := indexOf(step, len(p)-1); ok {
			return p[i], true
		}
	}
	return nil, false
}

// indexOf parses an index from 0 to last, without a sign or leading zeros.
func indexOf(step string, last int) (int, bool) {
	i, err := strconv.Atoi(step)
	return i, err == nil && i >= 0 && i <= last && strconv.Itoa(i) == step
}

// insert adds value at step of parent.
func insert(parent any, step string, value any) (any, error) {
	switch p := parent.(type) {
	case map[string]any:
		p[step] = value
		return p, nil
	case []any:
		i, ok := indexOf(step, len(p))
		if step == "-" {
			i, ok = len(p), true
		}
		if !ok {
			return nil, fmt.Errorf("is not an index of a list of %d elements", len(p))
		}
		return slices.Insert(p, i, value), nil
	default:
		return nil, errNotThere
	}
}

// replace sets the existing value at step of parent.
func replace(parent any, step string, value any) (any, error) {
	if _, ok := childOf(parent, step); !ok {
		return nil, errNotThere
	}
	switch p := parent.(type) {
	case map[string]any:
		p[step] = value
	case []any:
		i, _ := indexOf(step, len(p)-1)
		p[i] = value
	}
	return parent, nil
}

// take removes the value at steps and returns it.
func take(object any, steps []string) (taken any, err error) {
	err = edit(object, steps, func(parent any, step string) (any, error) {
		var ok bool
		if taken, ok = childOf(parent, step); !ok {
			return nil, errNotThere
		}
		if p, isMap := parent.(map[string]any); isMap {
			delete(p, step)
			return p, nil
		}
		p := parent.([]any)
		i, _ := indexOf(step, len(p)-1)
		return slices.Delete(p, i, i+1), nil
	})
	return taken, err
}

// same returns an error unless the value at step equals want; null matches an absent value.
func same(parent any, step string, want any) error {
	got, ok := childOf(parent, step)
	switch {
	case !ok && want != nil:
		return errNotThere
	case !reflect.DeepEqual(got, want):
		return errors.New("is not what the test expects")
	}
	return nil
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
