// SPDX-License-Identifier: Apache-2.0

package render

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"math"

	"sigs.k8s.io/kustomize/api/types"
)

// prebuilt is what one set of components builds to before the values of a Memcached
// are filled in. It depends on the templates alone, never on a Memcached. It is
// read-only once verified, and so shared by all goroutines.
type prebuilt struct {
	parsed
	root   string
	naming naming
	// placeholders are nil where copying values into place is not the same as a full
	// build: then every Memcached takes a full build.
	placeholders *placeholders
}

// parsed is a tree and what is read of it once.
type parsed struct {
	tree           Tree
	kustomizations map[string]*types.Kustomization
}

// parse reads and checks the kustomizations of tree.
func parse(tree Tree) (parsed, error) {
	kustomizations, err := tree.kustomizations()
	return parsed{tree, kustomizations}, cmp.Or(err, checkCycles(kustomizations))
}

// compile builds the templates with components once. example is the tree's own, less
// the fields of the components that are off. In place of the values that replacements
// read stand marks, which show where each value goes; all names have a prefix, which
// shows the references between objects.
func compile(templates parsed, components []string, example input) (*prebuilt, error) {
	p := &prebuilt{parsed: templates, root: templates.tree.root(components)}
	kustomizations, err := p.withRoot()
	if err != nil {
		return nil, err
	}
	replacements, err := p.tree.replacements(".", kustomizations)
	if err != nil {
		return nil, err
	}
	depends, err := dependencies{p.tree, kustomizations, map[string]bool{}}.onValues(".")
	if err != nil {
		return nil, err
	}
	if !depends && !picksByFilled(replacements) {
		if marked, marks, ok := example.marked(replacements); ok {
			// Marks need not fit where values do: then the values themselves decide below.
			if objects, err := p.buildPrefixed(marked); err == nil {
				p.placeholders = findPlaceholders(objects, marks)
				p.naming = newNaming(objects)
				return p, nil
			}
		}
	}
	objects, err := p.buildPrefixed(example)
	if err != nil {
		return nil, p.locate(example, err)
	}
	p.naming = newNaming(objects)
	return p, nil
}

// verify compares p with full builds of example and of one in which every value
// differs, and gives up the placeholders where they do not match. The error is about
// the templates.
func (p *prebuilt) verify(example input) error {
	built, err := p.fullBuild(example)
	if err != nil {
		return err
	}
	if err := p.naming.adopt(built, p.placeholders); err != nil {
		return err
	}
	mutated := example.mutated()
	other, errMutated := p.fullBuild(mutated)
	if errMutated == nil {
		if err := p.naming.check(other); err != nil {
			return err
		}
	}
	// Not every value can be mutated, so errMutated is no mistake in the templates.
	if p.placeholders != nil && (errMutated != nil || !p.matches(example, built) || !p.matches(mutated, other)) {
		p.placeholders = nil
	}
	return nil
}

// matches tells whether filling in gives, byte for byte, what a full build gave.
func (p *prebuilt) matches(in input, built []map[string]any) bool {
	filled, _, err := p.placeholders.fill(in)
	if err != nil {
		return false
	}
	a, errA := json.Marshal(filled)
	b, errB := json.Marshal(built)
	return errA == nil && errB == nil && bytes.Equal(a, b)
}

// objects returns the objects for in, under the names of their templates. size is how long
// they are together as JSON, in bytes, at most; maxInt when that is not known.
func (p *prebuilt) objects(in input) (objects []map[string]any, size int, err error) {
	if p.placeholders != nil {
		return p.placeholders.fill(in)
	}
	if objects, err = p.fullBuild(in); err != nil {
		return nil, 0, p.locate(in, err)
	}
	return objects, math.MaxInt, p.naming.check(objects)
}

// withRoot returns the kustomizations and the one on top.
func (p *prebuilt) withRoot() (map[string]*types.Kustomization, error) {
	top := &types.Kustomization{}
	if err := top.Unmarshal([]byte(p.root)); err != nil {
		return nil, err
	}
	all := maps.Clone(p.kustomizations)
	all["."] = top
	return all, nil
}

// buildPrefixed builds with in, and lets kustomize put namePrefix before every name
// and in every reference to it.
func (p *prebuilt) buildPrefixed(in input) ([]map[string]any, error) {
	return p.build(in, fmt.Sprintf(`transformers:
- |-
  apiVersion: builtin
  kind: PrefixTransformer
  metadata: {name: prefix}
  prefix: %s
  fieldSpecs:
  - {path: metadata/name}
`, namePrefix))
}

// build runs kustomize over the templates with in as resources that do not come out.
// more is added to the top kustomization.
func (p *prebuilt) build(in input, more string) ([]map[string]any, error) {
	tree := maps.Clone(p.tree)
	if err := in.place(tree); err != nil {
		return nil, err
	}
	built, err := build(tree, p.root+more)
	if err != nil {
		return nil, err
	}
	return toObjects(built.ToRNodeSlice())
}
