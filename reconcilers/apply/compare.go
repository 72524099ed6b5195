// SPDX-License-Identifier: Apache-2.0

package apply

import (
	"bytes"
	"fmt"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/managedfields"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"
	"sigs.k8s.io/structured-merge-diff/v6/typed"
	"sigs.k8s.io/structured-merge-diff/v6/value"
)

// unmanaged are the fields that the API server leaves out of managedFields, since
// they identify the object.
var unmanaged = fieldpath.NewSet(
	fieldpath.MakePathOrDie("apiVersion"),
	fieldpath.MakePathOrDie("kind"),
	fieldpath.MakePathOrDie("metadata"),
	fieldpath.MakePathOrDie("metadata", "name"),
	fieldpath.MakePathOrDie("metadata", "namespace"),
)

// comparer tells what of a rendered object the live one lacks.
type comparer struct {
	scheme *runtime.Scheme
	types  managedfields.TypeConverter
}

// wanted is a rendered object in the form in which it is compared.
type wanted struct {
	fields *fieldpath.Set
	values *typed.TypedValue
}

// want prepares rendered. The error says which field the schema does not know.
func (c comparer) want(rendered *unstructured.Unstructured) (wanted, error) {
	typed, err := c.types.ObjectToTyped(rendered)
	if err != nil {
		return wanted{}, fmt.Errorf("checking the fields of %s %s: %w", rendered.GetKind(), rendered.GetName(), err)
	}
	fields, err := typed.ToFieldSet()
	if err != nil {
		return wanted{}, fmt.Errorf("listing the fields of %s %s: %w", rendered.GetKind(), rendered.GetName(), err)
	}
	fields = fields.Difference(unmanaged)
	canonical, err := c.canonical(rendered)
	if err != nil {
		return wanted{}, err
	}
	return wanted{fields: fields, values: canonical.ExtractItems(fields)}, nil
}

// canonical is rendered with its values written as the server writes them:
// quantities above all, 1024Mi as 1Gi. Going through the Go type does that.
func (c comparer) canonical(rendered *unstructured.Unstructured) (*typed.TypedValue, error) {
	object, err := NewObject(c.scheme, rendered.GroupVersionKind())
	if err != nil {
		return nil, err
	}
	if err := runtime.DefaultUnstructuredConverter.FromUnstructured(rendered.Object, object); err != nil {
		return nil, fmt.Errorf("converting %s %s: %w", rendered.GetKind(), rendered.GetName(), err)
	}
	object.GetObjectKind().SetGroupVersionKind(rendered.GroupVersionKind())
	return c.types.ObjectToTyped(object)
}

// gap is what separates a live object from the wanted one. The zero value says that
// nothing does.
type gap struct {
	// fields names the fields that differ, for people.
	fields string
	// values are the live values at the wanted fields: with the rendered object they
	// identify the gap.
	values string
}

// gap compares live with want.
func (c comparer) gap(want wanted, live client.Object) (gap, error) {
	applied, err := appliedFields(live)
	if err != nil {
		return gap{}, err
	}
	all, err := c.types.ObjectToTyped(live)
	if err != nil {
		return gap{}, fmt.Errorf("reading the fields of the live %s: %w", live.GetName(), err)
	}
	held := all.ExtractItems(want.fields)
	if !want.fields.Equals(applied) {
		missing, surplus := want.fields.Difference(applied), applied.Difference(want.fields)
		return gap{fmt.Sprintf("to apply: %v; to give up: %v", missing, surplus), text(held) + applied.String()}, nil
	}
	comparison, err := want.values.Compare(held)
	if err != nil {
		return gap{}, fmt.Errorf("comparing with the live %s: %w", live.GetName(), err)
	}
	if comparison.IsSame() {
		return gap{}, nil
	}
	differ := comparison.Modified.Union(comparison.Removed).Union(comparison.Added)
	return gap{differ.String(), text(held)}, nil
}

func text(v *typed.TypedValue) string {
	return value.ToString(v.AsValue())
}

// appliedFields is the set of fields that FieldManager applied, as the server
// recorded it; empty when it applied none.
func appliedFields(live client.Object) (*fieldpath.Set, error) {
	fields := fieldpath.NewSet()
	for _, entry := range live.GetManagedFields() {
		if !isOurs(entry) || entry.FieldsV1 == nil {
			continue
		}
		if err := fields.FromJSON(bytes.NewReader(entry.FieldsV1.Raw)); err != nil {
			return nil, fmt.Errorf("reading managedFields of %s: %w", live.GetName(), err)
		}
	}
	return fields, nil
}

func isOurs(entry metav1.ManagedFieldsEntry) bool {
	return entry.Manager == FieldManager && entry.Operation == metav1.ManagedFieldsOperationApply && entry.Subresource == ""
}

// KeepOurManagedFields drops the entries of other field managers from an object's
// managedFields. It is for cache transforms: they are never read, and they are a
// third of a Deployment.
func KeepOurManagedFields(object client.Object) {
	var ours []metav1.ManagedFieldsEntry
	for _, entry := range object.GetManagedFields() {
		if isOurs(entry) {
			ours = append(ours, entry)
		}
	}
	object.SetManagedFields(ours)
}
