// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"

	"sigs.k8s.io/yaml"
)

// fields writes a section for each field of a Go struct, in its order. Where values is not nil, each field
// needs an example in it, by which pods says whether it replaces pods.
func fields(b *bytes.Buffer, of reflect.Type, s schema, values map[string]any, pods *pods) error {
	for _, name := range names(of) {
		field, found := s.Properties[name]
		if !found {
			return fmt.Errorf("the definition has no field %s", name)
		}
		value, found := values[name]
		if values != nil && !found {
			return fmt.Errorf("the example has no field %s", name)
		}
		head, row := "| type | default | bounds |\n|---|---|---|\n", fmt.Sprintf("| %s | %s | %s |", typeOf(field), defaultOf(field), boundsOf(field))
		if found {
			replaced, err := pods.replaced(name, value)
			if err != nil {
				return err
			}
			head, row = "| type | default | bounds | a change replaces pods |\n|---|---|---|---|\n", row+" "+replaced+" |"
		}
		fmt.Fprintf(b, "\n### %s\n\n%s\n\n%s%s\n", name, paragraph(field.Description), head, row)
		messages(b, field)
		if rows := nested(structOf(of, name), field, name); len(rows) > 0 {
			b.WriteString("\n| field | type | default | bounds | |\n|---|---|---|---|---|\n" + strings.Join(rows, ""))
		}
		if values == nil {
			continue
		}
		text, err := yaml.Marshal(map[string]any{"spec": map[string]any{name: value}})
		if err != nil {
			return fmt.Errorf("writing the example of %s: %w", name, err)
		}
		fmt.Fprintf(b, "\n```yaml\n%s```\n", text)
	}
	return nil
}

// nested returns a row of a table for each field below a field. of is nil where no Go struct tells the order.
func nested(of reflect.Type, s schema, path string) []string {
	if s.Type == "array" && s.Items != nil {
		s, path = *s.Items, path+"[]"
	}
	order := slices.Sorted(maps.Keys(s.Properties))
	if of != nil {
		order = names(of)
	}
	var rows []string
	for _, name := range order {
		field, found := s.Properties[name]
		if !found {
			continue
		}
		kind := typeOf(field)
		if slices.Contains(s.Required, name) {
			kind += ", required"
		}
		rows = append(rows, fmt.Sprintf("| `%s.%s` | %s | %s | %s | %s |\n", path, name, kind, defaultOf(field), boundsOf(field), cell(field.Description)))
		var inner reflect.Type
		if of != nil {
			inner = structOf(of, name)
		}
		rows = append(rows, nested(inner, field, path+"."+name)...)
	}
	return rows
}

// names returns the JSON names of a struct's fields, in their order.
func names(of reflect.Type) []string {
	var found []string
	for field := range of.Fields() {
		if name, _, _ := strings.Cut(field.Tag.Get("json"), ","); name != "" && name != "-" {
			found = append(found, name)
		}
	}
	return found
}

// structOf returns the struct that a field holds, behind pointers and lists; nil when it holds none.
func structOf(of reflect.Type, name string) reflect.Type {
	for field := range of.Fields() {
		if tag, _, _ := strings.Cut(field.Tag.Get("json"), ","); tag != name {
			continue
		}
		inner := field.Type
		for inner.Kind() == reflect.Pointer || inner.Kind() == reflect.Slice {
			inner = inner.Elem()
		}
		if inner.Kind() == reflect.Struct {
			return inner
		}
	}
	return nil
}

func typeOf(s schema) string {
	switch {
	case s.IntOrString:
		return "integer or string"
	case s.Type == "array" && s.Items != nil:
		return "list of " + typeOf(*s.Items) + "s"
	case s.Type == "object" && s.AdditionalProperties != nil:
		return "map"
	case s.Type == "":
		return "number or string"
	}
	return s.Type
}

func defaultOf(s schema) string {
	if s.Default == nil {
		return ""
	}
	text, err := json.Marshal(s.Default)
	if err != nil {
		return ""
	}
	return "`" + string(text) + "`"
}

// boundsOf returns the bounds of a value in words.
func boundsOf(s schema) string {
	var bounds []string
	if len(s.Enum) > 0 {
		var values []string
		for _, value := range s.Enum {
			values = append(values, fmt.Sprintf("`%v`", value))
		}
		bounds = append(bounds, strings.Join(values, ", "))
	}
	if s.Minimum != nil {
		bounds = append(bounds, fmt.Sprintf("at least %.0f", *s.Minimum))
	}
	if s.Maximum != nil {
		bounds = append(bounds, fmt.Sprintf("at most %.0f", *s.Maximum))
	}
	for _, bound := range []struct {
		words string
		value *int64
		// A schema without a type bounds lists and maps only to exclude them.
		scalar bool
	}{
		{"at least %d characters", s.MinLength, true},
		{"at most %d characters", s.MaxLength, true},
		{"at least %d items", s.MinItems, false},
		{"at most %d items", s.MaxItems, false},
		{"at most %d keys", s.MaxProperties, false},
	} {
		if bound.value != nil && (bound.scalar || s.Type != "") {
			bounds = append(bounds, fmt.Sprintf(bound.words, *bound.value))
		}
	}
	return strings.Join(bounds, ", ")
}

// messages writes the rules of a schema, by their messages.
func messages(b *bytes.Buffer, s schema) {
	if len(s.Validations) == 0 {
		return
	}
	b.WriteString("\nRules:\n")
	for _, rule := range s.Validations {
		fmt.Fprintf(b, "- %s\n", paragraph(rule.Message))
	}
}

// paragraph returns a text without what Markdown takes for HTML.
func paragraph(text string) string {
	return strings.NewReplacer("<", "&lt;", ">", "&gt;").Replace(strings.TrimSpace(text))
}

// cell returns a text for a cell of a table.
func cell(text string) string {
	return strings.NewReplacer("\n", " ", "|", "\\|").Replace(paragraph(text))
}
