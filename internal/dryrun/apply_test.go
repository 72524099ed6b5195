// SPDX-License-Identifier: Apache-2.0

package dryrun

import (
	"errors"
	"fmt"
	"net/url"
	"syscall"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

func TestRefusalOf_TellsWhoRejects(t *testing.T) {
	t.Parallel()
	kind, resource := schema.GroupKind{Group: "batch", Kind: "CronJob"}, schema.GroupResource{Group: "batch", Resource: "cronjobs"}
	schedule := field.Invalid(field.NewPath("spec", "schedule"), "every day", "expected exactly 5 fields")
	name := field.Required(field.NewPath("spec", "jobTemplate"), "")
	policy := apierrors.NewInvalid(kind, "report", nil)
	policy.ErrStatus.Details.Causes = []metav1.StatusCause{{Message: "denied by a policy"}}
	unknownField := &apierrors.StatusError{ErrStatus: metav1.Status{Code: 500, Message: "failed to create typed patch object (a/b; batch/v1, Kind=CronJob): .spec.x: field not declared in schema"}}
	for sentence, test := range map[string]struct {
		err error
		// causes is the number of reasons; 0 if it is no refusal.
		causes   int
		ofFields bool
	}{
		"an invalid field":                 {apierrors.NewInvalid(kind, "report", field.ErrorList{schedule}), 1, true},
		"two invalid fields":               {fmt.Errorf("sending: %w", apierrors.NewInvalid(kind, "report", field.ErrorList{schedule, name})), 2, true},
		"a field that the server lacks":    {unknownField, 1, true},
		"a policy that answers as invalid": {policy, 1, false},
		"an invalid object without causes": {apierrors.NewInvalid(kind, "report", nil), 1, false},
		"a webhook that knows no dry-run":  {apierrors.NewBadRequest("admission webhook does not support dry run"), 1, false},
		"missing permission, or a quota":   {apierrors.NewForbidden(resource, "report", errors.New("exceeded quota")), 0, false},
		"an unknown user":                  {apierrors.NewUnauthorized("no"), 0, false},
		"a missing namespace":              {apierrors.NewNotFound(schema.GroupResource{Resource: "namespaces"}, "a"), 0, false},
		"too many requests":                {apierrors.NewTooManyRequests("wait", 1), 0, false},
		"a webhook that cannot be called":  {apierrors.NewInternalError(errors.New("failed calling webhook")), 0, false},
		"a server that is not available":   {apierrors.NewServiceUnavailable("starting"), 0, false},
		"an answer that comes too late":    {apierrors.NewTimeoutError("late", 1), 0, false},
		"no connection":                    {&url.Error{Op: "Patch", URL: "https://server/", Err: syscall.ECONNREFUSED}, 0, false},
	} {
		t.Run(sentence, func(t *testing.T) {
			t.Parallel()
			refused, ok := refusalOf(test.err)
			if ok != (test.causes > 0) || len(refused.causes) != test.causes || refused.ofFields != test.ofFields {
				t.Errorf("refusalOf returns %+v, %v", refused, ok)
			}
		})
	}
}
