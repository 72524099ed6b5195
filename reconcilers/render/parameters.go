// SPDX-License-Identifier: Apache-2.0

package render

import (
	"errors"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"

	cachev1alpha1 "github.com/example/memcached-operator/apis/v1alpha1"
	"github.com/example/memcached-operator/reconcilers/render/template"
)

const (
	// ParametersFile declares the parameters that spec.parameters of a Memcached may set.
	ParametersFile = template.ParametersFile
	// parameterComponents is the prefix of the components that parameters enable.
	parameterComponents = "parameters."
	// maxParameters is the maximum number of declared parameters.
	maxParameters = 64
)

// parameterName matches the names of parameters, as the CRD does.
var parameterName = regexp.MustCompile(`^[a-z][A-Za-z0-9]{0,62}$`)

// parameter is the declaration of a parameter in ParametersFile.
type parameter struct {
	Name string `json:"name"`
	// Description says what the parameter does. Errors quote it.
	Description string `json:"description"`
	// Example is a value with which the templates are checked.
	Example cachev1alpha1.ParameterValue `json:"example"`
	// Pattern is a regular expression (RE2) that a whole value must match. If it is empty, every
	// value is accepted.
	Pattern string `json:"pattern,omitempty"`

	pattern *regexp.Regexp
}

// accepts reports whether value matches the pattern.
func (p parameter) accepts(value cachev1alpha1.ParameterValue) bool {
	return p.pattern == nil || p.pattern.MatchString(string(value))
}

// parameters holds the declared parameters by name.
type parameters map[string]parameter

// InvalidParameterError says which of spec.parameters is invalid, and why. It does not contain
// the value.
type InvalidParameterError struct {
	Name    string
	Message string
}

func (e *InvalidParameterError) Error() string {
	return fmt.Sprintf("spec.parameters.%.*s: %s", quotedKeyLength, e.Name, e.Message)
}

// readParameters returns the parameters that tree declares, each of which must have a component. The error joins
// all mistakes. Parameters are returned for components without a valid declaration too, so that their files can be
// checked.
func readParameters(tree Tree) (parameters, error) {
	var file struct {
		APIVersion string         `json:"apiVersion"`
		Kind       string         `json:"kind"`
		Metadata   map[string]any `json:"metadata"`
		Parameters []parameter    `json:"parameters"`
	}
	var errs []error
	if content, ok := tree[ParametersFile]; ok {
		errs = append(errs, template.In(ParametersFile, "", template.DecodeStrict(content, &file)))
	}
	if len(file.Parameters) > maxParameters {
		return nil, Problem{File: ParametersFile, Message: fmt.Sprintf("parameters has %d items, which is more than the maximum of %d; remove some", len(file.Parameters), maxParameters)}
	}
	declared, isNamed := parameters{}, map[string]bool{}
	for i, p := range file.Parameters {
		isNamed[p.Name] = true
		if err := p.validate(tree, declared); err != nil {
			errs = append(errs, template.In(ParametersFile, fmt.Sprintf("parameters[%d]", i), err))
			continue
		}
		if p.Pattern != "" {
			p.pattern = regexp.MustCompile(p.wholePattern())
		}
		declared[p.Name] = p
	}
	for name, file := range componentsOfParameters(tree) {
		if !isNamed[name] {
			errs = append(errs, Problem{File: file, Message: fmt.Sprintf("the parameter %s is not declared; add it to parameters in %s", name, ParametersFile)})
		}
		if _, ok := declared[name]; !ok && parameterName.MatchString(name) {
			declared[name] = parameter{Name: name, Example: "example"}
		}
	}
	return declared, errors.Join(errs...)
}

// componentsOfParameters returns the first file of each component of a parameter, by the parameter's name.
func componentsOfParameters(tree Tree) map[string]string {
	files := map[string]string{}
	for _, file := range slices.Backward(slices.Sorted(maps.Keys(tree))) {
		if rest, ok := strings.CutPrefix(file, "components/"+parameterComponents); ok {
			name, _, _ := strings.Cut(rest, "/")
			files[name] = file
		}
	}
	return files
}

// wholePattern returns the pattern, which is not empty, as one that matches whole values.
func (p parameter) wholePattern() string { return "^(?:" + p.Pattern + ")$" }

func (p parameter) validate(tree Tree, others parameters) error {
	if !parameterName.MatchString(p.Name) {
		return Problem{Path: "name", Message: fmt.Sprintf("%q must begin with a lower-case letter and have at most 63 letters and digits, such as zone or logLevel", p.Name)}
	}
	if _, ok := others[p.Name]; ok {
		return Problem{Path: "name", Message: fmt.Sprintf("%s is declared twice; remove one", p.Name)}
	}
	if strings.TrimSpace(p.Description) == "" {
		return Problem{Path: "description", Message: fmt.Sprintf("say what %s does, for the authors of Memcacheds", p.Name)}
	}
	if p.Example == "" {
		return Problem{Path: "example", Message: "set a value, with which the templates are checked"}
	}
	if p.Pattern != "" {
		if _, err := regexp.Compile(p.Pattern); err != nil { // Alone: a)|(b is valid within the parentheses of a whole pattern.
			return Problem{Path: "pattern", Message: err.Error()}
		}
		pattern, err := regexp.Compile(p.wholePattern())
		if err != nil {
			return Problem{Path: "pattern", Message: err.Error()}
		}
		if !pattern.MatchString(string(p.Example)) {
			return Problem{Path: "example", Message: fmt.Sprintf("%q does not match the pattern %s", p.Example, p.Pattern)}
		}
	}
	file := "components/" + parameterComponents + p.Name + "/kustomization.yaml"
	if _, ok := tree[file]; !ok {
		return fmt.Errorf("%s has no effect: there is no %s; add it, or remove the parameter", p.Name, file)
	}
	return nil
}

// examples returns the example of each parameter, or nil if there is none.
func (p parameters) examples() cachev1alpha1.Parameters {
	if len(p) == 0 {
		return nil
	}
	examples := cachev1alpha1.Parameters{}
	for name, parameter := range p {
		examples[name] = parameter.Example
	}
	return examples
}

// check returns an InvalidParameterError for the first of values, by name, that is not declared or that
// does not match its pattern.
func (p parameters) check(values cachev1alpha1.Parameters) error {
	for _, name := range slices.Sorted(maps.Keys(values)) {
		parameter, ok := p[name]
		if !ok {
			return &InvalidParameterError{name, "unknown parameter; " + p.describe()}
		}
		if !parameter.accepts(values[name]) {
			return &InvalidParameterError{name, fmt.Sprintf("the value must match %s: %s", parameter.Pattern, parameter.Description)}
		}
	}
	return nil
}

// describe lists the parameters.
func (p parameters) describe() string {
	if len(p) == 0 {
		return "the operator's templates declare none"
	}
	var known []string
	for _, name := range slices.Sorted(maps.Keys(p)) {
		known = append(known, fmt.Sprintf("%s (%s)", name, p[name].Description))
	}
	return "known are " + strings.Join(known, ", ")
}
