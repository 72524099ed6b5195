// SPDX-License-Identifier: Apache-2.0

package apply

import (
	"slices"
	"strings"
	"sync"

	appsv1 "k8s.io/api/apps/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/managedfields"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"
	"sigs.k8s.io/structured-merge-diff/v6/typed"
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

// hashField is the field of HashAnnotation.
var hashField = fieldpath.NewSet(fieldpath.MakePathOrDie("metadata", "annotations", HashAnnotation))

// comparer compares rendered objects with live ones. It is safe for use by many goroutines.
type comparer struct {
	scheme *runtime.Scheme
	types  managedfields.TypeConverter
}

// prepared is a rendered object, with HashAnnotation, and what follows from it alone.
type prepared struct {
	*unstructured.Unstructured
	// digest is that of the live object once this one is applied.
	digest digest
	// fields are the fields that the API server records in managedFields then.
	fields *fieldpath.Set
	// stored is the object with values in the form in which the API server stores them, such as the quantity 1Gi for 1024Mi,
	// and without zero values: as its Go type writes them. An object without a Go type is stored as it is written.
	stored *typed.TypedValue
	// err is why there is nothing but the object: it does not match its schema.
	err error
	// again is set for an object of a Summary, which has an identity, digest and err alone.
	again func() *prepared
}

// Desired are the objects to apply. They do not change, and can be applied any number of times.
type Desired []*prepared

// Prepare returns rendered as Desired. What does not match its schema has a SchemaError when it is applied.
func (a *Applier) Prepare(rendered []*unstructured.Unstructured) Desired {
	desired := make(Desired, len(rendered))
	for i, object := range rendered {
		desired[i] = &prepared{Unstructured: object}
		desired[i].err = a.comparer.complete(desired[i])
	}
	return desired
}

// Summary is what of Desired tells whether an object has to be written, in about 200 bytes an object.
type Summary []summarized

type summarized struct {
	apiVersion, kind, namespace, name string
	digest                            digest
	err                               error
}

// Summary returns the summary of d.
func (d Desired) Summary() Summary {
	s := make(Summary, len(d))
	for i, p := range d {
		s[i] = summarized{p.GetAPIVersion(), p.GetKind(), p.GetNamespace(), p.GetName(), p.digest, p.err}
	}
	return s
}

// Desired returns the objects of which s is the summary. When one of them has to be written, again is called, once, and returns them.
func (s Summary) Desired(again func() Desired) Desired {
	again = sync.OnceValue(again)
	desired := make(Desired, len(s))
	for i, of := range s {
		object := &unstructured.Unstructured{}
		object.SetAPIVersion(of.apiVersion)
		object.SetKind(of.kind)
		object.SetNamespace(of.namespace)
		object.SetName(of.name)
		desired[i] = &prepared{Unstructured: object, digest: of.digest, err: of.err, again: func() *prepared { return again()[i] }}
	}
	return desired
}

// whole returns p, or the object that p is the summary of.
func (p *prepared) whole() *prepared {
	if p.again != nil {
		return p.again()
	}
	return p
}

// complete sets what follows from the object of p. The error is a SchemaError, for a malformed quantity for example, which the API
// server would answer with an internal error.
func (c *comparer) complete(p *prepared) error {
	hashed, err := withHash(p.Unstructured)
	if err != nil {
		return err
	}
	p.Unstructured = hashed
	value, err := c.types.ObjectToTyped(hashed)
	if err == nil {
		p.fields, err = value.ToFieldSet()
	}
	if err != nil {
		return &SchemaError{p.GetKind(), p.GetName(), err}
	}
	p.fields = p.fields.Difference(unmanaged)
	object, err := NewObject(c.scheme, p.GroupVersionKind())
	if err != nil {
		return err
	}
	if err = runtime.DefaultUnstructuredConverter.FromUnstructured(hashed.Object, object); err == nil {
		p.stored, err = c.toTyped(object, p.GroupVersionKind())
	}
	if err != nil {
		return &SchemaError{p.GetKind(), p.GetName(), err}
	}
	p.digest, err = newDigest(hashed.GetAnnotations()[HashAnnotation], p.fields)
	return err
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

// mutation returns, for messages, the fields in which live, the answer to an apply of rendered, differs from it. It leaves out
// values to which the API server only adds defaults inside an atomic list or map, such as the apiVersion of a fieldRef, and
// defaults in place of what was rendered empty.
func (c *comparer) mutation(rendered *prepared, answer client.Object) (string, error) {
	applied, err := appliedFields(answer)
	if err != nil {
		return "", err
	}
	live, err := c.toTyped(answer, rendered.GroupVersionKind())
	if err != nil {
		return "", err
	}
	compared, err := rendered.stored.Compare(live)
	if err != nil {
		return "", err
	}
	mutated := rendered.fields.Difference(applied).Union(applied.Difference(rendered.fields))
	union(compared).Intersection(rendered.fields).Iterate(func(path fieldpath.Path) {
		want, one := rendered.stored, fieldpath.NewSet(path)
		if compared.Added.Has(path) { // It is absent where the API server stores rendered.
			if want, err = c.types.ObjectToTyped(rendered.Unstructured); err != nil {
				return
			}
		}
		if !isCompleted(valueAt(want, one), valueAt(live, one)) {
			mutated.Insert(path.Copy())
		}
	})
	return strings.Join(pathsOf(mutated), ", "), err
}

func union(c *typed.Comparison) *fieldpath.Set { return c.Added.Union(c.Modified).Union(c.Removed) }

// valueAt returns the part of value at path.
func valueAt(value *typed.TypedValue, path *fieldpath.Set) any {
	return value.ExtractItems(path).AsValue().Unstructured()
}

// isCompleted reports whether live is rendered, or that with more fields, with texts in place of empty ones, or without empty lists.
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
		return (ok || len(rendered) == 0) && slices.EqualFunc(rendered, live, isCompleted)
	case nil, string:
		return rendered == nil || rendered == "" || rendered == live
	default:
		return rendered == live
	}
}

// changes returns the paths, for messages, of the fields that an apply of rendered changed from before to after, among those that
// FieldManager applied before or after.
func (c *comparer) changes(rendered *prepared, before, after client.Object) ([]string, error) {
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
	return pathsOf(union(compared).Intersection(rendered.fields.Union(applied)).Difference(hashField)), nil
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
