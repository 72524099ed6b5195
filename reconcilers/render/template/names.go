// SPDX-License-Identifier: Apache-2.0

package template

import (
	"fmt"
	"strings"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/kustomize/api/hasher"
	kyaml "sigs.k8s.io/kustomize/kyaml/yaml"
)

// NamePrefix precedes every name in a build, and every reference to it: a string that is part of no input marks them.
const NamePrefix = "name-of-template-"

// MainName is the name of the templates whose objects take the name of the Memcached.
const MainName = "memcached"

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

// identify sets the identities of the objects that nodes, the result of a build, are.
func (s *Set) identify(nodes []*kyaml.RNode) error {
	s.objects, s.names = nil, map[string]string{}
	for _, node := range nodes {
		name, err := templateName(node)
		if err != nil {
			return err
		}
		s.objects = append(s.objects, ObjectID{node.GetApiVersion(), node.GetKind(), name})
	}
	for i, node := range nodes {
		s.names[node.GetName()] = s.objects[i].Name
		if s.nodes != nil { // Replacements select objects by the names of their templates.
			if err := node.SetName(s.objects[i].Name); err != nil {
				return err
			}
		}
	}
	return nil
}

// identityError says that an input changes which objects the templates have.
type identityError struct{ message string }

func (e *identityError) Error() string { return e.message }

// templateName returns the name that node has in a build without NamePrefix: the hash in the name of a generated ConfigMap depends on
// the prefix.
func templateName(node *kyaml.RNode) (string, error) {
	name := node.GetName()
	if end := strings.LastIndex(name, "-"); end >= 0 && node.GetKind() == "ConfigMap" {
		if again, err := hashed(node, name[:end]); err != nil || again == name {
			return hashed(node, strings.TrimPrefix(name[:end], NamePrefix))
		}
	}
	return strings.TrimPrefix(name, NamePrefix), nil
}

// hashed returns the name of node, if its generator calls it name.
func hashed(node *kyaml.RNode, name string) (string, error) {
	node = node.Copy()
	if err := node.SetName(name); err != nil {
		return "", err
	}
	hash, err := (&hasher.Hasher{}).Hash(node)
	return name + "-" + hash, err
}

// checkIdentities returns an identityError unless objects are those of s, in order.
func (s *Set) checkIdentities(objects []map[string]any) error {
	if len(objects) != len(s.objects) {
		return &identityError{fmt.Sprintf("the build returns %d objects where the templates have %d: a replacement must not add or remove objects", len(objects), len(s.objects))}
	}
	for i, object := range objects {
		got, want := objectID(object), s.objects[i]
		if name, ok := s.names[got.Name]; ok {
			got.Name = name
		}
		if got != want {
			return &identityError{fmt.Sprintf("the build returns %s %s where the templates have %s %s: a replacement must not change kinds or names (a generated ConfigMap that a replacement writes to needs disableNameSuffixHash: true)",
				got.Kind, strings.TrimPrefix(got.Name, NamePrefix), want.Kind, want.Name)}
		}
	}
	return nil
}

// finisher turns the strings of a built object into those of a Memcached's.
type finisher struct {
	*Set
	*tokens
	// name returns the name of the object whose template has the given one.
	name func(template string) string
}

// finished returns value, a part of an object, with the names of objects in place of those of templates and with the
// strings of the input. It changes maps and lists in place.
func (f finisher) finished(value any) any {
	switch v := value.(type) {
	case map[string]any:
		refers := f.refersByKind(v)
		for key, item := range v {
			v[key] = f.finished(item)
		}
		if refers != "" {
			v["name"] = f.name(refers)
		}
	case []any:
		for i, item := range v {
			v[i] = f.finished(item)
		}
	case string:
		if template, ok := f.names[v]; ok && strings.HasPrefix(v, NamePrefix) {
			return f.name(template)
		}
		return f.restored(v)
	}
	return value
}

// refersByKind returns the name in fields if it is beside the kind of one of the objects, as in the scaleTargetRef of
// an autoscaler of any group: kustomize knows such references in the kinds of Kubernetes only.
func (f finisher) refersByKind(fields map[string]any) string {
	kind, isKind := fields["kind"].(string)
	name, isName := fields["name"].(string)
	if !isKind || !isName {
		return ""
	}
	for _, id := range f.objects {
		if kind == id.Kind && name == id.Name && (fields["apiVersion"] == nil || fields["apiVersion"] == id.APIVersion) {
			return name
		}
	}
	return ""
}
