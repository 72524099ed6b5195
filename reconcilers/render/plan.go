// SPDX-License-Identifier: Apache-2.0

package render

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"

	"sigs.k8s.io/kustomize/api/types"
	kyaml "sigs.k8s.io/kustomize/kyaml/yaml"
	"sigs.k8s.io/yaml"
)

// plan is what one set of components comes to before any input is filled in. It is
// read-only once made, and so shared by all goroutines.
type plan struct {
	tree         Tree
	root         string
	templates    []*kyaml.RNode
	replacements []located
	naming       naming
	// whole says that filling in is not the same as a whole build here, so that
	// every input gets a whole build.
	whole bool
}

// newPlan builds tree with components once, replacements held back, and proves the
// result against whole builds of in. Without mains, it finds them for itself.
func newPlan(tree Tree, components []string, in input, m mains) (*plan, error) {
	kustomizations, err := tree.kustomizations()
	if err != nil {
		return nil, err
	}
	p := &plan{tree: tree, root: tree.root(components)}
	top := &types.Kustomization{}
	if err := top.Unmarshal([]byte(p.root)); err != nil {
		return nil, err
	}
	kustomizations["."] = top
	held, err := tree.withoutReplacements()
	if err != nil {
		return nil, err
	}
	if err := in.place(held, false); err != nil {
		return nil, err
	}
	built, err := build(held, p.root)
	if err != nil {
		return nil, err
	}
	// After the build, since that is what refuses directories that name each other.
	if p.replacements, err = tree.replacements(".", kustomizations); err != nil {
		return nil, err
	}
	for _, resource := range built.Resources() {
		if !isInput(&resource.RNode) {
			p.templates = append(p.templates, &resource.RNode)
		}
	}
	if m == nil {
		m = newMains(p.templates)
	}
	if p.naming, err = newNaming(held, p.root, p.templates, m); err != nil {
		return nil, err
	}
	depends, err := order{tree, kustomizations, map[string]bool{}}.dependsOnValues(".")
	if err != nil {
		return nil, err
	}
	p.whole = depends || !p.agrees(in) || !p.agrees(in.perturbed())
	return p, nil
}

func isInput(node *kyaml.RNode) bool {
	kind := node.GetKind()
	return kind == memcachedKind || kind == valuesKind
}

// withoutReplacements is a copy of the tree whose kustomizations replace nothing.
func (t Tree) withoutReplacements() (Tree, error) {
	held := maps.Clone(t)
	for name, content := range t {
		if !isKustomization(name) {
			continue
		}
		var fields map[string]any
		if err := yaml.Unmarshal(content, &fields); err != nil {
			return nil, fmt.Errorf("%s: %w", name, err)
		}
		if _, ok := fields["replacements"]; !ok {
			continue
		}
		// Empty, not absent: kustomize refuses a kustomization that says nothing.
		fields["replacements"] = []any{}
		emptied, err := yaml.Marshal(fields)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", name, err)
		}
		held[name] = emptied
	}
	return held, nil
}

// fill copies the templates and runs the replacements with in.
func (p *plan) fill(in input) (objects []map[string]any, err error) {
	defer func() {
		if r := recover(); r != nil {
			err = fmt.Errorf("kustomize panicked: %v", r)
		}
	}()
	inputs, err := in.nodes()
	if err != nil {
		return nil, err
	}
	nodes := make([]*kyaml.RNode, len(p.templates), len(p.templates)+len(inputs))
	for i, template := range p.templates {
		nodes[i] = template.Copy()
	}
	all := append(nodes, inputs...)
	openAPI.RLock()
	defer openAPI.RUnlock()
	for _, r := range p.replacements {
		if _, err := r.filter.Filter(all); err != nil {
			return nil, fmt.Errorf("%s: %w", r.where, err)
		}
	}
	return toObjects(all[:len(p.templates)])
}

// buildWhole runs kustomize over everything with in as resources.
func (p *plan) buildWhole(in input) ([]map[string]any, error) {
	tree := maps.Clone(p.tree)
	if err := in.place(tree, true); err != nil {
		return nil, err
	}
	built, err := build(tree, p.root)
	if err != nil {
		return nil, err
	}
	return toObjects(built.ToRNodeSlice())
}

// agrees tells whether filling in gives, byte for byte, what a whole build gives.
// An input that nothing can be made from proves nothing.
func (p *plan) agrees(in input) bool {
	filled, fillErr := p.fill(in)
	built, buildErr := p.buildWhole(in)
	if fillErr != nil || buildErr != nil {
		return false
	}
	a, errA := json.Marshal(filled)
	b, errB := json.Marshal(built)
	return errA == nil && errB == nil && bytes.Equal(a, b)
}

// objects are the objects for in, before they are finished.
func (p *plan) objects(in input) ([]map[string]any, error) {
	if !p.whole {
		return p.fill(in)
	}
	objects, err := p.buildWhole(in)
	if err == nil {
		return objects, nil
	}
	// Where filling in fails too, its error names the replacement.
	if _, fillErr := p.fill(in); fillErr != nil {
		return nil, fillErr
	}
	return nil, err
}
