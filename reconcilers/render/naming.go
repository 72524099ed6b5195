// SPDX-License-Identifier: Apache-2.0

package render

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
)

const (
	// mainName is the template name of the objects that take the name of the Memcached.
	mainName = "memcached"
	// namePrefix stands before every name in the build that looks for references.
	namePrefix = "name-of-template-"
)

// naming is the names of the objects of a prebuilt. A template called memcached takes
// the Memcached's own name, every other one <Memcached>-<template name>, whatever else
// there is beside it. References between the objects follow.
type naming struct {
	objects    []templateName
	references []reference
}

// templateName is an object's identity in the templates.
type templateName struct {
	apiVersion, kind, name string
}

// reference is a field of an object that holds the template name of objects[to].
type reference struct {
	object int
	path   []any
	to     int
}

// newNaming finds the names and the references in objects that were built with
// namePrefix, and takes the prefix off again.
func newNaming(objects []map[string]any) naming {
	n := naming{}
	for _, object := range objects {
		metadata, _ := object["metadata"].(map[string]any)
		name, _ := metadata["name"].(string)
		name = strings.TrimPrefix(name, namePrefix)
		metadata["name"] = name
		apiVersion, _ := object["apiVersion"].(string)
		kind, _ := object["kind"].(string)
		n.objects = append(n.objects, templateName{apiVersion, kind, name})
	}
	for i, object := range objects {
		for _, field := range sortedKeys(object) {
			if field == "metadata" {
				continue
			}
			walkStrings(object[field], []any{field}, func(path []any, s string) {
				name, prefixed := strings.CutPrefix(s, namePrefix)
				if prefixed {
					setAt(object, path, name)
				} else if !n.refersByKind(object, path) {
					return
				}
				to := slices.IndexFunc(n.objects, func(t templateName) bool { return t.name == name })
				if to >= 0 {
					n.references = append(n.references, reference{i, slices.Clone(path), to})
				}
			})
		}
	}
	return n
}

// refersByKind tells whether the string at path is the name beside the kind of one of
// the objects, as in the scaleTargetRef of an autoscaler of any group: kustomize knows
// such references in the kinds of Kubernetes alone.
func (n naming) refersByKind(object map[string]any, path []any) bool {
	if path[len(path)-1] != "name" {
		return false
	}
	fields, ok := lookup(object, path[:len(path)-1]).(map[string]any)
	if !ok {
		return false
	}
	return slices.ContainsFunc(n.objects, func(t templateName) bool {
		return fields["kind"] == t.kind && fields["name"] == t.name &&
			(fields["apiVersion"] == nil || fields["apiVersion"] == t.apiVersion)
	})
}

// adopt takes over the names that objects have without namePrefix, from which the hash
// in the name of a generated ConfigMap differs, into n and p, which may be nil.
func (n *naming) adopt(objects []map[string]any, p *placeholders) error {
	if len(objects) != len(n.objects) {
		return n.check(objects)
	}
	for i, object := range objects {
		metadata, _ := object["metadata"].(map[string]any)
		name, _ := metadata["name"].(string)
		if name == n.objects[i].name {
			continue
		}
		n.objects[i].name = name
		if p == nil {
			continue
		}
		setAt(p.objects[i], []any{"metadata", "name"}, name)
		for _, r := range n.references {
			if r.to == i {
				setAt(p.objects[r.object], r.path, name)
			}
		}
	}
	return n.check(objects)
}

// check tells whether objects are those of n, in order.
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

// objectName is the name of the object that the template called template becomes for
// the Memcached called memcached.
func objectName(memcached, template string) string {
	if template == mainName {
		return memcached
	}
	return memcached + "-" + template
}

// apply renames objects and what refers to them. A field that does not hold the
// template's name was filled in, and stays.
func (n naming) apply(objects []map[string]any, memcached string) {
	for _, r := range n.references {
		template := n.objects[r.to].name
		if lookup(objects[r.object], r.path) == template {
			setAt(objects[r.object], r.path, objectName(memcached, template))
		}
	}
	for i, object := range objects {
		object["metadata"].(map[string]any)["name"] = objectName(memcached, n.objects[i].name)
	}
}

// walkStrings calls visit for every string below value, with its path, which visit
// must copy to keep. Maps are walked in the order of their keys.
func walkStrings(value any, path []any, visit func(path []any, s string)) {
	switch v := value.(type) {
	case map[string]any:
		for _, key := range sortedKeys(v) {
			walkStrings(v[key], append(path, key), visit)
		}
	case []any:
		for i, item := range v {
			walkStrings(item, append(path, i), visit)
		}
	case string:
		visit(path, v)
	}
}

// lookup returns the value at path below value, nil if there is none. A step into a
// list is an int, or the digits of one.
func lookup(value any, path []any) any {
	for _, step := range path {
		switch v := value.(type) {
		case map[string]any:
			key, _ := step.(string)
			value = v[key]
		case []any:
			i, isInt := step.(int)
			if digits, isText := step.(string); isText {
				n, err := strconv.Atoi(digits)
				i, isInt = n, err == nil
			}
			if !isInt || i < 0 || i >= len(v) {
				return nil
			}
			value = v[i]
		default:
			return nil
		}
	}
	return value
}
