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
)

const (
	// maxTemplates bounds for how many templates, in each namespace, the defaults are kept.
	maxTemplates = 4096
	// maxDefaults bounds the defaults of one template.
	maxDefaults = 256
)

// serverDefaults holds the defaults that the API server was seen to add inside values which
// are written as a whole: the apiVersion of a fieldRef, the protocol of a NetworkPolicy's port.
// They are learnt from its answers, and tell after a restart that an object which differs by
// them alone needs no apply. It is safe for use by many goroutines.
type serverDefaults struct {
	mu        sync.Mutex
	templates *lru.Cache
}

// template identifies what objects of several owners in a namespace are rendered from.
type template struct {
	kind      schema.GroupVersionKind
	namespace string
	// suffix is what the object's name has beyond that of its owner.
	suffix string
}

// addition is a field that the server adds to the value at path, which is written as a whole.
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

// add notes additions to objects of t.
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

// of returns what was added to objects of t.
func (s *serverDefaults) of(t template) map[string]addition {
	s.mu.Lock()
	defer s.mu.Unlock()
	kept, ok := s.templates.Get(t)
	if !ok {
		return nil
	}
	return kept.(map[string]addition)
}

// with returns the digest of d with additions, where d lacks them.
func (d desired) with(additions map[string]addition) digest {
	content := runtime.DeepCopyJSON(d.content)
	for _, a := range additions {
		value, ok := any(content), true
		for _, element := range a.path {
			p := parent{value: value}
			if value, ok = p.child(element); !ok {
				break
			}
		}
		if ok {
			addAt(value, a.steps, a.value)
		}
	}
	return newDigest(d.fields, content)
}

// addAt adds a field to value unless it is there.
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

// additions returns what live has beyond want at the paths of differ. It reports false when
// they differ in anything but fields of structs that want leaves out: keys of a map and items
// of a list are no defaults.
func additions(t *typed.TypedValue, differ *fieldpath.Set, want, live map[string]any) (found []addition, ok bool) {
	ok = true
	differ.Iterate(func(path fieldpath.Path) {
		var wanted, held any = want, live
		kind, known := t.TypeRef(), true
		for _, element := range path {
			w, l := parent{value: wanted}, parent{value: held}
			wanted, _ = w.child(element)
			held, _ = l.child(element)
			if known {
				kind, known = below(t.Schema(), kind, element)
			}
		}
		if known && isOpen(t.Schema(), kind, wanted, held) {
			return
		}
		added := adder{schema: t.Schema(), path: path.Copy()}
		ok = ok && known && added.compare(wanted, held, kind, nil)
		found = append(found, added.found...)
	})
	return found, ok
}

// isOpen reports whether want is an empty map that others may fill, and live such a map. One
// that is absent where it is empty counts as empty.
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

// compare reports whether live is want and additions.
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
		return equal(live, want)
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

// below returns the type of the part of a value of type kind that element names.
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
