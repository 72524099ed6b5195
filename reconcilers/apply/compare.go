// SPDX-License-Identifier: Apache-2.0

package apply

import (
	"fmt"
	"slices"

	appsv1 "k8s.io/api/apps/v1"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
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
	if spec := podSpecOf(object); spec != nil {
		for _, container := range slices.Concat(spec.InitContainers, spec.Containers) {
			roundUp(container.Resources.Requests)
			roundUp(container.Resources.Limits)
		}
		if spec.Resources != nil {
			roundUp(spec.Resources.Requests)
			roundUp(spec.Resources.Limits)
		}
	}
	return contentOf(object)
}

// podSpecOf returns the spec of the pods that object makes; nil when it makes none.
func podSpecOf(object client.Object) *corev1.PodSpec {
	switch o := object.(type) {
	case *appsv1.Deployment:
		return &o.Spec.Template.Spec
	case *appsv1.StatefulSet:
		return &o.Spec.Template.Spec
	case *appsv1.DaemonSet:
		return &o.Spec.Template.Spec
	case *batchv1.Job:
		return &o.Spec.Template.Spec
	case *batchv1.CronJob:
		return &o.Spec.JobTemplate.Spec.Template.Spec
	default:
		return nil
	}
}

// roundUp rounds resources to thousandths, as the server does.
func roundUp(resources corev1.ResourceList) {
	for name, quantity := range resources {
		quantity.RoundUp(resource.Milli)
		resources[name] = quantity
	}
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

// desired is a rendered object as the server would store and record it.
type desired struct {
	fields  *fieldpath.Set
	content map[string]any
	digest  digest
}

// desired returns what the server stores of rendered, less its own defaults. The error is a
// SchemaError.
func (c comparer) desired(rendered *unstructured.Unstructured) (desired, error) {
	fields, err := c.fields(rendered)
	if err != nil {
		return desired{}, err
	}
	content, err := c.canonical(rendered)
	if err != nil {
		return desired{}, err
	}
	return desired{fields, content, newDigest(fields, content)}, nil
}

// drift names, for people, the fields in which live, the server's answer to an apply of d,
// differs from d. differ holds them when they differ in their values alone.
func (d desired) drift(live client.Object, content map[string]any) (drift string, differ *fieldpath.Set, err error) {
	applied, err := appliedFields(live)
	if err != nil {
		return "", nil, err
	}
	if !d.fields.Equals(applied) {
		return fmt.Sprintf("to apply: %v; to give up: %v", d.fields.Difference(applied), applied.Difference(d.fields)), nil, nil
	}
	differ = fieldpath.NewSet()
	different(d.fields, d.content, content, nil, func(path fieldpath.Path) { differ.Insert(path.Copy()) })
	return differ.String(), differ, nil
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

// ourEntry returns the entry of object's managedFields that records what FieldManager applied.
func ourEntry(object client.Object) (*metav1.ManagedFieldsEntry, bool) {
	for _, entry := range object.GetManagedFields() {
		if isOurs(entry) && entry.FieldsV1 != nil {
			return &entry, true
		}
	}
	return nil, false
}
