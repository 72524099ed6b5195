// SPDX-License-Identifier: Apache-2.0

package apply

import (
	"encoding/json"
	"fmt"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/managedfields"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"
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

// fields are the fields that the server records when rendered is applied. The error is
// a SchemaError.
func (c comparer) fields(rendered *unstructured.Unstructured) (*fieldpath.Set, error) {
	typed, err := c.types.ObjectToTyped(rendered)
	if err != nil {
		return nil, &SchemaError{rendered.GetKind(), rendered.GetName(), err}
	}
	fields, err := typed.ToFieldSet()
	if err != nil {
		return nil, &SchemaError{rendered.GetKind(), rendered.GetName(), err}
	}
	return fields.Difference(unmanaged), nil
}

// canonical is an object with its values written as the server writes them:
// quantities above all, 1024Mi as 1Gi. Going through the Go type does that; a kind
// that has none is stored as it is written. The error is a SchemaError.
func (c comparer) canonical(rendered *unstructured.Unstructured) (map[string]any, error) {
	object, err := c.fit(rendered)
	if err != nil {
		return nil, err
	}
	return runtime.DefaultUnstructuredConverter.ToUnstructured(object)
}

// fit puts rendered into its Go type. What does not fit, such as a quantity that is
// none, is a SchemaError; the server would call it an error of its own.
func (c comparer) fit(rendered *unstructured.Unstructured) (client.Object, error) {
	object, err := NewObject(c.scheme, rendered.GroupVersionKind())
	if err != nil {
		return nil, err
	}
	if err := runtime.DefaultUnstructuredConverter.FromUnstructured(rendered.Object, object); err != nil {
		return nil, &SchemaError{rendered.GetKind(), rendered.GetName(), err}
	}
	return object, nil
}

// gap is what separates a live object from the wanted one. The zero value says that
// nothing does.
type gap struct {
	// fields names the fields that differ, for people.
	fields string
	// values are the live values at the fields that differ: with the rendered object
	// they identify the gap.
	values string
}

// gap compares live, whose content is held, with rendered and its fields.
func (c comparer) gap(rendered *unstructured.Unstructured, fields *fieldpath.Set, live client.Object, held map[string]any) (gap, error) {
	applied, err := appliedFields(live)
	if err != nil {
		return gap{}, err
	}
	differ, values := differences(fields, rendered.Object, held)
	if !differ.Empty() {
		// Perhaps only in how values are written.
		canonical, err := c.canonical(rendered)
		if err != nil {
			return gap{}, err
		}
		differ, values = differences(differ, canonical, held)
	}
	if !fields.Equals(applied) {
		missing, surplus := fields.Difference(applied), applied.Difference(fields)
		return gap{fmt.Sprintf("to apply: %v; to give up: %v", missing, surplus), values + applied.String()}, nil
	}
	if differ.Empty() {
		return gap{}, nil
	}
	return gap{differ.String(), values}, nil
}

// differences are the paths among fields at which live lacks what want has, and the
// live values there.
func differences(fields *fieldpath.Set, want, live map[string]any) (*fieldpath.Set, string) {
	differ := fieldpath.NewSet()
	var values strings.Builder
	lacking(fields, want, live, nil, func(path fieldpath.Path, value any) {
		differ.Insert(path.Copy())
		// What the server holds always encodes.
		content, _ := json.Marshal(value)
		fmt.Fprintf(&values, "%v: %s\n", path, content)
	})
	return differ, values.String()
}

// appliedFields is the set of fields that FieldManager applied, as the server
// recorded it; empty when it applied none.
func appliedFields(live client.Object) (*fieldpath.Set, error) {
	fields := fieldpath.NewSet()
	for _, entry := range live.GetManagedFields() {
		if !isOurs(entry) || entry.FieldsV1 == nil {
			continue
		}
		if err := fields.FromJSON(entry.FieldsV1.GetRawReader()); err != nil {
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
