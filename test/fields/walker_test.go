// SPDX-License-Identifier: Apache-2.0

package fields

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"

	cachev1alpha1 "github.com/example/memcached-operator/apis/v1alpha1"
	"github.com/example/memcached-operator/reconcilers/render"
)

// walker tries nodes on the API server and with the templates.
type walker struct {
	namespace string
	renderer  *render.Renderer
	answers   answers
}

// walk tries n with everything that valuesOf knows of, and returns what is wrong.
func (w *walker) walk(ctx context.Context, n *node) error {
	v, ok := valuesOf(n)
	if !ok {
		return errors.New("the schema does not tell its values: add it to samples, with a value that is valid, others at the bounds, and some to refuse")
	}
	valid, err := w.render(ctx, specWith(n, v.valid))
	if err != nil {
		return err
	}
	problems := []error{w.mustTake(ctx, valid)}
	for _, value := range v.refused {
		problems = append(problems, w.mustRefuse(ctx, specWith(n, value)))
	}
	_, isUnseen := unseen[n.path]
	for _, value := range v.boundary {
		problems = append(problems, w.compare(ctx, n, value, "valid", valid, isUnseen))
	}
	for _, value := range v.accepted {
		_, err := w.render(ctx, specWith(n, value))
		problems = append(problems, err)
	}
	if _, ok := find(indispensable, n.path); ok || n.name == "" || n.isRequired() {
		return errors.Join(problems...)
	}
	bare, err := w.render(ctx, specWithout(n))
	if err != nil {
		return errors.Join(append(problems, err)...)
	}
	_, isImplied := implied[n.path]
	for _, value := range append(v.distinct, v.valid) {
		problems = append(problems, w.compare(ctx, n, value, "no", bare, isUnseen || isImplied))
	}
	for _, value := range v.empty {
		problems = append(problems, w.compare(ctx, n, value, "no", bare, true))
	}
	return errors.Join(problems...)
}

// compare renders n with value and compares with what was rendered of another value.
func (w *walker) compare(ctx context.Context, n *node, value any, other string, of []*unstructured.Unstructured, same bool) error {
	objects, err := w.render(ctx, specWith(n, value))
	var refused *refusedError
	if _, ok := unrenderable[n.path]; err != nil && (!ok || errors.As(err, &refused)) {
		return err
	}
	switch is := equality.Semantic.DeepEqual(objects, of); {
	case is && !same:
		return fmt.Errorf("%s renders as %s value does: is the property wired in manifests/?", short(value), other)
	case !is && same:
		return fmt.Errorf("%s should render as %s value does", short(value), other)
	default:
		return nil
	}
}

// refusedError says that the API server does not accept a Memcached.
type refusedError struct {
	spec object
	err  error
}

func (e *refusedError) Error() string {
	return fmt.Sprintf("%s is not accepted: %v", short(e.spec), e.err)
}

func (e *refusedError) Unwrap() error { return e.err }

// submit makes a Memcached, without storing it, and reads it as the operator does.
func (w *walker) submit(ctx context.Context, spec object) (*cachev1alpha1.Memcached, error) {
	content, err := json.Marshal(object{
		"apiVersion": cachev1alpha1.SchemeGroupVersion.String(),
		"kind":       "Memcached",
		"metadata":   object{"namespace": w.namespace, "name": "sample"},
		"spec":       spec,
	})
	if err != nil {
		return nil, err
	}
	u := &unstructured.Unstructured{}
	if err := u.UnmarshalJSON(content); err != nil {
		return nil, err
	}
	err = suite.Client.Create(ctx, u, client.DryRunAll, client.FieldValidation("Strict"))
	w.answers.add(content, err)
	if err != nil {
		return nil, &refusedError{spec, err}
	}
	u.SetUID("walk") // Each has another one.
	stored, err := u.MarshalJSON()
	if err != nil {
		return nil, err
	}
	mc := &cachev1alpha1.Memcached{}
	if err := json.Unmarshal(stored, mc); err != nil {
		return nil, fmt.Errorf("%s is accepted, and the operator cannot read it; one such object ends its watch: %w", short(spec), err)
	}
	return mc, nil
}

func (w *walker) mustRefuse(ctx context.Context, spec object) error {
	_, err := w.submit(ctx, spec)
	switch {
	case err == nil:
		return fmt.Errorf("%s is not refused", short(spec))
	case !apierrors.IsInvalid(err) && !apierrors.IsBadRequest(err):
		return fmt.Errorf("not refused as invalid: %w", err)
	default:
		return nil
	}
}

// render returns the objects for spec.
func (w *walker) render(ctx context.Context, spec object) ([]*unstructured.Unstructured, error) {
	mc, err := w.submit(ctx, spec)
	if err != nil {
		return nil, err
	}
	objects, err := w.renderer.Render(mc)
	if err != nil {
		return nil, fmt.Errorf("%s cannot be rendered: %w", short(spec), err)
	}
	return objects, nil
}

// mustTake returns an error for each object that the API server does not take.
func (w *walker) mustTake(ctx context.Context, objects []*unstructured.Unstructured) error {
	var problems []error
	for _, object := range objects {
		applied := client.ApplyConfigurationFromUnstructured(object.DeepCopy())
		if err := suite.Client.Apply(ctx, applied, client.DryRunAll, client.FieldOwner("walk")); err != nil {
			problems = append(problems, fmt.Errorf("the API server does not take the %s: %w", object.GetKind(), err))
		}
	}
	return errors.Join(problems...)
}

// short is value for a message.
func short(value any) string {
	content, err := json.Marshal(value)
	if err != nil {
		return err.Error()
	}
	const most = 300
	if len(content) > most {
		return string(content[:most]) + "…"
	}
	return string(content)
}
