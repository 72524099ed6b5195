// SPDX-License-Identifier: Apache-2.0

package template

import "regexp"

// digits matches strings that may be written where a number is expected.
var digits = regexp.MustCompile(`^[0-9]+$`)

// Mutated returns a copy of the input in which every value differs.
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
		for key, item := range v {
			v[key] = mutate(item)
		}
		return v
	case []any:
		for i, item := range v {
			v[i] = mutate(item)
		}
		return v
	case string:
		if digits.MatchString(v) {
			return "1" + v // The target may be a number.
		}
		// A replacement into JSON or YAML inside a string escapes quotes: copying the value
		// into place differs from a build then, and these characters reveal it.
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
