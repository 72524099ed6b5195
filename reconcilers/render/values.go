// SPDX-License-Identifier: Apache-2.0

package render

import (
	cachev1alpha1 "github.com/example/memcached-operator/apis/v1alpha1"
)

// Values is what the templates need and YAML cannot compute. It stands beside the
// Memcached as a resource of kind Values, so that replacements can read it; a
// field that is empty is absent, and a component of the field's name is on when
// it is present. It is the only place in Go that knows values of the workload.
type Values struct {
	// Image is the memcached image: spec.image, else Defaults.Image. Empty leaves
	// the one in the template.
	Image string `json:"image,omitempty"`
}

// Defaults are the values that the operator's environment gives where a Memcached
// says nothing. The zero value leaves everything to the templates.
type Defaults struct {
	// Image is the memcached image, from RELATED_IMAGE_MEMCACHED.
	Image string
}

func (d Defaults) valuesFor(mc *cachev1alpha1.Memcached) Values {
	image := d.Image
	if mc.Spec.Image != nil && *mc.Spec.Image != "" {
		image = *mc.Spec.Image
	}
	return Values{Image: image}
}
