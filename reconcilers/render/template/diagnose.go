// SPDX-License-Identifier: Apache-2.0

package template

import (
	"errors"
	"fmt"
	"maps"
	"strings"

	"sigs.k8s.io/kustomize/api/resmap"
	kyaml "sigs.k8s.io/kustomize/kyaml/yaml"
	"sigs.k8s.io/yaml"
)

// diagnose returns the errors of all patches and replacements that fail in a build with in, each
// with its file and position, where kustomize reports the first one and the directory or the
// field only. It returns err, the error of the build, if it finds none.
func (p *Prebuilt) diagnose(in Input, err error) error {
	tree, cutErr := p.tree.withoutReplacements()
	if cutErr != nil || in.addTo(tree) != nil {
		return err
	}
	errs, built := p.failingPatches(tree)
	if built != nil {
		errs = append(errs, p.failingReplacements(tree, built)...)
	}
	if len(errs) == 0 {
		return err
	}
	return p.tree.Problems(errs...)
}

// failingReplacements runs the replacements one by one on built, the result of tree without them.
func (p *Prebuilt) failingReplacements(tree Tree, built resmap.ResMap) (errs []error) {
	nodes := built.ToRNodeSlice()
	for _, name := range []string{MemcachedFile, ValuesFile} {
		node, err := kyaml.Parse(string(tree[name]))
		if err != nil {
			return []error{err}
		}
		nodes = append(nodes, node)
	}
	top, err := p.source.withRoot(p.root)
	if err != nil {
		return []error{err}
	}
	replacements, err := top.replacements(".")
	if err != nil {
		return []error{err}
	}
	for _, r := range replacements {
		errs = append(errs, prefixed(r.where, r.run(nodes))...)
	}
	return errs
}

// failingPatches returns the errors of the patches of tree, which has no replacements, and the
// result of a build without these. The result is nil if the build fails for another reason, which
// is the last error then.
func (p *Prebuilt) failingPatches(tree Tree) (errs []error, built resmap.ResMap) {
	for {
		built, err := build(tree, p.root)
		if err == nil {
			return errs, built
		}
		file, message, _ := strings.Cut(err.Error(), ": ")
		i := p.failingPatch(tree, file)
		if i < 0 {
			return append(errs, err), nil
		}
		errs = append(errs, fmt.Errorf("%s: patches[%d]: %s", file, i, message))
		if tree[file], err = withoutPatches(tree[file], i, i+1); err != nil {
			return errs, nil
		}
	}
}

// failingPatch returns the position of the first patch of the kustomization file without which,
// and those after it, the build does not fail in file; -1 if there is none.
func (p *Prebuilt) failingPatch(tree Tree, file string) int {
	fails := func(count int) bool {
		variant := maps.Clone(tree)
		content, err := withoutPatches(tree[file], count, len(tree[file]))
		if err != nil {
			return true
		}
		variant[file] = content
		_, err = build(variant, p.root)
		return err != nil && strings.HasPrefix(err.Error(), file+": ")
	}
	var k struct {
		Patches []any `json:"patches"`
	}
	if !isKustomization(file) || yaml.Unmarshal(tree[file], &k) != nil || fails(0) {
		return -1
	}
	for i := range k.Patches {
		if fails(i + 1) {
			return i
		}
	}
	return -1
}

// withoutPatches returns a kustomization whose patches from the position begin until end change
// nothing. The others keep their positions.
func withoutPatches(kustomization []byte, begin, end int) ([]byte, error) {
	var fields map[string]any
	if err := yaml.Unmarshal(kustomization, &fields); err != nil {
		return nil, err
	}
	patches, ok := fields["patches"].([]any)
	if !ok {
		return nil, errors.New("no patches")
	}
	for i := begin; i < min(end, len(patches)); i++ {
		patches[i] = map[string]any{"target": map[string]any{"kind": "None"}, "patch": "- {op: test, path: /kind, value: None}"}
	}
	return yaml.Marshal(fields)
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
