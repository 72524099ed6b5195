// SPDX-License-Identifier: Apache-2.0

package template

import (
	"bytes"
	"encoding/json"
	"errors"

	kyaml "sigs.k8s.io/kustomize/kyaml/yaml"
)

// Set is the templates with one set of components. It depends on the templates only, never on a
// Memcached, and is read-only once built: it is safe for concurrent use.
type Set struct {
	parsed
	// root is the kustomization on top.
	root string
	// objects holds the identities of the objects, in the order in which they are built, and names the
	// names of their templates by those that kustomize gives them.
	objects []ObjectID
	names   map[string]string
	// nodes is the result of a build without replacements, which are run late, on copies of it.
	nodes        []*kyaml.RNode
	replacements []locatedReplacement
	// fullBuilds says why every input takes a full build; empty if the replacements may run late.
	fullBuilds string
}

// newSet builds the templates with components once, without their replacements.
func (t *Templates) newSet(components []string, example Input) (*Set, error) {
	s := &Set{parsed: t.parsed, root: t.tree.root(components)}
	top, err := s.withRoot(s.root)
	if err != nil {
		return nil, err
	}
	if s.replacements, err = top.replacements("."); err != nil {
		return nil, err
	}
	if s.fullBuilds, err = top.dependsOnValues(); err != nil {
		return nil, err
	}
	tree, err := t.bare()
	if err != nil {
		return nil, err
	}
	if s.nodes, err = s.build(tree, example); err == nil {
		if err := s.identify(s.nodes); err != nil {
			return nil, err
		}
		if _, err = s.late(example); err == nil {
			return s, nil
		}
	}
	// A step after a replacement may need what it creates, or replace what it fills in.
	s.nodes, s.fullBuilds = nil, "without its replacements, the build fails: "+err.Error()
	nodes, err := s.build(s.tree, example)
	if err != nil {
		return nil, s.diagnose(example, err)
	}
	return s, s.identify(nodes)
}

// verify compares late replacements with full builds of inputs: the example, and one in which every
// value differs and every map and list is longer. An error is about the templates.
func (s *Set) verify(inputs ...Input) error {
	for i, in := range inputs {
		built, err := s.FullBuild(in, unchanged)
		if err != nil && i == 0 {
			return s.diagnose(in, err)
		}
		if _, renamed := errors.AsType[*identityError](err); renamed {
			return err
		}
		if s.fullBuilds != "" {
			continue
		}
		// Not every value can be mutated: a failed build counts as a difference.
		if err != nil || !s.matches(in, built) {
			s.nodes, s.fullBuilds = nil, "a patch or a transformer changes a value that a replacement has filled in"
		}
	}
	return nil
}

// matches reports whether late replacements give the bytes of a full build.
func (s *Set) matches(in Input, built []map[string]any) bool {
	late, err := s.late(in)
	if err != nil {
		return false
	}
	a, errA := json.Marshal(late)
	b, errB := json.Marshal(built)
	return errA == nil && errB == nil && bytes.Equal(a, b)
}

// Names returns the identities of the objects in the templates, in the order in which they are
// built. It is read-only.
func (s *Set) Names() []ObjectID { return s.objects }

// FullBuilds says why every input takes a full build, which takes 5 to 10 times longer than late
// replacements; it is empty if none does.
func (s *Set) FullBuilds() string { return s.fullBuilds }

// Objects returns new objects for in. name returns the name of the object whose template has the
// given one, for its metadata and for the references to it.
func (s *Set) Objects(in Input, name func(template string) string) ([]map[string]any, error) {
	if s.fullBuilds == "" {
		return s.fill(in, name)
	}
	objects, err := s.FullBuild(in, name)
	if err != nil {
		return nil, s.diagnose(in, err)
	}
	return objects, nil
}

// FullBuild runs kustomize over the templates with in as resources. It is the definition of the
// objects for in, which [Set.Objects] returns sooner.
func (s *Set) FullBuild(in Input, name func(template string) string) ([]map[string]any, error) {
	t := s.newTokens(in)
	nodes, err := s.build(s.tree, t.input)
	if err != nil {
		return nil, err
	}
	return s.finish(nodes, t, name)
}

// late returns the objects for in with the names of the templates.
func (s *Set) late(in Input) ([]map[string]any, error) { return s.fill(in, unchanged) }

func unchanged(name string) string { return name }

// fill runs the replacements on copies of the nodes, with in beside them.
func (s *Set) fill(in Input, name func(template string) string) ([]map[string]any, error) {
	t := s.newTokens(in)
	inputs, err := t.input.nodes()
	if err != nil {
		return nil, err
	}
	nodes := make([]*kyaml.RNode, 0, len(s.nodes)+len(inputs))
	for _, node := range s.nodes {
		nodes = append(nodes, node.Copy())
	}
	nodes = append(nodes, inputs...)
	fields := in.fields()
	for _, r := range s.replacements {
		if err := r.run(nodes, fields); err != nil {
			return nil, In(r.file, r.item, err)
		}
	}
	return s.finish(nodes[:len(s.nodes)], t, name)
}

// finish converts nodes, the result of a build with the input of t, to objects.
func (s *Set) finish(nodes []*kyaml.RNode, t *tokens, name func(template string) string) ([]map[string]any, error) {
	objects, err := toObjects(nodes)
	if err != nil {
		return nil, err
	}
	if err := s.checkIdentities(objects); err != nil {
		return nil, err
	}
	f := finisher{s, t, name}
	for i, object := range objects {
		for field, value := range object {
			object[field] = f.finished(value)
		}
		object["metadata"].(map[string]any)["name"] = name(s.objects[i].Name)
	}
	return objects, nil
}

// build runs kustomize over tree with in as resources that are not emitted, and adds NamePrefix to
// every name and to every reference to it.
func (s *Set) build(tree Tree, in Input) ([]*kyaml.RNode, error) {
	return buildWith(tree, in, s.root+`transformers:
- |-
  apiVersion: builtin
  kind: PrefixTransformer
  metadata: {name: prefix}
  prefix: `+NamePrefix+`
  fieldSpecs:
  - {path: metadata/name}
`)
}
