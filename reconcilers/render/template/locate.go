// SPDX-License-Identifier: Apache-2.0

package template

import (
	"fmt"
	"maps"

	kyaml "sigs.k8s.io/kustomize/kyaml/yaml"
	"sigs.k8s.io/yaml"
)

// locate adds to err, the error of a build with in, the file and position of the
// replacement that fails, if one does: kustomize names the field only. It builds without
// the replacements and runs them one by one.
func (p *Prebuilt) locate(in Input, err error) error {
	nodes, buildErr := p.buildWithoutReplacements(in)
	if buildErr != nil {
		return err
	}
	top, rootErr := p.source.withRoot(p.root)
	if rootErr != nil {
		return err
	}
	replacements, replacementsErr := top.replacements(".")
	if replacementsErr != nil {
		return err
	}
	for _, r := range replacements {
		if located := r.run(nodes); located != nil {
			return fmt.Errorf("%s: %w", r.where, located)
		}
	}
	return err
}

// buildWithoutReplacements returns the resources, including the input, to which the
// replacements apply.
func (p *Prebuilt) buildWithoutReplacements(in Input) ([]*kyaml.RNode, error) {
	tree, err := p.tree.withoutReplacements()
	if err != nil {
		return nil, err
	}
	if err := in.addTo(tree); err != nil {
		return nil, err
	}
	built, err := build(tree, p.root)
	if err != nil {
		return nil, err
	}
	nodes := built.ToRNodeSlice()
	for _, name := range []string{MemcachedFile, ValuesFile} {
		node, err := kyaml.Parse(string(tree[name]))
		if err != nil {
			return nil, err
		}
		nodes = append(nodes, node)
	}
	return nodes, nil
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

// withoutReplacements returns a copy of the tree without replacements in its kustomizations.
func (t Tree) withoutReplacements() (Tree, error) {
	result := maps.Clone(t)
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
		// Empty, not absent: kustomize rejects an empty kustomization.
		fields["replacements"] = []any{}
		emptied, err := yaml.Marshal(fields)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", name, err)
		}
		result[name] = emptied
	}
	return result, nil
}
