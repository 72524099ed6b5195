// SPDX-License-Identifier: Apache-2.0

package v1alpha1_test

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"sigs.k8s.io/yaml"

	"github.com/example/memcached-operator/test/controlplane"
)

const (
	// maxCRD leaves kubectl room to repeat a CustomResourceDefinition in the
	// annotation last-applied-configuration, which holds 256 KiB with all others.
	maxCRD = 200_000
	// explainWidth is how wide kubectl explain prints: 80 columns, 4 of them an
	// indent. It breaks longer lines, and ours are broken already.
	explainWidth = 76
)

var (
	// ofKubernetes are the fields whose types are Kubernetes' own, with its words and
	// without bounds within; what holds them is bounded.
	ofKubernetes = []string{
		"spec.affinity", "spec.tolerations[]", "spec.topologySpreadConstraints[]",
		"spec.networkPolicy.from[]", "spec.networkPolicy.metricsFrom[]", "status.conditions[]",
	}
	// ofAForm are fields whose form says how long they can be.
	ofAForm = []string{"idleTimeout", "priorityClassName", "serviceAccountName"}
)

// isOfKubernetes tells whether the field at path is within a type of Kubernetes.
func isOfKubernetes(path string) bool {
	return slices.ContainsFunc(ofKubernetes, func(holder string) bool {
		return strings.HasPrefix(path, holder) && path != holder
	})
}

// property is what the tests need to know of an OpenAPI schema.
type property struct {
	Type                 string              `json:"type"`
	Description          string              `json:"description"`
	Default              any                 `json:"default"`
	Minimum              *int64              `json:"minimum"`
	Maximum              *int64              `json:"maximum"`
	MaxLength            *int64              `json:"maxLength"`
	MaxItems             *int64              `json:"maxItems"`
	MaxProperties        *int64              `json:"maxProperties"`
	Enum                 []any               `json:"enum"`
	Properties           map[string]property `json:"properties"`
	AdditionalProperties *property           `json:"additionalProperties"`
	Items                *property           `json:"items"`
}

// walk visits p and everything below it.
func (p property) walk(path string, visit func(path string, p property)) {
	visit(path, p)
	for name, below := range p.Properties {
		below.walk(path+"."+name, visit)
	}
	if p.AdditionalProperties != nil {
		p.AdditionalProperties.walk(path+"[key]", visit)
	}
	if p.Items != nil {
		p.Items.walk(path+"[]", visit)
	}
}

func (p property) isBounded() bool {
	switch {
	case p.Type == "string":
		return p.MaxLength != nil || len(p.Enum) > 0
	case p.Type == "array":
		return p.MaxItems != nil
	case p.AdditionalProperties != nil:
		return p.MaxProperties != nil
	default:
		return true
	}
}

// schema is the schema of a Memcached's spec and status.
func schema(t *testing.T) (spec, status property) {
	t.Helper()
	var crd struct {
		Spec struct {
			Versions []struct {
				Schema struct {
					OpenAPIV3Schema property `json:"openAPIV3Schema"`
				} `json:"schema"`
			} `json:"versions"`
		} `json:"spec"`
	}
	fatal(t, yaml.Unmarshal(crdFile(t), &crd))
	root := crd.Spec.Versions[0].Schema.OpenAPIV3Schema
	return root.Properties["spec"], root.Properties["status"]
}

func crdFile(t *testing.T) []byte {
	t.Helper()
	content, err := os.ReadFile(filepath.Join(controlplane.Root(), "config", "crd", "bases", "cache.example.com_memcacheds.yaml"))
	fatal(t, err)
	return content
}

func TestEveryFieldIsDocumented(t *testing.T) {
	t.Parallel()
	spec, status := schema(t)
	visit := func(path string, p property) {
		// Entries of lists and maps are described by the list or map.
		if !strings.HasSuffix(path, "]") && strings.TrimSpace(p.Description) == "" {
			t.Errorf("%s has no description", path)
		}
		if isOfKubernetes(path) || slices.Contains(ofKubernetes, path) && strings.HasSuffix(path, "]") {
			return // The words are Kubernetes'.
		}
		for line := range strings.Lines(p.Description) {
			if utf8.RuneCountInString(strings.TrimSpace(line)) > explainWidth {
				t.Errorf("%s: kubectl explain breaks the line %q", path, line)
			}
		}
	}
	spec.walk("spec", visit)
	status.walk("status", visit)
}

func TestEveryFieldOfTheSpecNamesItsDefaultAndItsBounds(t *testing.T) {
	t.Parallel()
	spec, _ := schema(t)
	for name, p := range spec.Properties {
		words := strings.Join(strings.Fields(p.Description), " ")
		if !strings.Contains(words, "Defaults to") {
			t.Errorf("spec.%s: the description does not say what it defaults to", name)
		}
		named := []any{p.Default}
		bounds := []*int64{p.Minimum, p.Maximum, p.MaxItems, p.MaxProperties}
		if !slices.Contains(ofAForm, name) {
			bounds = append(bounds, p.MaxLength)
		}
		for _, bound := range bounds {
			if bound != nil {
				named = append(named, *bound)
			}
		}
		for _, value := range named {
			if value != nil && !strings.Contains(words, fmt.Sprint(value)) {
				t.Errorf("spec.%s: the description does not name %v", name, value)
			}
		}
	}
}

func TestEveryFieldOfTheSpecIsBounded(t *testing.T) {
	t.Parallel()
	spec, _ := schema(t)
	spec.walk("spec", func(path string, p property) {
		if !p.isBounded() && !isOfKubernetes(path) {
			t.Errorf("%s, of type %s, has no upper bound", path, p.Type)
		}
	})
}

func TestTheDefinitionIsSmallEnoughForKubectlApply(t *testing.T) {
	t.Parallel()
	asJSON, err := yaml.YAMLToJSON(crdFile(t))
	fatal(t, err)
	for form, content := range map[string][]byte{"YAML": crdFile(t), "JSON": asJSON} {
		if size := len(content); size > maxCRD {
			t.Errorf("the CustomResourceDefinition has %d bytes as %s, more than %d", size, form, maxCRD)
		}
	}
}
