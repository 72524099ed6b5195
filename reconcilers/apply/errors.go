// SPDX-License-Identifier: Apache-2.0

package apply

import (
	"errors"
	"fmt"
	"slices"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/example/memcached-operator/internal/sanitize"
)

// OwnershipConflictError reports that an object with the name of a rendered one has another owner.
type OwnershipConflictError struct {
	Kind, Name string
	// Controller is kind and name of the object's controller, if it has one.
	Controller string
}

func (e *OwnershipConflictError) Error() string {
	if e.Controller == "" {
		return fmt.Sprintf("%s %s exists and is not owned by this Memcached; delete or rename it, or rename the Memcached", e.Kind, e.Name)
	}
	return fmt.Sprintf("%s %s exists and is controlled by %s; delete or rename it, or rename the Memcached", e.Kind, e.Name, e.Controller)
}

// SchemaError reports that a rendered object does not match the schema of its kind.
type SchemaError struct {
	Kind, Name string
	// Err names the field.
	Err error
}

func (e *SchemaError) Error() string {
	return fmt.Sprintf("%s %s does not match its schema: %v", e.Kind, e.Name, sanitize.Schema(e.Err))
}

func (e *SchemaError) Unwrap() error { return e.Err }

// IsTerminal reports whether a retry cannot succeed: the object has another owner or is invalid.
func IsTerminal(err error) bool {
	var conflict *OwnershipConflictError
	var schema *SchemaError
	if errors.As(err, &conflict) || errors.As(err, &schema) {
		return true
	}
	return (apierrors.IsInvalid(err) || apierrors.IsBadRequest(err)) && !isReplaced(err)
}

// IsRace reports whether err says that another client changed, deleted or replaced the object between our look at it
// and our write. The next look has what that client wrote.
func IsRace(err error) bool { return apierrors.IsConflict(err) || isReplaced(err) }

// isReplaced reports whether err is the API server's response to an apply to an object that another
// one of its name has replaced: it reports the UID as an invalid change.
func isReplaced(err error) bool {
	return slices.ContainsFunc(causesOf(err), func(cause metav1.StatusCause) bool { return cause.Field == "metadata.uid" })
}
