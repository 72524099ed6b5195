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
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	ktypes "k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/sets"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"
)

// takeListOwnership resolves an Invalid error of the apply of rendered that is caused by a change of the
// key of one of our list items. If another client changed a Service's port from 11211 to 11212 under
// the same name, an apply adds our item beside theirs, and the API server rejects two ports of one
// name. takeListOwnership transfers the fields of other managers in such a list to FieldManager, in
// managedFields only, so that the next apply removes them. It reports whether it transferred any.
//
// The lists are those that the error names, within the fields of rendered: the ports of our container,
// not those of a sidecar. An alternative to one of our fields is transferred too; see alternatives.
func (a *Applier) takeListOwnership(ctx context.Context, rendered *unstructured.Unstructured, invalid error) (bool, error) {
	typed, err := a.comparer.types.ObjectToTyped(rendered)
	if err != nil {
		return false, err
	}
	fields, err := a.comparer.fields(rendered)
	if err != nil {
		return false, err
	}
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
	isInList, isAlternative := within(invalidLists(invalid), fields), alternatives(typed, fields, owned, invalid)
	managers, moved, err := transferFields(live.GetManagedFields(), func(path fieldpath.Path) bool { return isInList(path) || isAlternative(path) })
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

// index matches the key or position of a list item in the path of a field.
var index = regexp.MustCompile(`\[[^]]*\]`)

// invalidLists returns the lists with an invalid item, as field names: spec.ports for
// spec.ports[1].name.
func invalidLists(invalid error) sets.Set[string] {
	lists := sets.New[string]()
	for _, cause := range causesOf(invalid) {
		if end := strings.LastIndex(cause.Field, "["); end > 0 {
			lists.Insert(index.ReplaceAllString(cause.Field[:end], ""))
		}
	}
	return lists
}

// causesOf returns the causes in the status of invalid.
func causesOf(invalid error) []metav1.StatusCause {
	var status apierrors.APIStatus
	if !apierrors.IsInvalid(invalid) || !errors.As(invalid, &status) || status.Status().Details == nil {
		return nil
	}
	return status.Status().Details.Causes
}

// within returns a predicate for paths in those of lists that are in fields.
func within(lists sets.Set[string], fields *fieldpath.Set) func(fieldpath.Path) bool {
	ours := sets.New[string]()
	fields.Iterate(func(path fieldpath.Path) {
		for end := range path {
			if lists.Has(names(path[:end])) {
				ours.Insert(path[:end].String())
			}
		}
	})
	return func(path fieldpath.Path) bool {
		return slices.ContainsFunc(sets.List(ours), func(list string) bool {
			rest, found := strings.CutPrefix(path.String(), list)
			return found && strings.HasPrefix(rest, "[")
		})
	}
}

// names returns the field names of path, without the keys of list items.
func names(path fieldpath.Path) string {
	var names []string
	for _, element := range path {
		if element.FieldName != nil {
			names = append(names, *element.FieldName)
		}
	}
	return strings.Join(names, ".")
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
