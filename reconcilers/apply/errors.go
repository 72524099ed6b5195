// SPDX-License-Identifier: Apache-2.0

package apply

import (
	"errors"
	"fmt"
	"slices"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/example/memcached-operator/reconcilers/sanitize"
)

// ForeignError says that an object of a needed name belongs to somebody else.
type ForeignError struct {
	Kind, Name string
	// Controller is "Kind name" of the object's controller, if it has one.
	Controller string
}

func (e *ForeignError) Error() string {
	if e.Controller == "" {
		return fmt.Sprintf("%s %s exists and was not made for this Memcached; delete or rename it, or rename the Memcached", e.Kind, e.Name)
	}
	return fmt.Sprintf("%s %s exists and is controlled by %s; delete or rename it, or rename the Memcached", e.Kind, e.Name, e.Controller)
}

// SchemaError says that a rendered object does not fit the schema of its kind.
type SchemaError struct {
	Kind, Name string
	// Err names the field.
	Err error
}

func (e *SchemaError) Error() string {
	return fmt.Sprintf("%s %s does not fit its schema: %v", e.Kind, e.Name, sanitize.Schema(e.Err))
}

func (e *SchemaError) Unwrap() error { return e.Err }

// IsTerminal tells whether trying again cannot help: the object itself was judged,
// by the server or by the schema, and not the moment.
func IsTerminal(err error) bool {
	var foreign *ForeignError
	var schema *SchemaError
	if errors.As(err, &foreign) || errors.As(err, &schema) {
		return true
	}
	return (apierrors.IsInvalid(err) || apierrors.IsBadRequest(err)) && !isReplaced(err)
}

// isReplaced tells whether err is the server's answer to an apply to an object whose
// name another one has taken: it calls the UID an invalid change.
func isReplaced(err error) bool {
	var status apierrors.APIStatus
	if !errors.As(err, &status) || status.Status().Details == nil {
		return false
	}
	return slices.ContainsFunc(status.Status().Details.Causes, func(cause metav1.StatusCause) bool {
		return cause.Field == "metadata.uid"
	})
}
