// SPDX-License-Identifier: Apache-2.0

package apply

import (
	"bytes"
	"encoding/json"
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

// SchemaError says that a rendered object does not fit the schema of its kind.
type SchemaError struct {
	Kind, Name string
	// Err names the field.
	Err error
}

func (e *SchemaError) Error() string {
	return fmt.Sprintf("%s %s does not fit its schema: %v", e.Kind, e.Name, e.Err)
}

func (e *SchemaError) Unwrap() error { return e.Err }

// want prepares rendered. The error is a SchemaError.
func (c comparer) want(rendered *unstructured.Unstructured) (wanted, error) {
	typed, err := c.types.ObjectToTyped(rendered)
	if err != nil {
		return wanted{}, &SchemaError{rendered.GetKind(), rendered.GetName(), err}
	}
	fields, err := typed.ToFieldSet()
	if err != nil {
		return wanted{}, &SchemaError{rendered.GetKind(), rendered.GetName(), err}
	}
	fields = fields.Difference(unmanaged)
	canonical, err := c.canonical(rendered)
	if err != nil {
		return wanted{}, &SchemaError{rendered.GetKind(), rendered.GetName(), err}
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
		return nil, err
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
	// The server lets an Update write a list item twice, such as a variable.
	all, err := c.types.ObjectToTyped(live, typed.AllowDuplicates)
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
	differ := comparison.Removed.Union(comparison.Added)
	comparison.Modified.Iterate(func(path fieldpath.Path) {
		if !includes(at(held, path), at(want.values, path)) {
			differ.Insert(path.Copy())
		}
	})
	if differ.Empty() {
		return gap{}, nil
	}
	return gap{differ.String(), text(held)}, nil
}

// includes tells whether live has everything that want has. They differ in more than
// that where a list or map is written as a whole (an atomic one) and the server put
// its defaults in: protocol into the ports of a NetworkPolicy, apiVersion into a
// fieldRef. Anybody else who adds to such a field takes it from us, in managedFields.
func includes(live, want any) bool {
	switch want := want.(type) {
	case map[string]any:
		live, ok := live.(map[string]any)
		for key, item := range want {
			ok = ok && includes(live[key], item)
		}
		return ok
	case []any:
		live, ok := live.([]any)
		ok = ok && len(live) == len(want)
		for i := 0; ok && i < len(want); i++ {
			ok = includes(live[i], want[i])
		}
		return ok
	default:
		return value.Equals(value.NewValueInterface(live), value.NewValueInterface(want))
	}
}

// at is the value of v at path; nil when there is none.
func at(v *typed.TypedValue, path fieldpath.Path) any {
	found := v.ExtractItems(fieldpath.NewSet(path)).AsValue().Unstructured()
	for _, element := range path {
		switch parent := found.(type) {
		case map[string]any:
			found = parent[*element.FieldName]
		case []any:
			if len(parent) == 0 {
				return nil
			}
			// The one item that was extracted.
			found = parent[0]
		default:
			return nil
		}
	}
	return found
}

// text is the same for equal values. (value.ToString is not: its maps have no order.)
func text(v *typed.TypedValue) string {
	// What the server holds always encodes.
	content, _ := json.Marshal(v.AsValue().Unstructured())
	return string(content)
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
