// SPDX-License-Identifier: Apache-2.0

package apply_test

import (
	"context"
	"errors"
	"fmt"
	"testing"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/example/memcached-operator/reconcilers/apply"
	"github.com/example/memcached-operator/test/testenv"
)

func TestIsTerminal_Errors(t *testing.T) {
	t.Parallel()
	deployments := schema.GroupResource{Group: "apps", Resource: "deployments"}
	kind := schema.GroupKind{Group: "apps", Kind: "Deployment"}
	at := func(path string) field.ErrorList {
		return field.ErrorList{field.Invalid(field.NewPath(path), "a", "is wrong")}
	}
	for sentence, test := range map[string]struct {
		err  error
		want bool
	}{
		"none":                           {nil, false},
		"an invalid object":              {apierrors.NewInvalid(kind, "a", at("spec")), true},
		"an invalid object, no details":  {&apierrors.StatusError{ErrStatus: apierrors.NewInvalid(kind, "a", nil).ErrStatus}, true},
		"an object of another UID":       {apierrors.NewInvalid(kind, "a", at("metadata.uid")), false},
		"a bad request":                  {apierrors.NewBadRequest("what?"), true},
		"another owner's object":         {&apply.OwnershipConflictError{Kind: "Service", Name: "a"}, true},
		"unknown field":                  {&apply.SchemaError{Kind: "Service", Name: "a", Err: errors.New(".spec.a")}, true},
		"a conflict":                     {apierrors.NewConflict(deployments, "a", errors.New("changed")), false},
		"a quota, or missing permission": {apierrors.NewForbidden(deployments, "a", errors.New("exceeded quota")), false},
		"an object that is gone":         {apierrors.NewNotFound(deployments, "a"), false},
		"name already in use":            {apierrors.NewAlreadyExists(deployments, "a"), false},
		"internal server error":          {apierrors.NewInternalError(errors.New("webhook")), false},
		"too many requests":              {apierrors.NewTooManyRequests("wait", 1), false},
		"timeout":                        {context.DeadlineExceeded, false},
		"any other error":                {errors.New("connection refused"), false},
	} {
		t.Run(sentence, func(t *testing.T) {
			t.Parallel()
			if got := apply.IsTerminal(test.err); got != test.want {
				t.Errorf("%v: terminal is %v, want %v", test.err, got, test.want)
			}
			if test.err == nil {
				return
			}
			if wrapped := fmt.Errorf("applying: %w", test.err); apply.IsTerminal(wrapped) != test.want {
				t.Errorf("%v: terminal is not %v once it is wrapped", wrapped, test.want)
			}
		})
	}
}

func TestSchemaError_Unwraps(t *testing.T) {
	t.Parallel()
	cause := errors.New(".spec.a: field not declared in schema")
	err := &apply.SchemaError{Kind: "Service", Name: "cache", Err: cause}
	if want := "Service cache does not match its schema: .spec.a: field not declared in schema"; err.Error() != want || !errors.Is(err, cause) {
		t.Errorf("got %q, want %q", err, want)
	}
}

func TestNewObject_TypedOrUnstructured(t *testing.T) {
	t.Parallel()
	for sentence, test := range map[string]struct {
		kind schema.GroupVersionKind
		want string
	}{
		"is typed for a kind with a Go type":           {corev1.SchemeGroupVersion.WithKind("ConfigMap"), "*v1.ConfigMap"},
		"is unstructured for a kind without a Go type": {widgetKind, "*unstructured.Unstructured"},
		"rejects a list": {corev1.SchemeGroupVersion.WithKind("ConfigMapList"), ""},
	} {
		t.Run(sentence, func(t *testing.T) {
			t.Parallel()
			object, err := apply.NewObject(suite.scheme, test.kind)
			if test.want == "" {
				if err == nil {
					t.Errorf("got a %T", object)
				}
				return
			}
			testenv.NoError(t, err)
			if got := fmt.Sprintf("%T", object); got != test.want || object.GetObjectKind().GroupVersionKind() != test.kind {
				t.Errorf("got a %s of %s, want a %s", got, object.GetObjectKind().GroupVersionKind(), test.want)
			}
		})
	}
}
