// SPDX-License-Identifier: Apache-2.0

package render

import "github.com/example/memcached-operator/reconcilers/render/template"

// objectName returns the name of the object of a Memcached that is built from the
// template called name: the Memcached's own for the template memcached, otherwise
// <Memcached>-<name>, independent of other templates.
func objectName(memcached, name string) string {
	if name == template.MainName {
		return memcached
	}
	return memcached + "-" + name
}
