// SPDX-License-Identifier: Apache-2.0

package template

import (
	"fmt"
	"math"

	kyaml "sigs.k8s.io/kustomize/kyaml/yaml"
)

// toObjects converts resources to the form of unstructured objects: maps, lists,
// strings, booleans, int64 and float64. Nulls are dropped: server-side apply ignores
// their value and would still record their fields as owned.
func toObjects(nodes []*kyaml.RNode) ([]map[string]any, error) {
	objects := make([]map[string]any, 0, len(nodes))
	for _, node := range nodes {
		typeStrings(node.YNode(), "")
		object, err := node.Map()
		if err != nil {
			return nil, OfObject(node.GetKind(), node.GetName(), readableBuildError(err))
		}
		if _, err := normalize(object); err != nil {
			return nil, OfObject(node.GetKind(), node.GetName(), err)
		}
		objects = append(objects, object)
	}
	return objects, nil
}

// typeStrings tags the values of labels and annotations as strings: one that a
// replacement creates has no tag, and a Memcached may be named "true".
func typeStrings(node *kyaml.Node, parent string) {
	if node == nil {
		return
	}
	if node.Kind != kyaml.MappingNode {
		for _, child := range node.Content {
			typeStrings(child, "")
		}
		return
	}
	for i := 0; i+1 < len(node.Content); i += 2 {
		key, value := node.Content[i].Value, node.Content[i+1]
		isStrings := parent == "metadata" && (key == "labels" || key == "annotations")
		for j := 1; isStrings && j < len(value.Content); j += 2 {
			if item := value.Content[j]; item.Kind == kyaml.ScalarNode && item.Tag != kyaml.NodeTagNull {
				item.Tag = kyaml.NodeTagString
			}
		}
		typeStrings(value, key)
	}
}

func normalize(value any) (any, error) {
	switch v := value.(type) {
	case map[string]any:
		for key, item := range v {
			if item == nil {
				delete(v, key)
				continue
			}
			normal, err := normalize(item)
			if err != nil {
				return nil, fmt.Errorf("%s: %w", key, err)
			}
			v[key] = normal
		}
		return v, nil
	case []any:
		for i, item := range v {
			normal, err := normalize(item)
			if err != nil {
				return nil, fmt.Errorf("[%d]: %w", i, err)
			}
			v[i] = normal
		}
		return v, nil
	case int:
		return int64(v), nil
	case uint64:
		if v > math.MaxInt64 {
			return nil, fmt.Errorf("%d exceeds a signed 64-bit integer", v)
		}
		return int64(v), nil
	case float64:
		// Kustomize's JSON patches write numbers of seven digits or more as floats.
		if v == math.Trunc(v) && math.Abs(v) < 1<<53 {
			return int64(v), nil
		}
		return v, nil
	case string, bool, int64, nil:
		return v, nil
	default:
		return nil, fmt.Errorf("unsupported value of type %T; write it as a quoted string", v)
	}
}
