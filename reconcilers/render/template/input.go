// SPDX-License-Identifier: Apache-2.0

package template

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"strings"

	"k8s.io/apimachinery/pkg/runtime"
	kyaml "sigs.k8s.io/kustomize/kyaml/yaml"

	cachev1alpha1 "github.com/example/memcached-operator/apis/v1alpha1"
)

const (
	// LocalConfigAnnotation marks a resource that kustomize reads and does not emit.
	LocalConfigAnnotation = "config.kubernetes.io/local-config"

	memcachedKind = "Memcached"
	valuesKind    = "Values"
)

// Input is the resources that go into a build beside the templates, as plain maps
// without a null, an empty map or an empty list, so that a component is enabled by the
// presence of its field.
type Input struct {
	Memcached map[string]any
	Values    map[string]any
}

// NewInput returns the input of the Memcached with spec and of values, which it prunes
// and keeps. Labels and annotations of the Memcached are not part of it, since
// annotations control kustomize.
func NewInput(name, namespace, uid string, spec, values map[string]any) Input {
	prune(spec)
	prune(values)
	values["apiVersion"] = cachev1alpha1.SchemeGroupVersion.String()
	values["kind"] = valuesKind
	values["metadata"] = map[string]any{"name": "values"}
	return Input{
		Memcached: map[string]any{
			"apiVersion": cachev1alpha1.SchemeGroupVersion.String(),
			"kind":       memcachedKind,
			"metadata":   map[string]any{"name": name, "namespace": namespace, "uid": uid},
			"spec":       spec,
		},
		Values: values,
	}
}

// prune removes nulls, empty maps and empty lists, from the leaves up. The items of
// lists are kept as they are: an empty map means something there, such as all pods in
// the podSelector of a NetworkPolicy's peer.
func prune(m map[string]any) {
	for key, value := range m {
		switch v := value.(type) {
		case nil:
			delete(m, key)
		case map[string]any:
			prune(v)
			if len(v) == 0 {
				delete(m, key)
			}
		case []any:
			if len(v) == 0 {
				delete(m, key)
			}
		}
	}
}

// Active returns those of components that the input enables: the name of a component
// is the dotted path of a field of the spec or of Values, which must be present and
// not false.
func (in Input) Active(components []string) []string {
	var active []string
	spec, _ := in.Memcached["spec"].(map[string]any)
	for _, name := range components {
		if enabled(spec, name) || enabled(in.Values, name) {
			active = append(active, name)
		}
	}
	return active
}

func enabled(fields map[string]any, name string) bool {
	var value any = fields
	for key := range strings.SplitSeq(name, ".") {
		m, ok := value.(map[string]any)
		if !ok {
			return false
		}
		if value, ok = m[key]; !ok {
			return false
		}
	}
	on, isBool := value.(bool)
	return on || !isBool
}

func missingField(path []any) error {
	return errors.New(Dotted(path) + " is required by the templates and not set")
}

// Named returns a copy of the input with another name of the Memcached.
func (in Input) Named(name string) Input {
	other := in.copy()
	setAt(other.Memcached, []any{"metadata", "name"}, name)
	return other
}

func (in Input) copy() Input {
	return Input{Memcached: runtime.DeepCopyJSON(in.Memcached), Values: runtime.DeepCopyJSON(in.Values)}
}

// fields returns both resources of the input by kind.
func (in Input) fields() map[string]any {
	return map[string]any{memcachedKind: in.Memcached, valuesKind: in.Values}
}

// without returns a copy of the input without the fields that enable components.
func (in Input) without(components []string) Input {
	other := in.copy()
	spec, _ := other.Memcached["spec"].(map[string]any)
	for _, name := range components {
		for _, fields := range []map[string]any{spec, other.Values} {
			parent, last := fields, name
			if i := strings.LastIndex(name, "."); i >= 0 {
				parent, _ = Lookup(fields, parseDotted(name[:i])).(map[string]any)
				last = name[i+1:]
			}
			delete(parent, last)
		}
	}
	prune(spec)
	prune(other.Values)
	return other
}

// addTo writes both resources into tree, at the paths that the base's kustomization lists.
func (in Input) addTo(tree Tree) error {
	for name, resource := range map[string]map[string]any{MemcachedFile: in.Memcached, ValuesFile: in.Values} {
		content, err := encode(resource)
		if err != nil {
			return err
		}
		tree[name] = content
	}
	return nil
}

// nodes returns both resources as kustomize reads them.
func (in Input) nodes() ([]*kyaml.RNode, error) {
	var nodes []*kyaml.RNode
	for _, resource := range []map[string]any{in.Memcached, in.Values} {
		content, err := encode(resource)
		if err != nil {
			return nil, err
		}
		node, err := kyaml.Parse(string(content))
		if err != nil {
			return nil, fmt.Errorf("encoding %v: %w", resource["kind"], err)
		}
		nodes = append(nodes, node)
	}
	return nodes, nil
}

// encode writes a resource, annotated so that kustomize does not emit it, as YAML on one line, every string in double quotes and every
// character outside ASCII escaped, so that kustomize reads each string unchanged. Other
// styles of YAML fold line breaks such as U+0085 and reject control characters, and
// annotations may contain both.
func encode(resource map[string]any) ([]byte, error) {
	resource = maps.Clone(resource)
	metadata := maps.Clone(resource["metadata"].(map[string]any))
	metadata["annotations"] = map[string]any{LocalConfigAnnotation: "true"}
	resource["metadata"] = metadata
	asJSON, err := json.Marshal(resource)
	if err != nil {
		return nil, fmt.Errorf("encoding %v: %w", resource["kind"], err)
	}
	content := make([]byte, 0, len(asJSON))
	for _, r := range string(asJSON) {
		if r < 0x7f {
			content = append(content, byte(r))
			continue
		}
		content = fmt.Appendf(content, `\U%08x`, r)
	}
	return content, nil
}
