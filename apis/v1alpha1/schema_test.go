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

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"sigs.k8s.io/yaml"

	"github.com/example/memcached-operator/test/controlplane"
	"github.com/example/memcached-operator/test/testenv"
)

const (
	// maxCRD leaves kubectl room to repeat a CustomResourceDefinition in the
	// annotation last-applied-configuration, which holds 256 KiB with all others.
	maxCRD = 225_000
	// explainWidth is how wide kubectl explain prints: 80 columns, 4 of them an
	// indent. It breaks longer lines, and ours are broken already.
	explainWidth = 76
)

// standardLengths are the lengths of Kubernetes' names, label keys and values, of CIDRs
// and of quantities, which descriptions need not repeat.
var standardLengths = []int64{253, 317, 63, 43, 24}

// property is a field of the CustomResourceDefinition.
type property = apiextensionsv1.JSONSchemaProps

// walk visits p and everything below it.
func walk(path string, p property, visit func(path string, p property)) {
	visit(path, p)
	for name, below := range p.Properties {
		walk(path+"."+name, below, visit)
	}
	if p.AdditionalProperties != nil && p.AdditionalProperties.Schema != nil {
		walk(path+"[key]", *p.AdditionalProperties.Schema, visit)
	}
	if p.Items != nil && p.Items.Schema != nil {
		walk(path+"[]", *p.Items.Schema, visit)
	}
}

// isBounded tells whether no value of p can be arbitrarily large. A type that it does
// not know is not bounded.
func isBounded(p property) bool {
	switch {
	case p.XIntOrString:
		return p.MaxLength != nil && len(p.XValidations) > 0
	case p.XPreserveUnknownFields != nil && *p.XPreserveUnknownFields:
		return isScalarOfAnyType(p)
	case p.Type == "string":
		return p.MaxLength != nil || len(p.Enum) > 0
	case p.Type == "integer", p.Type == "number":
		return p.Minimum != nil && p.Maximum != nil
	case p.Type == "array":
		return p.Items != nil && p.MaxItems != nil
	case p.Type == "object" && p.AdditionalProperties != nil:
		return p.MaxProperties != nil
	default:
		return p.Type == "object" || p.Type == "boolean" // The API server drops properties that are not listed.
	}
}

// isScalarOfAnyType tells whether p accepts bounded numbers and texts, and neither lists
// nor maps.
func isScalarOfAnyType(p property) bool {
	return p.Type == "" && p.MaxLength != nil && p.Minimum != nil && p.Maximum != nil &&
		p.MaxItems != nil && *p.MaxItems == 0 && p.MaxProperties != nil && *p.MaxProperties == 0
}

// schema is the schema of a Memcached's spec and status.
func schema(t *testing.T) (spec, status property) {
	t.Helper()
	definition := &apiextensionsv1.CustomResourceDefinition{}
	testenv.NoError(t, yaml.Unmarshal(crdFile(t), definition))
	root := definition.Spec.Versions[0].Schema.OpenAPIV3Schema
	return root.Properties["spec"], root.Properties["status"]
}

func crdFile(t *testing.T) []byte {
	t.Helper()
	content, err := os.ReadFile(filepath.Join(controlplane.Root(), "config", "crd", "bases", "cache.example.com_memcacheds.yaml"))
	testenv.NoError(t, err)
	return content
}

func TestSchema_DescribesEveryField(t *testing.T) {
	t.Parallel()
	spec, status := schema(t)
	visit := func(path string, p property) {
		if strings.HasPrefix(path, "status.conditions[]") {
			return // The words are Kubernetes'.
		}
		// Entries of lists and maps are described by the list or map.
		if !strings.HasSuffix(path, "]") && strings.TrimSpace(p.Description) == "" {
			t.Errorf("%s has no description", path)
		}
		for line := range strings.Lines(p.Description) {
			if utf8.RuneCountInString(strings.TrimSpace(line)) > explainWidth {
				t.Errorf("%s: kubectl explain breaks the line %q", path, line)
			}
		}
	}
	walk("spec", spec, visit)
	walk("status", status, visit)
}

func TestSchema_NamesDefaults(t *testing.T) {
	t.Parallel()
	spec, _ := schema(t)
	for name, p := range spec.Properties {
		if !strings.Contains(p.Description, "Defaults") {
			t.Errorf("spec.%s: the description does not say what it defaults to", name)
		}
	}
	walk("spec", spec, func(path string, p property) {
		if p.Default != nil && !strings.Contains(p.Description, strings.Trim(string(p.Default.Raw), `"`)) {
			t.Errorf("%s: the description does not name the default %s", path, p.Default.Raw)
		}
	})
}

func TestSchema_NamesBounds(t *testing.T) {
	t.Parallel()
	spec, _ := schema(t)
	walk("spec", spec, func(path string, p property) {
		if strings.HasSuffix(path, "]") {
			return
		}
		var bounds []*int64
		for _, bound := range []*float64{p.Minimum, p.Maximum} {
			if bound != nil {
				bounds = append(bounds, new(int64(*bound)))
			}
		}
		if p.MaxLength != nil && !slices.Contains(standardLengths, *p.MaxLength) {
			bounds = append(bounds, p.MaxLength)
		}
		if p.Type != "" {
			bounds = append(bounds, p.MaxItems, p.MaxProperties)
		}
		for _, bound := range bounds {
			if bound != nil && !strings.Contains(p.Description, fmt.Sprint(*bound)) && (*bound != 1 || p.Type != "array") {
				t.Errorf("%s: the description does not name the bound %d:\n%s", path, *bound, p.Description)
			}
		}
	})
}

func TestSchema_BoundsEveryField(t *testing.T) {
	t.Parallel()
	spec, _ := schema(t)
	walk("spec", spec, func(path string, p property) {
		if !isBounded(p) {
			t.Errorf("%s, of type %q, has no lower or upper bound", path, p.Type)
		}
	})
}

// Messages of rules are written for users; those of patterns show a regular expression.
// Only an amount of CPU has one: it has no type, so no rule can read it.
func TestSchema_ShowsNoRegularExpressions(t *testing.T) {
	t.Parallel()
	spec, _ := schema(t)
	walk("spec", spec, func(path string, p property) {
		if p.Pattern != "" && !strings.HasSuffix(path, ".cpu") {
			t.Errorf("%s: users would see the pattern %s; write a rule with a message", path, p.Pattern)
		}
		for _, rule := range p.XValidations {
			if rule.Message == "" || strings.ContainsAny(rule.Message, "^$*\\") {
				t.Errorf("%s: the message %q is not plain text", path, rule.Message)
			}
		}
	})
}

func TestSchema_FitsKubectlApply(t *testing.T) {
	t.Parallel()
	asJSON, err := yaml.YAMLToJSON(crdFile(t))
	testenv.NoError(t, err)
	for form, content := range map[string][]byte{"YAML": crdFile(t), "JSON": asJSON} {
		if size := len(content); size > maxCRD {
			t.Errorf("the CustomResourceDefinition has %d bytes as %s, more than %d", size, form, maxCRD)
		}
	}
}
