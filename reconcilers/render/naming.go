// SPDX-License-Identifier: Apache-2.0

package render

import "github.com/example/memcached-operator/reconcilers/render/template"

// mainName is the template name of the objects that take the name of the Memcached.
const mainName = "memcached"

// objectName returns the name of the object of a Memcached that is built from the
// template called name: the Memcached's own for the template memcached, otherwise
// <Memcached>-<name>, independent of other templates.
func objectName(memcached, name string) string {
	if name == mainName {
		return memcached
	}
	return memcached + "-" + name
}

// setNames sets the names of objects and the references between them. A reference that
// does not hold the name of its template was filled in, and is kept.
func setNames(objects []map[string]any, names template.Names, memcached string) {
	for _, r := range names.References {
		name := names.Objects[r.Target].Name
		if template.Lookup(objects[r.Object], r.Path) == name {
			template.SetAt(objects[r.Object], r.Path, objectName(memcached, name))
		}
	}
	for i, object := range objects {
		object["metadata"].(map[string]any)["name"] = objectName(memcached, names.Objects[i].Name)
	}
}
