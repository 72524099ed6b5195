// SPDX-License-Identifier: Apache-2.0

package template

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/runtime/schema"
)

// NamePrefix precedes every name in the build that finds the references between objects.
const NamePrefix = "name-of-template-"

// Names holds the identities of the objects of a [Prebuilt], in the order in which they
// are built, and the references between them.
type Names struct {
	Objects    []ObjectID
	References []Reference
}

// ObjectID is an object's identity in the templates.
type ObjectID struct {
	APIVersion, Kind, Name string
}

// GroupVersionKind returns the group, version and kind of the object.
func (id ObjectID) GroupVersionKind() schema.GroupVersionKind {
	return schema.FromAPIVersionAndKind(id.APIVersion, id.Kind)
}

func objectID(object map[string]any) ObjectID {
	apiVersion, _ := object["apiVersion"].(string)
	kind, _ := object["kind"].(string)
	metadata, _ := object["metadata"].(map[string]any)
	name, _ := metadata["name"].(string)
	return ObjectID{apiVersion, kind, name}
}

// Reference is a field that holds the template name of another object.
type Reference struct {
	// Object is the index of the object with the field at Path.
	Object int
	Path   []any
	// Target is the index of the object whose name the field holds.
	Target int
}

// findNames finds the names and the references in objects that were built with
// NamePrefix, and removes the prefix from them.
func findNames(objects []map[string]any) Names {
	n := Names{}
	for _, object := range objects {
		id := objectID(object)
		id.Name = strings.TrimPrefix(id.Name, NamePrefix)
		SetAt(object, []any{"metadata", "name"}, id.Name)
		n.Objects = append(n.Objects, id)
	}
	for i, object := range objects {
		for _, field := range slices.Sorted(maps.Keys(object)) {
			if field == "metadata" {
				continue
			}
			WalkStrings(object[field], []any{field}, func(path []any, s string) {
				name, prefixed := strings.CutPrefix(s, NamePrefix)
				if prefixed {
					SetAt(object, path, name)
				} else if !n.refersByKind(object, path) {
					return
				}
				target := slices.IndexFunc(n.Objects, func(id ObjectID) bool { return id.Name == name })
				if target >= 0 {
					n.References = append(n.References, Reference{i, slices.Clone(path), target})
				}
			})
		}
	}
	return n
}

// refersByKind reports whether the string at path is a name beside the kind of one of
// the objects, as in the scaleTargetRef of an autoscaler of any group. Kustomize knows
// such references in the kinds of Kubernetes only.
func (n Names) refersByKind(object map[string]any, path []any) bool {
	if path[len(path)-1] != "name" {
		return false
	}
	fields, ok := Lookup(object, path[:len(path)-1]).(map[string]any)
	if !ok {
		return false
	}
	return slices.ContainsFunc(n.Objects, func(id ObjectID) bool {
		return fields["kind"] == id.Kind && fields["name"] == id.Name &&
			(fields["apiVersion"] == nil || fields["apiVersion"] == id.APIVersion)
	})
}

// rename takes the names from objects, which were built without NamePrefix, into n and
// p, which may be nil: the hash in the name of a generated ConfigMap depends on the
// prefix.
func (n *Names) rename(objects []map[string]any, p *placeholders) error {
	if len(objects) != len(n.Objects) {
		return n.check(objects)
	}
	for i, object := range objects {
		name := objectID(object).Name
		if name == n.Objects[i].Name {
			continue
		}
		n.Objects[i].Name = name
		if p == nil {
			continue
		}
		SetAt(p.objects[i], []any{"metadata", "name"}, name)
		for _, r := range n.References {
			if r.Target == i {
				SetAt(p.objects[r.Object], r.Path, name)
			}
		}
	}
	return n.check(objects)
}

// check returns an error unless objects are those of n, in order.
func (n Names) check(objects []map[string]any) error {
	if len(objects) != len(n.Objects) {
		return fmt.Errorf("the build returns %d objects where the templates have %d: a replacement must not add or remove objects", len(objects), len(n.Objects))
	}
	for i, object := range objects {
		if got, want := objectID(object), n.Objects[i]; got != want {
			return fmt.Errorf("the build returns %s %s where the templates have %s %s: a replacement must not change kinds or names (a generated ConfigMap that a replacement writes to needs disableNameSuffixHash: true)",
				got.Kind, got.Name, want.Kind, want.Name)
		}
	}
	return nil
}
