// SPDX-License-Identifier: Apache-2.0

package commands

import (
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/yaml"

	"github.com/example/memcached-operator/config/crd"
	"github.com/example/memcached-operator/test/testenv"
)

// specSchema returns the schema of a Memcached's spec.
func specSchema(t *testing.T) apiextensionsv1.JSONSchemaProps {
	t.Helper()
	definition := &apiextensionsv1.CustomResourceDefinition{}
	testenv.NoError(t, yaml.Unmarshal(crd.Memcacheds, definition))
	return definition.Spec.Versions[0].Schema.OpenAPIV3Schema.Properties["spec"]
}

// mutator changes one to three values of a spec, chosen by a random generator with a fixed seed.
type mutator struct {
	*rand.Rand
}

// mutate returns a changed copy of spec.
func (m mutator) mutate(spec map[string]any, schema apiextensionsv1.JSONSchemaProps) map[string]any {
	spec = runtime.DeepCopyJSON(spec)
	for range 1 + m.IntN(3) {
		m.field(spec, schema)
	}
	return spec
}

// field sets or removes one field of object, or of a value below it.
func (m mutator) field(object map[string]any, schema apiextensionsv1.JSONSchemaProps) {
	names := slices.Sorted(maps.Keys(schema.Properties))
	if len(names) == 0 {
		names = slices.Sorted(maps.Keys(object))
	}
	if len(names) == 0 || m.IntN(20) == 0 {
		object["unknown-"+string(rune('a'+m.IntN(26)))] = m.value(apiextensionsv1.JSONSchemaProps{})
		return
	}
	name := names[m.IntN(len(names))]
	below := schema.Properties[name]
	if schema.AdditionalProperties != nil {
		below = *schema.AdditionalProperties.Schema
	}
	switch value := object[name].(type) {
	case map[string]any:
		if m.IntN(4) > 0 {
			m.field(value, below)
			return
		}
	case []any:
		if len(value) > 0 && m.IntN(4) > 0 {
			object[name] = m.list(value, below)
			return
		}
	}
	if m.IntN(8) == 0 {
		delete(object, name)
		return
	}
	object[name] = m.value(below)
}

// list changes an item of value, or repeats one.
func (m mutator) list(value []any, schema apiextensionsv1.JSONSchemaProps) []any {
	items := apiextensionsv1.JSONSchemaProps{} // of an unknown field
	if schema.Items != nil {
		items = *schema.Items.Schema
	}
	i := m.IntN(len(value))
	if item, ok := value[i].(map[string]any); ok && m.IntN(3) > 0 {
		m.field(item, items)
		return value
	}
	if m.IntN(2) == 0 {
		return append(value, runtime.DeepCopyJSONValue(value[i]))
	}
	value[i] = m.value(items)
	return value
}

// value returns a value that a field of schema may have, is just outside its bounds, or is of another type.
func (m mutator) value(schema apiextensionsv1.JSONSchemaProps) any {
	values := []any{
		nil, true, "", "1", "Yes", "a b", "-x", "ü", "10Mi", "-5", "1e3", "50%", strings.Repeat("x", 70), strings.Repeat("y", 5000),
		int64(-1), int64(0), int64(1), int64(70000), int64(1) << 40, 1.5,
		map[string]any{}, map[string]any{"a": "b"}, map[string]any{"key": int64(1)}, []any{}, []any{"x", "x"}, []any{map[string]any{}},
	}
	// As often as not a value of the field's own type.
	if m.IntN(2) == 0 {
		switch {
		case len(schema.Enum) > 0 && m.IntN(2) == 0:
			return strings.Trim(string(schema.Enum[m.IntN(len(schema.Enum))].Raw), `"`)
		case schema.Type == "integer" && schema.Maximum != nil && m.IntN(2) == 0:
			return int64(*schema.Maximum) + int64(m.IntN(2))
		case schema.Type == "integer":
			return int64(m.IntN(100000) - 10)
		case schema.Type == "boolean":
			return m.IntN(2) == 0
		case schema.Type == "string" && schema.MaxLength != nil:
			return strings.Repeat("a", int(*schema.MaxLength)+m.IntN(2))
		}
	}
	return values[m.IntN(len(values))]
}
