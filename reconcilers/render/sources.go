// SPDX-License-Identifier: Apache-2.0

package render

import (
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/example/memcached-operator/reconcilers/render/template"
)

// FileOf returns the template file of object, which was rendered for the Memcached called memcached.
func (r *Renderer) FileOf(memcached string, object *unstructured.Unstructured) string {
	name := mainName
	if object.GetName() != memcached {
		name = strings.TrimPrefix(object.GetName(), memcached+"-")
	}
	return r.templates.File(template.ObjectID{APIVersion: object.GetAPIVersion(), Kind: object.GetKind(), Name: name})
}
