// SPDX-License-Identifier: Apache-2.0

package template

import (
	"errors"
	"fmt"
	"maps"

	"sigs.k8s.io/kustomize/api/resmap"
	"sigs.k8s.io/yaml"
)

// diagnose returns the errors of all patches and replacements that fail in a build with in, each
// with its file and position, where kustomize reports the first one and the directory or the
// field only. It returns err, the error of the build, if it finds none.
func (s *Set) diagnose(in Input, err error) error {
	tree, cutErr := s.tree.withoutReplacements()
	if cutErr != nil || in.addTo(tree) != nil {
		return err
	}
	errs, built := s.failingPatches(tree)
	if built != nil {
		errs = append(errs, s.failingReplacements(in, built)...)
	}
	if found := s.tree.Problems(errs...); len(found) > 0 {
		return found
	}
	return err
}

// failingReplacements runs the replacements one by one on built, the result of a build without them.
func (s *Set) failingReplacements(in Input, built resmap.ResMap) (errs []error) {
	inputs, err := in.nodes()
	if err != nil {
		return []error{err}
	}
	nodes, fields := append(built.ToRNodeSlice(), inputs...), in.fields()
	for _, r := range s.replacements {
		errs = append(errs, In(r.file, r.item, r.run(nodes, fields)))
	}
	return errs
}

// failingPatches returns the errors of the patches of tree, which has no replacements, and the
// result of a build without these. The result is nil if the build fails for another reason, which
// is the last error then.
func (s *Set) failingPatches(tree Tree) (errs []error, built resmap.ResMap) {
	for {
		built, err := build(tree, s.root)
		if err == nil {
			return errs, built
		}
		file := fileOf(err)
		i := s.failingPatch(tree, file)
		if i < 0 {
			return append(errs, err), nil
		}
		errs = append(errs, In(file, fmt.Sprintf("patches[%d]", i), err))
		if tree[file], err = withoutPatches(tree[file], i, i+1); err != nil {
			return errs, nil
		}
	}
}

// fileOf returns the file that err, one of a build, is about; empty if it is not known.
func fileOf(err error) string {
	problem, _ := errors.AsType[Problem](err)
	return problem.File
}

// failingPatch returns the position of the first patch of the kustomization file without which,
// and those after it, the build does not fail in file; -1 if there is none.
func (s *Set) failingPatch(tree Tree, file string) int {
	fails := func(count int) bool {
		variant := maps.Clone(tree)
		content, err := withoutPatches(tree[file], count, len(tree[file]))
		if err != nil {
			return true
		}
		variant[file] = content
		_, err = build(variant, s.root)
		return err != nil && fileOf(err) == file
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

// withoutReplacements returns a copy of the tree without replacements in its kustomizations.
func (t Tree) withoutReplacements() (Tree, error) {
	result := maps.Clone(t)
	for name, content := range t {
		if !isKustomization(name) {
			continue
		}
		var fields map[string]any
		if err := yaml.Unmarshal(content, &fields); err != nil {
			return nil, In(name, "", err)
		}
		if _, ok := fields["replacements"]; !ok {
			continue
		}
		// Empty, not absent: kustomize rejects an empty kustomization.
		fields["replacements"] = []any{}
		emptied, err := yaml.Marshal(fields)
		if err != nil {
			return nil, In(name, "", err)
		}
		result[name] = emptied
	}
	return result, nil
}
