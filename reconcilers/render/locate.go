// SPDX-License-Identifier: Apache-2.0

package render

import (
	"fmt"
	"maps"

	kyaml "sigs.k8s.io/kustomize/kyaml/yaml"
	"sigs.k8s.io/yaml"
)

// locate returns err, the error of a build with in, with the place of the replacement
// that fails, if one does: kustomize names the field alone. It builds without the
// replacements and runs them one by one.
func (p *prebuilt) locate(in input, err error) error {
	nodes, replacements, buildErr := p.buildHeld(in)
	if buildErr != nil {
		return err
	}
	for _, r := range replacements {
		if located := r.run(nodes); located != nil {
			return fmt.Errorf("%s: %w", r.where, located)
		}
	}
	return err
}

// buildHeld builds without running the replacements, which it returns.
func (p *prebuilt) buildHeld(in input) ([]*kyaml.RNode, []sourcedReplacement, error) {
	kustomizations, err := p.withRoot()
	if err != nil {
		return nil, nil, err
	}
	replacements, err := p.tree.replacements(".", kustomizations)
	if err != nil {
		return nil, nil, err
	}
	held, err := p.tree.withoutReplacements()
	if err != nil {
		return nil, nil, err
	}
	if err := in.place(held); err != nil {
		return nil, nil, err
	}
	built, err := build(held, p.root)
	if err != nil {
		return nil, nil, err
	}
	nodes := built.ToRNodeSlice()
	for _, name := range []string{memcachedFile, valuesFile} {
		node, err := kyaml.Parse(string(held[name]))
		if err != nil {
			return nil, nil, err
		}
		nodes = append(nodes, node)
	}
	return nodes, replacements, nil
}

func (r sourcedReplacement) run(nodes []*kyaml.RNode) (err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("kustomize panicked: %v", p)
		}
	}()
	_, err = r.filter.Filter(nodes)
	return err
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
		// Empty, not absent: kustomize rejects a kustomization that says nothing.
		fields["replacements"] = []any{}
		emptied, err := yaml.Marshal(fields)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", name, err)
		}
		held[name] = emptied
	}
	return held, nil
}
