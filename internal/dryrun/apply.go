// SPDX-License-Identifier: Apache-2.0

package dryrun

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/example/memcached-operator/reconcilers/apply"
)

// Apply returns the API server's response to an apply of object that it does not store.
func Apply(ctx context.Context, api client.Client, object *unstructured.Unstructured) (*unstructured.Unstructured, error) {
	content, err := object.MarshalJSON()
	if err != nil {
		return nil, fmt.Errorf("encoding %s %s: %w", object.GetKind(), object.GetName(), err)
	}
	after := object.DeepCopy()
	err = api.Patch(ctx, after, client.RawPatch(types.ApplyPatchType, content), client.DryRunAll, client.ForceOwnership, client.FieldOwner(apply.FieldManager))
	return after, err
}

// refusal is an API server's answer that an object is rejected.
type refusal struct {
	// causes are the reasons, one for each field if the fields are known.
	causes []metav1.StatusCause
	// ofFields says that the object is invalid by the validation of its kind. Other refusals, such as
	// those of admission webhooks and policies, may be about the namespace or the name.
	ofFields bool
}

// refusalOf returns the refusal that err is. It reports false for other errors: the API server could
// not be asked, or not about this object.
func refusalOf(err error) (refusal, bool) {
	status, ok := errors.AsType[*apierrors.StatusError](err)
	if !ok {
		return refusal{}, false
	}
	details := status.Status().Details
	switch {
	case strings.Contains(err.Error(), "failed to create typed patch object"): // A field that this version does not know; code 500.
		return refusal{[]metav1.StatusCause{{Message: status.Error()}}, true}, true
	case apierrors.IsInvalid(err) && details != nil && len(details.Causes) > 0:
		if !slices.ContainsFunc(details.Causes, func(cause metav1.StatusCause) bool { return cause.Field == "" }) {
			return refusal{details.Causes, true}, true
		}
	case apierrors.IsForbidden(err), apierrors.IsUnauthorized(err), apierrors.IsNotFound(err), apierrors.IsTooManyRequests(err), apierrors.IsTimeout(err):
		return refusal{}, false
	case status.Status().Code >= http.StatusInternalServerError:
		return refusal{}, false
	}
	return refusal{causes: []metav1.StatusCause{{Message: status.Error()}}}, true
}
