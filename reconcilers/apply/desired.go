// SPDX-License-Identifier: Apache-2.0

package apply

import (
	"slices"

	appsv1 "k8s.io/api/apps/v1"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"
	"sigs.k8s.io/structured-merge-diff/v6/value"
)

// unmanaged holds the fields that the API server does not record in managedFields, since they
// identify the object.
var unmanaged = fieldpath.NewSet(
	fieldpath.MakePathOrDie("apiVersion"),
	fieldpath.MakePathOrDie("kind"),
	fieldpath.MakePathOrDie("metadata"),
	fieldpath.MakePathOrDie("metadata", "name"),
	fieldpath.MakePathOrDie("metadata", "namespace"),
)

// fields returns the fields that the API server records in managedFields when rendered is applied. The
// error is a SchemaError.
func (c *comparer) fields(rendered *unstructured.Unstructured) (*fieldpath.Set, error) {
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

// canonical returns the content of rendered with values in the form in which the API server stores
// them, such as the quantity 1Gi for 1024Mi. Converting to the Go type does that; an object without
// a Go type is stored as it is written. The error is a SchemaError.
func (c *comparer) canonical(rendered *unstructured.Unstructured) (value.Value, error) {
	object, err := c.toTyped(rendered)
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
	return valueOf(object)
}

// podSpecOf returns the pod spec in object, or nil when it has none.
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

// roundUp rounds resources up to thousandths, as the API server does.
func roundUp(resources corev1.ResourceList) {
	for name, quantity := range resources {
		quantity.RoundUp(resource.Milli)
		resources[name] = quantity
	}
}

// toTyped converts rendered to its Go type. The error is a SchemaError, for a malformed quantity for
// example, which the API server would answer with an internal error.
func (c *comparer) toTyped(rendered *unstructured.Unstructured) (client.Object, error) {
	object, err := NewObject(c.scheme, rendered.GroupVersionKind())
	if err != nil {
		return nil, err
	}
	if err := runtime.DefaultUnstructuredConverter.FromUnstructured(rendered.Object, object); err != nil {
		return nil, &SchemaError{rendered.GetKind(), rendered.GetName(), err}
	}
	return object, nil
}

// desired is a rendered object as the API server stores it and records it in managedFields.
type desired struct {
	fields  *fieldpath.Set
	content value.Value
	digest  digest
}

// desired returns what the API server stores of rendered, without its defaults. The error is a
// SchemaError.
func (c *comparer) desired(rendered *unstructured.Unstructured) (desired, error) {
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
