// SPDX-License-Identifier: Apache-2.0

package fields

import (
	"maps"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"sigs.k8s.io/yaml"

	"github.com/example/memcached-operator/test/controlplane"
	"github.com/example/memcached-operator/test/testenv"
)

// schema is what the walk needs to know of an OpenAPI schema.
type schema struct {
	Type                 string             `json:"type"`
	Format               string             `json:"format"`
	Default              any                `json:"default"`
	Minimum              *int64             `json:"minimum"`
	Maximum              *int64             `json:"maximum"`
	MinLength            *int64             `json:"minLength"`
	MaxLength            *int64             `json:"maxLength"`
	MinItems             *int64             `json:"minItems"`
	MaxItems             *int64             `json:"maxItems"`
	MaxProperties        *int64             `json:"maxProperties"`
	Pattern              string             `json:"pattern"`
	Enum                 []any              `json:"enum"`
	Required             []string           `json:"required"`
	Properties           map[string]*schema `json:"properties"`
	AdditionalProperties *schema            `json:"additionalProperties"`
	Items                *schema            `json:"items"`
	IntOrString          bool               `json:"x-kubernetes-int-or-string"`
	ListMapKeys          []string           `json:"x-kubernetes-list-map-keys"`
	Rules                []struct {
		Rule string `json:"rule"`
	} `json:"x-kubernetes-validations"`
}

// node is one place in a spec that can hold a value: a property, an item of a list or
// an entry of a map.
type node struct {
	*schema
	// path is as in spec.tolerations[].key or spec.nodeSelector[key].
	path string
	// name is the property, or empty for items and entries.
	name   string
	parent *node
}

// isRequired tells whether the node's parent cannot be without it.
func (n *node) isRequired() bool {
	return n.name != "" && n.parent != nil && slices.Contains(n.parent.Required, n.name)
}

// below are the nodes directly below n, sorted.
func (n *node) below() []*node {
	var result []*node
	for _, name := range slices.Sorted(maps.Keys(n.Properties)) {
		result = append(result, &node{schema: n.Properties[name], path: n.path + "." + name, name: name, parent: n})
	}
	if n.AdditionalProperties != nil {
		result = append(result, &node{schema: n.AdditionalProperties, path: n.path + "[key]", parent: n})
	}
	if n.Items != nil {
		result = append(result, &node{schema: n.Items, path: n.path + "[]", parent: n})
	}
	return result
}

// all are all nodes below n.
func (n *node) all() []*node {
	var result []*node
	for _, below := range n.below() {
		result = append(append(result, below), below.all()...)
	}
	return result
}

// property is the node of a property directly below n.
func (n *node) property(name string) *node {
	for _, below := range n.below() {
		if below.name == name {
			return below
		}
	}
	return nil
}

// specSchema is the root of the walk, from the CRD as it is shipped.
func specSchema(t *testing.T) *node {
	t.Helper()
	content, err := os.ReadFile(filepath.Join(controlplane.Root(), "config", "crd", "bases", "cache.example.com_memcacheds.yaml"))
	testenv.NoError(t, err)
	var crd struct {
		Spec struct {
			Versions []struct {
				Schema struct {
					OpenAPIV3Schema schema `json:"openAPIV3Schema"`
				} `json:"schema"`
			} `json:"versions"`
		} `json:"spec"`
	}
	testenv.NoError(t, yaml.Unmarshal(content, &crd))
	return &node{schema: crd.Spec.Versions[0].Schema.OpenAPIV3Schema.Properties["spec"], path: "spec"}
}
