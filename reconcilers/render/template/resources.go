// SPDX-License-Identifier: Apache-2.0

package template

import (
	"errors"
	"maps"
	"path"
	"slices"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/kustomize/kyaml/resid"
)

// resourceIDs returns the identities of all objects in the files and of those that are
// generated, including objects that a patch removes.
func (p parsed) resourceIDs() ([]resid.ResId, error) {
	var ids []resid.ResId
	err := p.forEachResource(func(_ string, id resid.ResId, _ bool) { ids = append(ids, id) })
	return ids, err
}

// files returns the file of each object, and the first file of each kind.
func (p parsed) files() (map[ObjectID]string, map[schema.GroupVersionKind]string, error) {
	files, first := map[ObjectID]string{}, map[schema.GroupVersionKind]string{}
	err := p.forEachResource(func(file string, id resid.ResId, isEmitted bool) {
		kind := schema.GroupVersionKind{Group: id.Group, Version: id.Version, Kind: id.Kind}
		files[ObjectID{kind.GroupVersion().String(), id.Kind, id.Name}] = file
		if isEmitted && first[kind] == "" {
			first[kind] = file
		}
	})
	return files, first, err
}

// forEachResource calls visit for the objects in the files, and for those that are
// generated, whose file is the kustomization.
func (p parsed) forEachResource(visit func(file string, id resid.ResId, isEmitted bool)) error {
	for _, dir := range slices.Sorted(maps.Keys(p.kustomizations)) {
		k := p.kustomizations[dir]
		for _, target := range k.Resources {
			name := path.Join(dir, target)
			documents, err := readDocuments(p.tree[name])
			if err != nil {
				return In(name, "", err)
			}
			for _, document := range documents {
				object := &unstructured.Unstructured{Object: document}
				for _, id := range resourceIDsOf(object) {
					if id.Version == "" || id.Kind == "" || id.Name == "" {
						return In(name, "", errors.New("an object lacks apiVersion, kind or metadata.name"))
					}
					visit(name, id, object.GetAnnotations()[LocalConfigAnnotation] == "")
				}
			}
		}
		for _, generator := range k.ConfigMapGenerator {
			visit(path.Join(dir, kustomizationFile), resid.NewResId(resid.Gvk{Version: "v1", Kind: "ConfigMap"}, generator.Name), true)
		}
	}
	return nil
}

// resourceIDsOf returns the identity of object, or those of its items if it is a list.
func resourceIDsOf(object *unstructured.Unstructured) []resid.ResId {
	if !object.IsList() {
		kind := object.GroupVersionKind()
		return []resid.ResId{resid.NewResId(resid.NewGvk(kind.Group, kind.Version, kind.Kind), object.GetName())}
	}
	var ids []resid.ResId
	items, _ := object.Object["items"].([]any)
	for _, item := range items {
		if fields, ok := item.(map[string]any); ok {
			ids = append(ids, resourceIDsOf(&unstructured.Unstructured{Object: fields})...)
		}
	}
	return ids
}
