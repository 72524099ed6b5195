// SPDX-License-Identifier: Apache-2.0

package apply

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/utils/lru"
	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"
	smdschema "sigs.k8s.io/structured-merge-diff/v6/schema"
	"sigs.k8s.io/structured-merge-diff/v6/typed"
	"sigs.k8s.io/structured-merge-diff/v6/value"
)

const (
	// maxTemplates bounds the number of templates per namespace whose defaults are kept.
	maxTemplates = 4096
	// maxDefaults bounds the defaults of one template.
	maxDefaults = 256
)

// serverDefaults holds the defaults that the API server adds inside atomic values, such as the
// apiVersion of a fieldRef or the protocol of a NetworkPolicy's port. They are learned from its
// responses. An object that differs from the rendered one by such defaults alone needs no apply. It is
// safe for use by many goroutines.
type serverDefaults struct {
	mu        sync.Mutex
	templates *lru.Cache
}

// template identifies the template from which objects of several owners in a namespace are rendered.
type template struct {
	kind      schema.GroupVersionKind
	namespace string
	// suffix is the object's name without its owner's name as prefix.
	suffix string
}

// addition is a field that the API server adds to the atomic value at path.
type addition struct {
	path fieldpath.Path
	// steps lead to the field within the value: names of fields and positions in lists.
	steps []any
	value any
}

func newServerDefaults() *serverDefaults {
	return &serverDefaults{templates: lru.New(maxTemplates)}
}

func templateOf(rendered *unstructured.Unstructured, owner string) template {
	return template{rendered.GroupVersionKind(), rendered.GetNamespace(), strings.TrimPrefix(rendered.GetName(), owner)}
}

// add records additions to objects of t.
func (s *serverDefaults) add(t template, additions []addition) {
	s.mu.Lock()
	defer s.mu.Unlock()
	known := map[string]addition{}
	if kept, ok := s.templates.Get(t); ok {
		known = maps.Clone(kept.(map[string]addition))
	}
	for _, a := range additions {
		if len(known) < maxDefaults {
			known[fmt.Sprint(a.path, a.steps)] = a
		}
	}
	s.templates.Add(t, known)
}

// of returns the additions to objects of t.
func (s *serverDefaults) of(t template) map[string]addition {
	s.mu.Lock()
	defer s.mu.Unlock()
	kept, ok := s.templates.Get(t)
	if !ok {
		return nil
	}
	return kept.(map[string]addition)
}

// with returns the digest of d with those of additions that it lacks.
func (d desired) with(additions map[string]addition) digest {
	content := value.NewValueInterface(runtime.DeepCopyJSONValue(d.content.Unstructured()))
	for _, a := range additions {
		whole, ok := content, true
		for _, element := range a.path {
			if whole, ok = newParent(whole).child(element); !ok {
				break
			}
		}
		if ok {
			addAt(whole.Unstructured(), a.steps, a.value)
		}
	}
	return newDigest(d.fields, content)
}

// addAt adds a field to value unless value has it.
func addAt(value any, steps []any, added any) {
	for _, step := range steps[:len(steps)-1] {
		value = partAt(value, step)
	}
	if fields, ok := value.(map[string]any); ok {
		name := steps[len(steps)-1].(string)
		if _, exists := fields[name]; !exists {
			fields[name] = runtime.DeepCopyJSONValue(added)
		}
	}
}

// partAt returns the part of value at step, or nil.
func partAt(value, step any) any {
	switch v := value.(type) {
	case map[string]any:
		name, _ := step.(string)
		return v[name]
	case []any:
		if i, ok := step.(int); ok && i < len(v) {
			return v[i]
		}
	}
	return nil
}

// additions returns the fields that live has and want lacks at the paths of differ. It returns false when
// they differ in anything but fields of structs: keys of a map and items of a list are not defaults.
func additions(t *typed.TypedValue, differ *fieldpath.Set, want, live value.Value) (found []addition, ok bool) {
	ok = true
	differ.Iterate(func(path fieldpath.Path) {
		wanted, actual := want, live
		kind, known := t.TypeRef(), true
		for _, element := range path {
			wanted, _ = newParent(wanted).child(element)
			actual, _ = newParent(actual).child(element)
			if known {
				kind, known = below(t.Schema(), kind, element)
			}
		}
		if known && isOpen(t.Schema(), kind, unstructuredOf(wanted), unstructuredOf(actual)) {
			return
		}
		added := adder{schema: t.Schema(), path: path.Copy()}
		ok = ok && known && added.compare(unstructuredOf(wanted), unstructuredOf(actual), kind, nil)
		found = append(found, added.found...)
	})
	return found, ok
}

// isOpen reports whether want is an empty or absent granular map, to which other managers may add
// entries, and live is a map.
func isOpen(s *smdschema.Schema, kind smdschema.TypeRef, want, live any) bool {
	atom, ok := s.Resolve(kind)
	wanted, isMap := want.(map[string]any)
	_, isLive := live.(map[string]any)
	return ok && atom.Map != nil && atom.Map.ElementRelationship != smdschema.Atomic && isLive && len(wanted) == 0 && (isMap || want == nil)
}

// adder collects the additions to the value at path.
type adder struct {
	schema *smdschema.Schema
	path   fieldpath.Path
	found  []addition
}

// compare reports whether live equals want apart from additions, which it collects.
func (a *adder) compare(want, live any, kind smdschema.TypeRef, steps []any) bool {
	atom, ok := a.schema.Resolve(kind)
	if !ok {
		return false
	}
	switch want := want.(type) {
	case map[string]any:
		live, ok := live.(map[string]any)
		return ok && atom.Map != nil && a.compareMaps(want, live, atom.Map, steps)
	case []any:
		live, ok := live.([]any)
		return ok && atom.List != nil && a.compareLists(want, live, atom.List, steps)
	default:
		return value.Equals(value.NewValueInterface(live), value.NewValueInterface(want))
	}
}

func (a *adder) compareMaps(want, live map[string]any, kind *smdschema.Map, steps []any) bool {
	for key := range want {
		if _, ok := live[key]; !ok {
			return false
		}
	}
	for key, value := range live {
		here := append(slices.Clip(steps), key)
		below := kind.ElementType
		field, isField := kind.FindField(key)
		if isField {
			below = field.Type
		}
		wanted, isWanted := want[key]
		switch {
		case isWanted && !a.compare(wanted, value, below, here):
			return false
		case !isWanted && !isField:
			return false
		case !isWanted:
			a.found = append(a.found, addition{a.path, here, value})
		}
	}
	return true
}

func (a *adder) compareLists(want, live []any, kind *smdschema.List, steps []any) bool {
	if len(live) != len(want) {
		return false
	}
	for i := range want {
		if !a.compare(want[i], live[i], kind.ElementType, append(slices.Clip(steps), i)) {
			return false
		}
	}
	return true
}

// below returns the type of the child of a value of type kind at element.
func below(s *smdschema.Schema, kind smdschema.TypeRef, element fieldpath.PathElement) (smdschema.TypeRef, bool) {
	atom, ok := s.Resolve(kind)
	switch {
	case !ok:
		return smdschema.TypeRef{}, false
	case element.FieldName != nil && atom.Map != nil:
		if field, ok := atom.Map.FindField(*element.FieldName); ok {
			return field.Type, true
		}
		return atom.Map.ElementType, true
	case atom.List != nil:
		return atom.List.ElementType, true
	default:
		return smdschema.TypeRef{}, false
	}
}
