// SPDX-License-Identifier: Apache-2.0

package template

import (
	"maps"
	"slices"

	"k8s.io/apimachinery/pkg/runtime"
)

// Mutated returns a copy of the input in which every value differs, every map has a key more and every list an item
// more.
func (in Input) Mutated() Input {
	other := in.copy()
	metadata := other.Memcached["metadata"].(map[string]any)
	for key, value := range metadata {
		metadata[key] = "x" + value.(string)
	}
	for key, value := range other.Values {
		if key != "apiVersion" && key != "kind" && key != "metadata" {
			other.Values[key] = mutate(value)
		}
	}
	if spec, ok := other.Memcached["spec"]; ok {
		other.Memcached["spec"] = mutate(spec)
	}
	return other
}

func mutate(value any) any {
	switch v := value.(type) {
	case map[string]any:
		for _, key := range slices.Sorted(maps.Keys(v)) {
			v[key] = mutate(v[key])
			v["more"] = runtime.DeepCopyJSONValue(v[key])
		}
		return v
	case []any:
		for i, item := range v {
			v[i] = mutate(item)
		}
		if len(v) > 0 {
			v = append(v, mutate(runtime.DeepCopyJSONValue(v[0])))
		}
		return v
	case string:
		if digits.MatchString(v) {
			return "1" + v // The target may be a number.
		}
		// A replacement into JSON or YAML inside a string escapes quotes, which these characters reveal.
		return `x"\: ` + v
	case bool:
		return !v
	case int64:
		return v + 1
	case float64:
		return v + 1
	default:
		return v
	}
}
