// SPDX-License-Identifier: Apache-2.0

package render

import (
	"fmt"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/example/memcached-operator/reconcilers/render/patch"
)

const (
	// maxSpecJSON is the maximum length of the spec of a Memcached as JSON, in bytes. The CRD
	// limits each field; this limits their sum, and what an older CRD accepted.
	maxSpecJSON = 64 << 10
	// maxObjectJSON is the maximum length of a rendered object as JSON, in bytes. The API
	// server and etcd accept about 1.5 MB; the operator holds many objects in memory. EndpointSlices, which are rendered from
	// pods, are not limited: with 1,000 of them they have up to 1 MB.
	maxObjectJSON = 256 << 10
)

// LimitError says that a spec, or an object rendered from it, exceeds a limit.
type LimitError = patch.LimitError

// checkSpec returns a LimitError when spec, the spec of a Memcached, exceeds maxSpecJSON.
func checkSpec(spec map[string]any) error {
	if size := patch.JSONSize(spec); size > maxSpecJSON {
		return &LimitError{Message: fmt.Sprintf("spec has %d bytes as JSON, which is more than the maximum of %d; shorten it", size, maxSpecJSON)}
	}
	return nil
}

// checkSizes returns a LimitError when one of the rendered objects is too large.
func checkSizes(objects []*unstructured.Unstructured) error {
	for _, object := range objects {
		if size := patch.JSONSize(object.Object); size > maxObjectJSON && object.GetKind() != "EndpointSlice" {
			return &LimitError{Message: fmt.Sprintf("%s %s has %d bytes as JSON, which is more than the maximum of %d; shorten the fields of the spec that it is rendered from",
				object.GetKind(), object.GetName(), size, maxObjectJSON)}
		}
	}
	return nil
}
