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

// reclaim makes room for rendered, which the server refused with refusal, where
// somebody changed the key of an item of ours: a Service's port from 11211 to 11212, say,
// under its old name. An apply would then add our item beside theirs, and the two cannot
// stand together. So what others own in those lists is handed over to FieldManager, in
// the record of field managers alone, and goes with the next apply, which does not name
// it. It tells whether there was anything to hand over.
//
// The lists are those that refusal names, and only within what rendered holds: the ports
// of our container, not those of a sidecar. The same goes for an alternative to one of our
// fields, which cannot stand beside it.
func (a *Applier) reclaim(ctx context.Context, rendered *unstructured.Unstructured, refusal error) (bool, error) {
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
	isInList, isAlternative := within(refusedLists(refusal), fields), alternatives(typed, fields, owned, refusal)
	managers, moved, err := handOver(live.GetManagedFields(), func(path fieldpath.Path) bool { return isInList(path) || isAlternative(path) })
	if err != nil || !moved {
		return false, err
	}
	patch, err := json.Marshal([]map[string]any{
		{"op": "replace", "path": "/metadata/managedFields", "value": managers},
		// A change in between is a conflict.
		{"op": "replace", "path": "/metadata/resourceVersion", "value": live.GetResourceVersion()},
	})
	if err != nil {
		return false, err
	}
	return true, a.client.Patch(ctx, live, client.RawPatch(ktypes.JSONPatchType, patch), client.FieldOwner(FieldManager))
}

var index = regexp.MustCompile(`\[[^]]*\]`)

// refusedLists are the lists in which refusal finds fault with an item, as their field
// names: spec.ports for spec.ports[1].name.
func refusedLists(refusal error) sets.Set[string] {
	lists := sets.New[string]()
	for _, cause := range causesOf(refusal) {
		if end := strings.LastIndex(cause.Field, "["); end > 0 {
			lists.Insert(index.ReplaceAllString(cause.Field[:end], ""))
		}
	}
	return lists
}

// causesOf returns what the server names as causes of refusal.
func causesOf(refusal error) []metav1.StatusCause {
	var status apierrors.APIStatus
	if !apierrors.IsInvalid(refusal) || !errors.As(refusal, &status) || status.Status().Details == nil {
		return nil
	}
	return status.Status().Details.Causes
}

// within returns the test whether a path lies in one of lists, and that list in fields.
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

// names are the field names of path, without the keys of list items.
func names(path fieldpath.Path) string {
	var names []string
	for _, element := range path {
		if element.FieldName != nil {
			names = append(names, *element.FieldName)
		}
	}
	return strings.Join(names, ".")
}

// handOver moves the fields that taken selects from all other managers to ours.
func handOver(managers []metav1.ManagedFieldsEntry, taken func(fieldpath.Path) bool) ([]metav1.ManagedFieldsEntry, bool, error) {
	managers = slices.Clone(managers)
	ours := slices.IndexFunc(managers, isOurs)
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
			if taken(path) {
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

func setFields(entry *metav1.ManagedFieldsEntry, fields *fieldpath.Set) error {
	var encoded bytes.Buffer
	if err := fields.ToJSONStream(&encoded); err != nil {
		return err
	}
	entry.FieldsV1 = metav1.NewFieldsV1(encoded.String())
	return nil
}
