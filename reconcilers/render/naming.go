// SPDX-License-Identifier: Apache-2.0

package render

import (
	"fmt"
	"slices"

	kyaml "sigs.k8s.io/kustomize/kyaml/yaml"
)

// mainName is the template name whose object takes the name of the Memcached.
const mainName = "memcached"

// referencePrefix marks names in the builds that look for references.
const referencePrefix = "reference-to-"

// naming gives the objects of a plan their names: of each kind, the template called
// memcached (else the first of the kind) takes the Memcached's own name, the others
// <Memcached>-<template name>. References between them follow.
type naming struct {
	objects    []templateName
	references []reference
}

// templateName is an object's identity in the templates.
type templateName struct {
	apiVersion, kind, name string
	// main says that it takes the Memcached's own name.
	main bool
}

// reference is a field of objects[from] that holds the template name of objects[to].
type reference struct {
	from, to int
	path     []any
}

// mains are the template names, by kind, of the objects that take the Memcached's
// own name. They are found once, over every set of components that is tried: a
// component that is turned on must not rename what is there.
type mains map[string]string

func (m mains) add(templates []*kyaml.RNode) {
	for _, template := range templates {
		if _, found := m[template.GetKind()]; !found || template.GetName() == mainName {
			m[template.GetKind()] = template.GetName()
		}
	}
}

func newNaming(templates []*kyaml.RNode, m mains) naming {
	n := naming{}
	for _, template := range templates {
		kind, name := template.GetKind(), template.GetName()
		n.objects = append(n.objects, templateName{apiVersion: template.GetApiVersion(), kind: kind, name: name, main: m[kind] == name})
	}
	return n
}

// findAllReferences finds the references to objects of every kind.
func (n *naming) findAllReferences(held Tree, root string, templates []*kyaml.RNode) error {
	kinds := map[string]bool{}
	for _, object := range n.objects {
		kinds[object.kind] = true
	}
	for kind := range kinds {
		if err := n.findReferences(held, root, kind, templates); err != nil {
			return fmt.Errorf("looking for references to %s objects: %w", kind, err)
		}
	}
	// Deterministic, though maps are not.
	slices.SortFunc(n.references, func(a, b reference) int {
		return slices.Compare([]int{a.from, a.to}, []int{b.from, b.to})
	})
	return nil
}

// findReferences lets kustomize itself say where objects of kind are referred to:
// it renames them, and whatever changes with them is a reference.
func (n *naming) findReferences(held Tree, root, kind string, templates []*kyaml.RNode) error {
	built, err := build(held, root+fmt.Sprintf(`transformers:
- |-
  apiVersion: builtin
  kind: PrefixTransformer
  metadata: {name: find-references}
  prefix: %s
  fieldSpecs:
  - {kind: %s, path: metadata/name}
`, referencePrefix, kind))
	if err != nil {
		return err
	}
	var renamed []*kyaml.RNode
	for _, resource := range built.Resources() {
		if !isInput(&resource.RNode) {
			renamed = append(renamed, &resource.RNode)
		}
	}
	if len(renamed) != len(templates) {
		return fmt.Errorf("renaming changes the number of objects from %d to %d", len(templates), len(renamed))
	}
	before, err := toObjects(templates)
	if err != nil {
		return err
	}
	after, err := toObjects(renamed)
	if err != nil {
		return err
	}
	for from := range before {
		delete(before[from], "metadata")
		walkStrings(before[from], nil, func(path []any, name string) {
			if value, _ := lookup(after[from], path).(string); value != referencePrefix+name {
				return
			}
			to := slices.IndexFunc(n.objects, func(o templateName) bool { return o.kind == kind && o.name == name })
			if to >= 0 {
				n.references = append(n.references, reference{from, to, slices.Clone(path)})
			}
		})
	}
	return nil
}

// check tells whether objects are those of the plan, in order.
func (n naming) check(objects []map[string]any) error {
	if len(objects) != len(n.objects) {
		return fmt.Errorf("%d objects come out where the templates have %d: a replacement must not add or remove objects", len(objects), len(n.objects))
	}
	for i, object := range objects {
		metadata, _ := object["metadata"].(map[string]any)
		want := n.objects[i]
		if object["apiVersion"] != want.apiVersion || object["kind"] != want.kind || metadata["name"] != want.name {
			return fmt.Errorf("%v %v comes out where the templates have %s %s: a replacement must not change kinds or names (a generated ConfigMap that one fills in needs disableNameSuffixHash: true)",
				object["kind"], metadata["name"], want.kind, want.name)
		}
	}
	return nil
}

func (n naming) name(i int, memcached string) string {
	if n.objects[i].main {
		return memcached
	}
	return memcached + "-" + n.objects[i].name
}

// apply renames objects and what refers to them. A field that no longer holds the
// template's name was filled in, and stays.
func (n naming) apply(objects []map[string]any, memcached string) {
	for _, r := range n.references {
		set(objects[r.from], r.path, n.objects[r.to].name, n.name(r.to, memcached))
	}
	for i, object := range objects {
		object["metadata"].(map[string]any)["name"] = n.name(i, memcached)
	}
}

// walkStrings calls visit for every string below value, with its path.
func walkStrings(value any, path []any, visit func(path []any, s string)) {
	switch v := value.(type) {
	case map[string]any:
		for key, item := range v {
			walkStrings(item, append(path, key), visit)
		}
	case []any:
		for i, item := range v {
			walkStrings(item, append(path, i), visit)
		}
	case string:
		visit(path, v)
	}
}

func lookup(value any, path []any) any {
	for _, step := range path {
		switch key := step.(type) {
		case string:
			fields, _ := value.(map[string]any)
			value = fields[key]
		case int:
			items, _ := value.([]any)
			if key >= len(items) {
				return nil
			}
			value = items[key]
		}
	}
	return value
}

// set writes to at path where from stands.
func set(object map[string]any, path []any, from, to string) {
	if lookup(object, path) != from {
		return
	}
	setAt(object, path, to)
}
