// SPDX-License-Identifier: Apache-2.0

package render

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"

	"sigs.k8s.io/kustomize/api/resmap"
	"sigs.k8s.io/kustomize/api/types"
	kyaml "sigs.k8s.io/kustomize/kyaml/yaml"
	"sigs.k8s.io/yaml"
)

// plan is what one set of components comes to before any input is filled in. It is
// read-only once made, and so shared by all goroutines.
type plan struct {
	parsed
	root         string
	templates    []*kyaml.RNode
	replacements []located
	naming       naming
	// slots are nil where the replacements have to be run.
	slots *slots
	// whole says that filling in is not the same as a whole build here, so that
	// every input gets a whole build.
	whole bool
}

// parsed is a tree and what is read of it once.
type parsed struct {
	tree Tree
	// held is the tree with its replacements held back.
	held           Tree
	kustomizations map[string]*types.Kustomization
}

// parse reads and checks the kustomizations of tree.
func parse(tree Tree) (parsed, error) {
	kustomizations, err := tree.kustomizations()
	if err != nil {
		return parsed{}, err
	}
	held, err := tree.withoutReplacements()
	return parsed{tree, held, kustomizations}, err
}

// newPlan builds the templates with components once, replacements held back, and
// proves the result against whole builds of in.
func newPlan(templates parsed, components []string, in input, m mains) (*plan, error) {
	p, err := compile(templates, components, in, m)
	if err != nil {
		return nil, err
	}
	return p, p.prove(in)
}

// compile is the first half of newPlan: what comes of it can be filled in, and is
// right about in alone. Without mains, it finds them for itself.
func compile(templates parsed, components []string, in input, m mains) (*plan, error) {
	p := &plan{parsed: templates, root: templates.tree.root(components)}
	built, err := p.buildHeld(in, "")
	if err != nil {
		return nil, err
	}
	// After the build, since that is what refuses directories that name each other.
	kustomizations, err := p.withRoot()
	if err != nil {
		return nil, err
	}
	if p.replacements, err = p.tree.replacements(".", kustomizations); err != nil {
		return nil, err
	}
	for _, resource := range built.Resources() {
		if !isInput(&resource.RNode) {
			p.templates = append(p.templates, &resource.RNode)
		}
	}
	if m == nil {
		m = mains{}
		m.add(p.templates)
	}
	p.naming = newNaming(p.templates, m)
	return p, nil
}

// prove is the second half of newPlan: it finds the references between the objects,
// and whether filling in is the same as whole builds.
func (p *plan) prove(in input) error {
	held := maps.Clone(p.held)
	if err := in.place(held, false); err != nil {
		return err
	}
	if err := p.naming.findAllReferences(held, p.root, p.templates); err != nil {
		return err
	}
	kustomizations, err := p.withRoot()
	if err != nil {
		return err
	}
	depends, err := order{p.tree, kustomizations, map[string]bool{}}.dependsOnValues(".")
	if err != nil {
		return err
	}
	proved := func() bool { return p.agrees(in) && p.agrees(in.perturbed()) }
	p.slots = newSlots(p, in)
	if p.slots != nil && !proved() {
		p.slots = nil
	}
	p.whole = depends || p.slots == nil && !proved()
	return nil
}

// buildHeld builds the templates with in beside them, as resources that come out,
// and nothing filled in. more is added to the top kustomization.
func (p *plan) buildHeld(in input, more string) (resmap.ResMap, error) {
	held := maps.Clone(p.held)
	if err := in.place(held, false); err != nil {
		return nil, err
	}
	return build(held, p.root+more)
}

// withRoot are the kustomizations and the one on top.
func (p *plan) withRoot() (map[string]*types.Kustomization, error) {
	top := &types.Kustomization{}
	if err := top.Unmarshal([]byte(p.root)); err != nil {
		return nil, err
	}
	all := maps.Clone(p.kustomizations)
	all["."] = top
	return all, nil
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

// fill fills the slots in with in, or else runs the replacements.
func (p *plan) fill(in input) ([]map[string]any, error) {
	if p.slots != nil {
		if objects, ok := p.slots.fill(in); ok {
			return objects, nil
		}
	}
	return p.replace(in)
}

// replace copies the templates and runs the replacements with in.
func (p *plan) replace(in input) (objects []map[string]any, err error) {
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
	openAPI.Lock()
	defer openAPI.Unlock()
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
