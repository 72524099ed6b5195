// SPDX-License-Identifier: Apache-2.0

package template

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math"
)

// Prebuilt is the result of building one set of components, without the values of an
// input. It depends on the templates only, never on a Memcached, and is read-only once
// built: it is safe for concurrent use.
type Prebuilt struct {
	source
	// root is the kustomization on top.
	root  string
	names Names
	// placeholders is nil where copying values into place can differ from a full build:
	// every input takes a full build then.
	placeholders *placeholders
}

// compile builds the templates with components once. Placeholders replace the values of
// example that replacements read and show where each value goes; a prefix of all names
// shows the references between objects.
func compile(s source, components []string, example Input) (*Prebuilt, error) {
	p := &Prebuilt{source: s, root: s.tree.root(components)}
	top, err := s.withRoot(p.root)
	if err != nil {
		return nil, err
	}
	replacements, err := top.replacements(".")
	if err != nil {
		return nil, err
	}
	depends, err := top.dependsOnValues(replacements)
	if err != nil {
		return nil, err
	}
	if in, byText, ok := example.withPlaceholders(replacements); ok && !depends {
		// A placeholder may be invalid where a value is not: the values decide below then.
		if objects, err := p.buildPrefixed(in); err == nil {
			p.placeholders = findPlaceholders(objects, byText)
			p.names = findNames(objects)
			return p, nil
		}
	}
	objects, err := p.buildPrefixed(example)
	if err != nil {
		return nil, p.diagnose(example, err)
	}
	p.names = findNames(objects)
	return p, nil
}

// verify compares p with full builds of example and of an input in which every value
// differs, and drops the placeholders on a mismatch. An error is about the templates.
func (p *Prebuilt) verify(example Input) error {
	built, err := p.FullBuild(example)
	if err != nil {
		return err
	}
	if err := p.names.rename(built, p.placeholders); err != nil {
		return err
	}
	mutated := example.Mutated()
	other, errMutated := p.FullBuild(mutated)
	if errMutated == nil {
		if err := p.names.check(other); err != nil {
			return err
		}
	}
	// A failed build counts as a mismatch; not every value can be mutated, so it is not an
	// error of the templates.
	if p.placeholders != nil && (errMutated != nil || !p.matches(example, built) || !p.matches(mutated, other)) {
		p.placeholders = nil
	}
	return nil
}

// matches reports whether filling in the values of in gives the bytes of a full build.
func (p *Prebuilt) matches(in Input, built []map[string]any) bool {
	filled, _, err := p.placeholders.fill(in)
	if err != nil {
		return false
	}
	a, errA := json.Marshal(filled)
	b, errB := json.Marshal(built)
	return errA == nil && errB == nil && bytes.Equal(a, b)
}

// Objects returns new objects for in, with their names in the templates. size is an upper
// bound of their length as JSON, in bytes; math.MaxInt if it is not known. The error is a
// [TypeMismatchError] when a value of in has another type than in the example.
func (p *Prebuilt) Objects(in Input) (objects []map[string]any, size int, err error) {
	if p.placeholders != nil {
		return p.placeholders.fill(in)
	}
	if objects, err = p.FullBuild(in); err != nil {
		return nil, 0, p.diagnose(in, err)
	}
	return objects, math.MaxInt, p.names.check(objects)
}

// Names returns the names of the objects and the references between them. It is read-only.
func (p *Prebuilt) Names() Names { return p.names }

// TakesFullBuilds reports whether [Prebuilt.Objects] runs a full build for every input,
// which takes 10 to 100 times longer than copying values.
func (p *Prebuilt) TakesFullBuilds() bool { return p.placeholders == nil }

// buildPrefixed builds with in. Kustomize adds NamePrefix to every name and to every
// reference to it.
func (p *Prebuilt) buildPrefixed(in Input) ([]map[string]any, error) {
	return p.build(in, fmt.Sprintf(`transformers:
- |-
  apiVersion: builtin
  kind: PrefixTransformer
  metadata: {name: prefix}
  prefix: %s
  fieldSpecs:
  - {path: metadata/name}
`, NamePrefix))
}
