// SPDX-License-Identifier: Apache-2.0

package apply

import (
	"slices"
	"strings"

	appsv1 "k8s.io/api/apps/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/managedfields"
	"k8s.io/utils/lru"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"
	"sigs.k8s.io/structured-merge-diff/v6/typed"
)

// maxDigests bounds the memory of digests, at about 200 bytes per entry.
const maxDigests = 1 << 13

// unmanaged holds the fields that the API server does not record in managedFields, since they
// identify the object.
var unmanaged = fieldpath.NewSet(
	fieldpath.MakePathOrDie("apiVersion"),
	fieldpath.MakePathOrDie("kind"),
	fieldpath.MakePathOrDie("metadata"),
	fieldpath.MakePathOrDie("metadata", "name"),
	fieldpath.MakePathOrDie("metadata", "namespace"),
)

// hashField is the field of HashAnnotation.
var hashField = fieldpath.NewSet(fieldpath.MakePathOrDie("metadata", "annotations", HashAnnotation))

// comparer compares rendered objects with live ones. It is safe for use by many goroutines.
type comparer struct {
	scheme *runtime.Scheme
	types  managedfields.TypeConverter
	// digests holds the digest of rendered objects by HashAnnotation.
	digests *lru.Cache
}

func newComparer(scheme *runtime.Scheme, types managedfields.TypeConverter) *comparer {
	return &comparer{scheme: scheme, types: types, digests: lru.New(maxDigests)}
}

// digest returns the digest that the live object has once rendered, which has HashAnnotation, is applied. The error is a
// SchemaError.
func (c *comparer) digest(rendered *unstructured.Unstructured) (digest, error) {
	hash := rendered.GetAnnotations()[HashAnnotation]
	if known, ok := c.digests.Get(hash); ok {
		return known.(digest), nil
	}
	fields, err := c.fields(rendered)
	if err != nil {
		return "", err
	}
	if _, err := c.decode(rendered); err != nil {
		return "", err
	}
	d, err := newDigest(hash, fields)
	if err == nil {
		c.digests.Add(hash, d)
	}
	return d, err
}

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

// stored returns rendered with values in the form in which the API server stores them, such as the quantity 1Gi for
// 1024Mi, and without zero values: as its Go type writes them. An object without a Go type is stored as it is written. The
// error is a SchemaError.
func (c *comparer) stored(rendered *unstructured.Unstructured) (*typed.TypedValue, error) {
	object, err := c.decode(rendered)
	if err != nil {
		return nil, err
	}
	value, err := c.toTyped(object, rendered.GroupVersionKind())
	if err != nil {
		return nil, &SchemaError{rendered.GetKind(), rendered.GetName(), err}
	}
	return value, nil
}

// decode converts rendered to its Go type. The error is a SchemaError, for a malformed quantity for example, which the API
// server would answer with an internal error.
func (c *comparer) decode(rendered *unstructured.Unstructured) (client.Object, error) {
	object, err := NewObject(c.scheme, rendered.GroupVersionKind())
	if err != nil {
		return nil, err
	}
	if err := runtime.DefaultUnstructuredConverter.FromUnstructured(rendered.Object, object); err != nil {
		return nil, &SchemaError{rendered.GetKind(), rendered.GetName(), err}
	}
	return object, nil
}

// toTyped returns object, which is of kind, as a typed value. It changes what the API's protocol buffers lack: the kind, and
// that of claim templates. Other clients can write two items of one key.
func (c *comparer) toTyped(object client.Object, kind schema.GroupVersionKind) (*typed.TypedValue, error) {
	object.GetObjectKind().SetGroupVersionKind(kind)
	if set, ok := object.(*appsv1.StatefulSet); ok {
		for i := range set.Spec.VolumeClaimTemplates {
			set.Spec.VolumeClaimTemplates[i].TypeMeta = metav1.TypeMeta{}
		}
	}
	return c.types.ObjectToTyped(object, typed.AllowDuplicates)
}

// difference is how a live object differs from a rendered one in our fields.
type difference struct {
	// missing are the rendered fields that are not ours, and surplus our fields that are not rendered.
	missing, surplus *fieldpath.Set
	// values are the rendered fields with another value, of which added are absent where the API server stores rendered.
	values, added *fieldpath.Set
	// stored is what the API server stores of the rendered object, and live the live object.
	stored, live *typed.TypedValue
}

// difference returns how live, which must not be reduced, differs from rendered.
func (c *comparer) difference(rendered *unstructured.Unstructured, live client.Object) (d difference, err error) {
	applied, err := appliedFields(live)
	if err != nil {
		return d, err
	}
	fields := applied
	if want, _ := c.digest(rendered); appliedTo(live) != want {
		if fields, err = c.fields(rendered); err != nil {
			return d, err
		}
	}
	if d.stored, err = c.stored(rendered); err != nil {
		return d, err
	}
	if d.live, err = c.toTyped(live, rendered.GroupVersionKind()); err != nil {
		return d, err
	}
	compared, err := d.stored.Compare(d.live)
	if err != nil {
		return d, err
	}
	d.missing, d.surplus = fields.Difference(applied), applied.Difference(fields)
	d.values, d.added = union(compared).Intersection(fields), compared.Added
	return d, nil
}

func union(c *typed.Comparison) *fieldpath.Set { return c.Added.Union(c.Modified).Union(c.Removed) }

// inPodTemplate reports whether d has fields of the pod template.
func (d difference) inPodTemplate() bool {
	all := d.missing.Union(d.surplus).Union(d.values)
	return !below(all, "spec", "template").Empty()
}

// mutation returns, for messages, the fields in which live, the answer to an apply of rendered, differs from it. It leaves out
// values to which the API server only adds defaults inside an atomic list or map, such as the apiVersion of a fieldRef, and
// defaults in place of what was rendered empty.
func (c *comparer) mutation(rendered *unstructured.Unstructured, live client.Object) (string, error) {
	d, err := c.difference(rendered, live)
	if err != nil {
		return "", err
	}
	mutated := d.missing.Union(d.surplus)
	d.values.Iterate(func(path fieldpath.Path) {
		want, one := d.stored, fieldpath.NewSet(path)
		if d.added.Has(path) {
			if want, err = c.types.ObjectToTyped(rendered); err != nil {
				return
			}
		}
		if !isCompleted(valueAt(want, one), valueAt(d.live, one)) {
			mutated.Insert(path.Copy())
		}
	})
	return strings.Join(pathsOf(mutated), ", "), err
}

// valueAt returns the part of value at path.
func valueAt(value *typed.TypedValue, path *fieldpath.Set) any {
	return value.ExtractItems(path).AsValue().Unstructured()
}

// isCompleted reports whether live is rendered, or that with more fields, or with texts in place of empty ones.
func isCompleted(rendered, live any) bool {
	switch rendered := rendered.(type) {
	case map[string]any:
		live, ok := live.(map[string]any)
		for field, value := range rendered {
			ok = ok && isCompleted(value, live[field])
		}
		return ok
	case []any:
		live, ok := live.([]any)
		return ok && slices.EqualFunc(rendered, live, isCompleted)
	case nil, string:
		return rendered == nil || rendered == "" || rendered == live
	default:
		return rendered == live
	}
}

// changes returns the paths, for messages, of the fields that an apply of rendered changed from before to after, among those that
// FieldManager applied before or after.
func (c *comparer) changes(rendered *unstructured.Unstructured, before, after client.Object) ([]string, error) {
	fields, err := c.fields(rendered)
	if err != nil {
		return nil, err
	}
	applied, err := appliedFields(before)
	if err != nil {
		return nil, err
	}
	from, err := c.toTyped(before, rendered.GroupVersionKind())
	if err != nil {
		return nil, err
	}
	to, err := c.toTyped(after, rendered.GroupVersionKind())
	if err != nil {
		return nil, err
	}
	compared, err := from.Compare(to)
	if err != nil {
		return nil, err
	}
	return pathsOf(union(compared).Intersection(fields.Union(applied)).Difference(hashField)), nil
}

// pathsOf returns the paths of fields, sorted, such as spec.replicas.
func pathsOf(fields *fieldpath.Set) []string {
	var paths []string
	fields.Iterate(func(path fieldpath.Path) {
		paths = append(paths, strings.TrimPrefix(path.String(), "."))
	})
	slices.Sort(paths)
	return paths
}
