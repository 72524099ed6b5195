// SPDX-License-Identifier: Apache-2.0

package render

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"path"

	"sigs.k8s.io/kustomize/api/filters/replacement"
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

// located is a replacement and where it is written, for error messages.
type located struct {
	where  string
	filter replacement.Filter
}

// newPlan builds tree with components once, replacements held back, and proves the
// result against whole builds of in.
func newPlan(tree Tree, components []string, in input) (*plan, error) {
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
	if p.replacements, err = tree.replacements(".", kustomizations); err != nil {
		return nil, err
	}
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
	for _, resource := range built.Resources() {
		if !isInput(&resource.RNode) {
			p.templates = append(p.templates, &resource.RNode)
		}
	}
	if p.naming, err = newNaming(held, p.root, p.templates); err != nil {
		return nil, err
	}
	p.whole = !p.agrees(in) || !p.agrees(in.perturbed())
	return p, nil
}

func isInput(node *kyaml.RNode) bool {
	kind := node.GetKind()
	return kind == memcachedKind || kind == valuesKind
}

// replacements collects the replacements in the order in which kustomize runs them:
// those of a directory come after those of what it is made of.
func (t Tree) replacements(dir string, kustomizations map[string]*types.Kustomization) ([]located, error) {
	var result []located
	k, ok := kustomizations[dir]
	if !ok {
		return nil, nil
	}
	for _, children := range [][]string{k.Resources, k.Components} {
		for _, child := range children {
			nested, err := t.replacements(path.Join(dir, child), kustomizations)
			if err != nil {
				return nil, err
			}
			result = append(result, nested...)
		}
	}
	for i, field := range k.Replacements {
		where := fmt.Sprintf("%s: replacements[%d]", path.Join(dir, kustomizationFile), i)
		list := []types.Replacement{field.Replacement}
		if field.Path != "" {
			where = path.Join(dir, field.Path)
			var err error
			if list, err = parseReplacements(t[where]); err != nil {
				return nil, fmt.Errorf("%s: %w", where, err)
			}
		}
		for _, r := range list {
			setDefaults(&r)
			result = append(result, located{where, replacement.Filter{Replacements: []types.Replacement{r}}})
		}
	}
	return result, nil
}

func parseReplacements(content []byte) ([]types.Replacement, error) {
	var list []types.Replacement
	if err := yaml.UnmarshalStrict(content, &list); err == nil {
		return list, nil
	}
	var one types.Replacement
	if err := yaml.UnmarshalStrict(content, &one); err != nil {
		return nil, err
	}
	return []types.Replacement{one}, nil
}

// setDefaults sets what the filter would otherwise set when it runs, in a value
// that goroutines share.
func setDefaults(r *types.Replacement) {
	if r.Source != nil && r.Source.FieldPath == "" {
		r.Source.FieldPath = types.DefaultReplacementFieldPath
	}
	for _, target := range r.Targets {
		if len(target.FieldPaths) == 0 {
			target.FieldPaths = []string{types.DefaultReplacementFieldPath}
		}
	}
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
func (p *plan) agrees(in input) bool {
	filled, fillErr := p.fill(in)
	built, buildErr := p.buildWhole(in)
	if fillErr != nil || buildErr != nil {
		return fillErr != nil && buildErr != nil
	}
	a, errA := json.Marshal(filled)
	b, errB := json.Marshal(built)
	return errA == nil && errB == nil && bytes.Equal(a, b)
}

// objects are the finished objects for in.
func (p *plan) objects(in input) ([]map[string]any, error) {
	if p.whole {
		return p.buildWhole(in)
	}
	return p.fill(in)
}
