// SPDX-License-Identifier: Apache-2.0

package render

import (
	"encoding/json"
	"fmt"
	"strings"

	"k8s.io/apimachinery/pkg/runtime"

	cachev1alpha1 "github.com/example/memcached-operator/apis/v1alpha1"
)

const (
	localConfigAnnotation = "config.kubernetes.io/local-config"
	memcachedKind         = "Memcached"
	valuesKind            = "Values"
)

// input is what goes into a build beside the templates: a projection of the custom
// resource and the Values, both as plain maps without a null, an empty map or an
// empty list in them, so that presence means something.
type input struct {
	memcached map[string]any
	values    map[string]any
}

// newInput projects mc: its name, namespace, uid and spec. Its labels and
// annotations stay out, since annotations steer kustomize.
func newInput(mc *cachev1alpha1.Memcached, values Values) (input, error) {
	spec, err := runtime.DefaultUnstructuredConverter.ToUnstructured(&mc.Spec)
	if err != nil {
		return input{}, fmt.Errorf("converting spec: %w", err)
	}
	computed, err := runtime.DefaultUnstructuredConverter.ToUnstructured(&values)
	if err != nil {
		return input{}, fmt.Errorf("converting values: %w", err)
	}
	if err := checkKeys(spec, []any{"spec"}); err != nil {
		return input{}, err
	}
	prune(spec)
	prune(computed)
	computed["apiVersion"] = cachev1alpha1.SchemeGroupVersion.String()
	computed["kind"] = valuesKind
	computed["metadata"] = map[string]any{"name": "values"}
	return input{
		memcached: map[string]any{
			"apiVersion": cachev1alpha1.SchemeGroupVersion.String(),
			"kind":       memcachedKind,
			"metadata": map[string]any{
				"name":      mc.Name,
				"namespace": mc.Namespace,
				"uid":       string(mc.UID),
			},
			"spec": spec,
		},
		values: computed,
	}, nil
}

const (
	// longestKey is how many characters the key of a label or an annotation may have: 253
	// of the prefix, the slash and 63 of the name.
	longestKey = 253 + 1 + 63
	// shownKey is how much of a key that is too long an error quotes.
	shownKey = 63
)

// kustomizeKeys begin the annotations by which kustomize is steered or takes notes.
var kustomizeKeys = []string{"config.kubernetes.io/", "internal.config.kubernetes.io/", "config.k8s.io/", "kustomize.config.k8s.io/"}

// checkKeys rejects keys of maps that no label or annotation may have, and those that
// kustomize would obey or remove. Admission rejects them too, but not in what an older
// CRD accepted.
func checkKeys(value any, path []any) error {
	switch v := value.(type) {
	case map[string]any:
		for _, key := range sortedKeys(v) {
			if len(key) > longestKey || strings.ContainsFunc(key, isForeignToKeys) {
				return fmt.Errorf("%s: the key %.*q is not a qualified name of at most %d characters, such as example.com/team; change it", dotted(path), shownKey, key, longestKey)
			}
			for _, prefix := range kustomizeKeys {
				if strings.HasPrefix(key, prefix) {
					return fmt.Errorf("%s: keys that begin with %s belong to kustomize; remove %s", dotted(path), prefix, key)
				}
			}
			if err := checkKeys(v[key], append(path, key)); err != nil {
				return err
			}
		}
	case []any:
		for i, item := range v {
			if err := checkKeys(item, append(path, i)); err != nil {
				return err
			}
		}
	}
	return nil
}

// isForeignToKeys tells whether r stands in no key of a label or an annotation.
func isForeignToKeys(r rune) bool {
	return !strings.ContainsRune("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-._/", r)
}

// prune removes nulls, empty maps and empty lists, from the leaves up. Lists are left
// as they are: in their items an empty map means something, as podSelector: {} in a
// peer of a NetworkPolicy, which is all pods.
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

// active returns the components that this input turns on: those whose name is the
// dotted path of a field that is present, in the spec or in Values. A field that
// is false is not.
func (in input) active(components []string) []string {
	var on []string
	spec, _ := in.memcached["spec"].(map[string]any)
	for _, name := range components {
		if present(spec, name) || present(in.values, name) {
			on = append(on, name)
		}
	}
	return on
}

func present(m map[string]any, dotted string) bool {
	var value any = m
	for key := range strings.SplitSeq(dotted, ".") {
		fields, ok := value.(map[string]any)
		if !ok {
			return false
		}
		if value, ok = fields[key]; !ok {
			return false
		}
	}
	on, isBool := value.(bool)
	return on || !isBool
}

// copy returns a deep copy of in.
func (in input) copy() input {
	return input{memcached: runtime.DeepCopyJSON(in.memcached), values: runtime.DeepCopyJSON(in.values)}
}

// namespace returns the namespace of the Memcached.
func (in input) namespace() string {
	namespace, _ := lookup(in.memcached, []any{"metadata", "namespace"}).(string)
	return namespace
}

// fields returns both parts of the input by kind.
func (in input) fields() map[string]any {
	return map[string]any{memcachedKind: in.memcached, valuesKind: in.values}
}

// named returns a copy of in with another name of the Memcached.
func (in input) named(name string) input {
	other := in.copy()
	setAt(other.memcached, []any{"metadata", "name"}, name)
	return other
}

// without returns a copy of in that lacks the fields which turn on the components
// called off.
func (in input) without(off []string) input {
	other := in.copy()
	spec, _ := other.memcached["spec"].(map[string]any)
	for _, name := range off {
		for _, fields := range []map[string]any{spec, other.values} {
			parent, last := fields, name
			if i := strings.LastIndex(name, "."); i >= 0 {
				parent, _ = lookup(fields, steps(name[:i])).(map[string]any)
				last = name[i+1:]
			}
			delete(parent, last)
		}
	}
	prune(spec)
	prune(other.values)
	return other
}

// steps are the steps of a dotted path.
func steps(dotted string) []any {
	var path []any
	for step := range strings.SplitSeq(dotted, ".") {
		path = append(path, step)
	}
	return path
}

// place puts the two resources into tree, where the base's kustomization lists
// them, annotated as inputs, which kustomize does not emit.
func (in input) place(tree Tree) error {
	for name, resource := range map[string]map[string]any{memcachedFile: in.memcached, valuesFile: in.values} {
		resource = runtime.DeepCopyJSON(resource)
		metadata := resource["metadata"].(map[string]any)
		metadata["annotations"] = map[string]any{localConfigAnnotation: "true"}
		content, err := encode(resource)
		if err != nil {
			return err
		}
		tree[name] = content
	}
	return nil
}

// encode writes a resource as YAML on one line, every string in double quotes and
// every character but ASCII escaped: so that each comes out as it went in. Other
// forms of YAML fold line breaks such as U+0085 and refuse control characters, and
// annotations may hold both.
func encode(resource map[string]any) ([]byte, error) {
	asJSON, err := json.Marshal(resource)
	if err != nil {
		return nil, fmt.Errorf("converting %v: %w", resource["kind"], err)
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

// mutated returns the same input with every value another one.
func (in input) mutated() input {
	other := in.copy()
	metadata := other.memcached["metadata"].(map[string]any)
	for key, value := range metadata {
		metadata[key] = "x" + value.(string)
	}
	for key, value := range other.values {
		if key != "apiVersion" && key != "kind" && key != "metadata" {
			other.values[key] = mutate(value)
		}
	}
	if spec, ok := other.memcached["spec"]; ok {
		other.memcached["spec"] = mutate(spec)
	}
	return other
}

func mutate(value any) any {
	switch v := value.(type) {
	case map[string]any:
		for key, item := range v {
			v[key] = mutate(item)
		}
		return v
	case []any:
		for i, item := range v {
			v[i] = mutate(item)
		}
		return v
	case string:
		if digits.MatchString(v) {
			return "1" + v // It may go where a number belongs.
		}
		// Quotes and the like are escaped where a replacement writes into JSON or YAML that
		// is the text of a field: there copying the value into place is not the same.
		return `x"\: ` + v
	case bool:
		return !v
	case int64:
		return v + 1
	case float64:
		return v + 1
	default:
		return v
	}
}
