// SPDX-License-Identifier: Apache-2.0

package render

import (
	"fmt"

	cachev1alpha1 "github.com/example/memcached-operator/apis/v1alpha1"
)

// PrivilegedFieldError says that a Memcached sets a field by which its author can do
// more than the plain templates, while the operator runs without
// --allow-privileged-fields.
type PrivilegedFieldError struct {
	// Field is the path of the field, such as spec.patches.
	Field string
}

// Error implements error.
func (e *PrivilegedFieldError) Error() string {
	return fmt.Sprintf("%s is off, since it can do more than the plain templates: an administrator turns it on by --allow-privileged-fields, together with the ValidatingAdmissionPolicy that guards it", e.Field)
}

// checkPrivileged refuses the privileged fields of mc unless they are allowed:
// those that name Secrets or a service account, which the operator would hand to
// pods that mc's author controls, and patches.
func (d Defaults) checkPrivileged(mc *cachev1alpha1.Memcached) error {
	if d.AllowPrivilegedFields {
		return nil
	}
	spec := &mc.Spec
	for _, f := range []struct {
		field string
		set   bool
	}{
		{"spec.patches", len(spec.Patches) > 0},
		{"spec.serviceAccountName", spec.ServiceAccountName != nil},
		{"spec.imagePullSecrets", len(spec.ImagePullSecrets) > 0},
		{"spec.tls", spec.TLS != nil},
		{"spec.auth", spec.Auth != nil},
	} {
		if f.set {
			return &PrivilegedFieldError{f.field}
		}
	}
	return nil
}
