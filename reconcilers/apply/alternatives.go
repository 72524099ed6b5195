// SPDX-License-Identifier: Apache-2.0

package apply

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"regexp"
	"slices"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	ktypes "k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/sets"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"
	"sigs.k8s.io/structured-merge-diff/v6/schema"
	"sigs.k8s.io/structured-merge-diff/v6/typed"
)

// takeAlternatives resolves an Invalid error of the apply of rendered: another client may have replaced a field of ours by
// one that excludes it, such as maxUnavailable of a PodDisruptionBudget by minAvailable, or port 11211 of a Service
// by a port 11212 of the same name, which is another item of the list. takeAlternatives transfers such fields to
// FieldManager, in managedFields only, so that the next apply removes them. It reports whether it transferred any.
func (a *Applier) takeAlternatives(ctx context.Context, rendered *prepared, invalid error) (bool, error) {
	live, err := NewObject(a.scheme, rendered.GroupVersionKind())
	if err != nil {
		return false, err
	}
	if err := a.live.Get(ctx, client.ObjectKeyFromObject(rendered), live); err != nil {
		return false, err
	}
	owned, err := appliedFields(live)
	if err != nil {
		return false, err
	}
	managers, moved, err := transferFields(live.GetManagedFields(), alternatives(rendered, owned, invalid))
	if err != nil || !moved {
		return false, err
	}
	patch, err := json.Marshal([]map[string]any{
		{"op": "replace", "path": "/metadata/managedFields", "value": managers},
		// A concurrent change is a conflict.
		{"op": "replace", "path": "/metadata/resourceVersion", "value": live.GetResourceVersion()},
	})
	if err != nil {
		return false, err
	}
	return true, a.client.Patch(ctx, live, client.RawPatch(ktypes.JSONPatchType, patch), client.FieldOwner(FieldManager))
}

// alternatives returns a predicate for the fields beside those of rendered that are not in owned, and that are not rendered: in a
// struct where the API server reports the object as invalid, or in a list where it reports a duplicate. In a map with keys
// of any name, such as labels, none excludes another. The ports of a sidecar are not beside those of our container.
func alternatives(rendered *prepared, owned *fieldpath.Set, invalid error) func(fieldpath.Path) bool {
	causes, duplicates := sets.New[string](), sets.New[string]()
	for _, cause := range causesOf(invalid) {
		field := index.ReplaceAllString(cause.Field, "")
		causes.Insert(field)
		if cause.Type == metav1.CauseTypeFieldValueDuplicate {
			duplicates.Insert(field)
		}
	}
	parents := fieldpath.NewSet()
	rendered.fields.Difference(owned).Iterate(func(path fieldpath.Path) {
		for end := range path {
			parent := path[:end]
			if has(owned, path[:end+1]) {
				continue
			}
			switch of := typeAt(rendered.stored, parent); {
			case of.List != nil && isAt(parent, duplicates),
				of.Map != nil && len(of.Map.Fields) > 0 && isAt(parent, causes):
				parents.Insert(parent.Copy())
			}
		}
	})
	return func(path fieldpath.Path) bool {
		for end := range path {
			if parents.Has(path[:end]) && !has(rendered.fields, path[:end+1]) {
				return true
			}
		}
		return false
	}
}

// has reports whether set has the field at path or a child of it.
func has(set *fieldpath.Set, path fieldpath.Path) bool {
	if set.Has(path) {
		return true
	}
	for _, element := range path {
		below, ok := set.Children.Get(element)
		if !ok {
			return false
		}
		set = below
	}
	return !set.Empty()
}

// typeAt returns the type of the value at path below object; the zero value if it is not known.
func typeAt(object *typed.TypedValue, path fieldpath.Path) schema.Atom {
	atom, _ := object.Schema().Resolve(object.TypeRef())
	for _, element := range path {
		var kind schema.TypeRef
		switch {
		case element.FieldName != nil && atom.Map != nil:
			kind = atom.Map.ElementType
			if field, ok := atom.Map.FindField(*element.FieldName); ok {
				kind = field.Type
			}
		case atom.List != nil:
			kind = atom.List.ElementType
		}
		atom, _ = object.Schema().Resolve(kind)
	}
	return atom
}

// index matches the key or position of a list item in the path of a field.
var index = regexp.MustCompile(`\[[^]]*\]`)

// isAt reports whether one of fields is path, a parent of it or a child of it.
func isAt(path fieldpath.Path, fields sets.Set[string]) bool {
	var names []string
	for _, element := range path {
		if element.FieldName != nil {
			names = append(names, *element.FieldName)
		}
	}
	at := strings.Join(names, ".") + "."
	return slices.ContainsFunc(fields.UnsortedList(), func(field string) bool {
		return strings.HasPrefix(at, field+".") || strings.HasPrefix(field+".", at)
	})
}

// causesOf returns the causes in the status of invalid.
func causesOf(invalid error) []metav1.StatusCause {
	var status apierrors.APIStatus
	if !errors.As(invalid, &status) || status.Status().Details == nil {
		return nil
	}
	return status.Status().Details.Causes
}

// transferFields transfers the fields that selected selects from all other managers to FieldManager, and
// reports whether there were any.
func transferFields(managers []metav1.ManagedFieldsEntry, selected func(fieldpath.Path) bool) ([]metav1.ManagedFieldsEntry, bool, error) {
	managers = slices.Clone(managers)
	ours := slices.IndexFunc(managers, isManagedByUs)
	if ours < 0 || managers[ours].FieldsV1 == nil {
		return nil, false, nil
	}
	moved := fieldpath.NewSet()
	for i, entry := range managers {
		if i == ours || entry.FieldsV1 == nil || entry.Subresource != "" {
			continue
		}
		fields, theirs := fieldpath.NewSet(), fieldpath.NewSet()
		if err := fields.FromJSON(entry.FieldsV1.GetRawReader()); err != nil {
			return nil, false, err
		}
		fields.Iterate(func(path fieldpath.Path) {
			if selected(path) {
				theirs.Insert(path.Copy())
			}
		})
		if theirs.Empty() {
			continue
		}
		moved = moved.Union(theirs)
		if err := setFields(&managers[i], fields.Difference(theirs)); err != nil {
			return nil, false, err
		}
	}
	if moved.Empty() {
		return nil, false, nil
	}
	fields := fieldpath.NewSet()
	if err := fields.FromJSON(managers[ours].FieldsV1.GetRawReader()); err != nil {
		return nil, false, err
	}
	return managers, true, setFields(&managers[ours], fields.Union(moved))
}

// setFields sets the fields of entry.
func setFields(entry *metav1.ManagedFieldsEntry, fields *fieldpath.Set) error {
	var encoded bytes.Buffer
	if err := fields.ToJSONStream(&encoded); err != nil {
		return err
	}
	entry.FieldsV1 = metav1.NewFieldsV1(encoded.String())
	return nil
}
