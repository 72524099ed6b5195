// SPDX-License-Identifier: Apache-2.0

package render

import (
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	cachev1alpha1 "github.com/example/memcached-operator/apis/v1alpha1"
)

const (
	declarationHeader = "apiVersion: cache.example.com/v1alpha1\nkind: Parameters\nmetadata: {name: parameters}\nparameters:\n"
	zoneDeclaration   = "- {name: zone, description: The zone of the pods., example: eu-1a, pattern: '[a-z]+-[0-9][a-z]'}\n"
	zoneFile          = "components/parameters.zone/kustomization.yaml"
	zoneComponent     = `apiVersion: kustomize.config.k8s.io/v1alpha1
kind: Component
replacements:
- source: {kind: Memcached, fieldPath: spec.parameters.zone}
  targets:
  - select: {kind: Deployment, name: memcached}
    fieldPaths: [spec.template.spec.nodeSelector.zone]
    options: {create: true}
`
)

// withParameters declares zone and tier.
func withParameters() edits {
	return edits{
		ParametersFile: declarationHeader + zoneDeclaration + "- {name: tier, description: The tier of the cache., example: gold}\n",
		zoneFile:       zoneComponent,
		"components/parameters.tier/kustomization.yaml": `apiVersion: kustomize.config.k8s.io/v1alpha1
kind: Component
replacements:
- source: {kind: Memcached, fieldPath: spec.parameters.tier}
  targets:
  - select: {kind: Deployment, name: memcached}
    fieldPaths: [metadata.annotations.tier]
    options: {create: true}
`,
	}
}

func withValues(values cachev1alpha1.Parameters) *cachev1alpha1.Memcached {
	mc := plain()
	mc.Spec.Parameters = values
	return mc
}

func TestRender_AppliesTheComponentsOfParameters(t *testing.T) {
	buildsTemplates(t)
	t.Parallel()
	r := mustNew(t, edited(t, withParameters()), Defaults{})
	for name, test := range map[string]struct {
		values cachev1alpha1.Parameters
		zone   any
		tier   any
	}{
		"none":                      {},
		"one":                       {cachev1alpha1.Parameters{"zone": "us-2b"}, "us-2b", nil},
		"both, of which one is '7'": {cachev1alpha1.Parameters{"zone": "us-2b", "tier": "7"}, "us-2b", "7"},
	} {
		objects, err := r.Render(withValues(test.values))
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		deployment := deploymentIn(t, objects)
		zone, _, _ := unstructured.NestedFieldNoCopy(deployment.Object, "spec", "template", "spec", "nodeSelector", "zone")
		tier, _, _ := unstructured.NestedFieldNoCopy(deployment.Object, "metadata", "annotations", "tier")
		if zone != test.zone || tier != test.tier {
			t.Errorf("%s: zone %v, tier %v (%T)", name, zone, tier, tier)
		}
	}
}

func TestRender_RejectsParameters(t *testing.T) {
	buildsTemplates(t)
	t.Parallel()
	long := strings.Repeat("a", 100)
	for name, test := range map[string]struct {
		edits  edits
		values cachev1alpha1.Parameters
		want   string
	}{
		"that the shipped templates do not declare": {nil, cachev1alpha1.Parameters{"zone": "a"},
			"spec.parameters.zone: unknown parameter; the operator's templates declare none"},
		"that other templates do not declare": {withParameters(), cachev1alpha1.Parameters{"zone": "eu-1a", "colour": "red"},
			"spec.parameters.colour: unknown parameter; known are tier (The tier of the cache.), zone (The zone of the pods.)"},
		"whose value does not match the pattern": {withParameters(), cachev1alpha1.Parameters{"zone": "hunter2"},
			"spec.parameters.zone: the value must match [a-z]+-[0-9][a-z]: The zone of the pods."},
		"whose value matches the pattern in part": {withParameters(), cachev1alpha1.Parameters{"zone": "eu-1a hunter2"},
			"spec.parameters.zone: the value must match [a-z]+-[0-9][a-z]: The zone of the pods."},
		"whose name is longer than the CRD allows": {withParameters(), cachev1alpha1.Parameters{long: "a"},
			"spec.parameters." + long[:63] + ": unknown parameter; known are"},
	} {
		r := mustNew(t, edited(t, test.edits), Defaults{})
		_, err := r.Render(withValues(test.values))
		if err == nil || !strings.Contains(err.Error(), test.want) || strings.Contains(err.Error(), "hunter2") {
			t.Errorf("%s: error %v", name, err)
		}
	}
}

func TestNew_RejectsDeclarationsOfParameters(t *testing.T) {
	buildsTemplates(t)
	t.Parallel()
	declare := func(items string) edits {
		return edits{ParametersFile: declarationHeader + items, zoneFile: zoneComponent}
	}
	many := ""
	for i := range 65 {
		many += fmt.Sprintf("- {name: p%d, description: a, example: a}\n", i)
	}
	for name, test := range map[string]struct {
		edits edits
		want  string
	}{
		"a component without a declaration": {edits{zoneFile: zoneComponent},
			zoneFile + ":1: the parameter zone is not declared; add it to parameters in base/parameters.yaml"},
		"a declaration without a component": {edits{ParametersFile: declarationHeader + zoneDeclaration},
			"base/parameters.yaml:5: parameters[0]: zone has no effect: there is no components/parameters.zone/kustomization.yaml; add it, or remove the parameter"},
		"a name with a dot": {declare("- {name: a.b, description: a, example: a}\n"),
			`base/parameters.yaml:5: parameters[0]: name: "a.b" must begin with a lower-case letter and have at most 63 letters and digits, such as zone or logLevel`},
		"no name":                               {declare("- {description: a, example: a}\n"), `parameters[0]: name: "" must begin`},
		"a name twice":                          {declare(zoneDeclaration + zoneDeclaration), "parameters[1]: name: zone is declared twice; remove one"},
		"no description":                        {declare("- {name: zone, example: a}\n"), "parameters[0]: description: say what zone does, for the authors of Memcacheds"},
		"no example":                            {declare("- {name: zone, description: a}\n"), "parameters[0]: example: set a value, with which the templates are checked"},
		"an example of no match":                {declare("- {name: zone, description: a, example: a, pattern: b}\n"), `parameters[0]: example: "a" does not match the pattern b`},
		"a pattern that leaves its parentheses": {declare("- {name: zone, description: a, example: a, pattern: 'a)|(b'}\n"), "parameters[0]: pattern: error parsing regexp"},
		"no regular expression":                 {declare("- {name: zone, description: a, example: a, pattern: '('}\n"), "parameters[0]: pattern: error parsing regexp"},
		"an unknown field":                      {declare("- {name: zone, description: a, example: a, default: b}\n"), `base/parameters.yaml:5: unknown field "parameters[0].default"`},
		"too many":                              {declare(many), "base/parameters.yaml:4: parameters has 65 items, which is more than the maximum of 64; remove some"},
	} {
		_, err := New(few(t, test.edits), Defaults{})
		if err == nil || !strings.Contains(err.Error(), test.want) {
			t.Errorf("%s: error %v", name, err)
		}
	}
}

// The engine builds a set of components once; this compares it with kustomize for each set of parameters.
func TestRender_ParametersEqualAKustomizeBuild(t *testing.T) {
	buildsTemplates(t)
	t.Parallel()
	r := mustNew(t, edited(t, withParameters()), Defaults{})
	for _, values := range []cachev1alpha1.Parameters{nil, {"zone": "us-2b"}, {"tier": "0"}, {"zone": "us-2b", "tier": "7"}} {
		mc := withValues(values)
		got, err := r.Render(mc)
		if err != nil {
			t.Fatal(err)
		}
		if want, _ := mustFullBuild(t, r, mc); !reflect.DeepEqual(got, want) {
			t.Errorf("with %v: %v, want %v", values, got, want)
		}
	}
	if got := slices.Sorted(maps.Keys(r.parameters)); !slices.Equal(got, []string{"tier", "zone"}) {
		t.Errorf("the parameters are %q", got)
	}
}
