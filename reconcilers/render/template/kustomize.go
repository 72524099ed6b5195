// SPDX-License-Identifier: Apache-2.0

package template

import (
	"fmt"
	"maps"
	"sync"

	"sigs.k8s.io/kustomize/api/krusty"
	"sigs.k8s.io/kustomize/api/resmap"
	"sigs.k8s.io/kustomize/api/types"
	"sigs.k8s.io/kustomize/kyaml/filesys"
	"sigs.k8s.io/kustomize/kyaml/openapi"
	kyaml "sigs.k8s.io/kustomize/kyaml/yaml"
)

// Build runs kustomize over tree with kustomization on top and returns the objects. It
// is the oracle of the tests.
func Build(tree Tree, kustomization string) ([]map[string]any, error) {
	built, err := build(tree, kustomization)
	if err != nil {
		return nil, err
	}
	return toObjects(built.ToRNodeSlice())
}

// buildWith runs kustomize over tree with in as resources that are not emitted.
func buildWith(tree Tree, in Input, kustomization string) ([]*kyaml.RNode, error) {
	tree = maps.Clone(tree)
	if err := in.addTo(tree); err != nil {
		return nil, err
	}
	built, err := build(tree, kustomization)
	if err != nil {
		return nil, err
	}
	return built.ToRNodeSlice(), nil
}

// loadSchema parses kustomize's OpenAPI schema, which is global to the process, so that concurrent builds only read it.
// It takes some 4 MiB.
var loadSchema = sync.OnceFunc(func() { openapi.Schema() })

// build runs kustomize over tree with root as the top kustomization, in a file system of
// its own in memory, without plugins, Helm and files outside of the tree.
func build(tree Tree, root string) (result resmap.ResMap, err error) {
	// Kustomize panics on some malformed input, which must not end the operator.
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("kustomize panicked: %v", p)
		}
	}()
	files := filesys.MakeFsInMemory()
	for name, content := range tree {
		if err := files.WriteFile("/"+name, content); err != nil {
			return nil, fmt.Errorf("%s: %w", name, err)
		}
	}
	if err := files.WriteFile("/"+kustomizationFile, []byte(root)); err != nil {
		return nil, err
	}
	loadSchema()
	result, err = krusty.MakeKustomizer(&krusty.Options{
		Reorder:          krusty.ReorderOptionNone,
		LoadRestrictions: types.LoadRestrictionsRootOnly,
		PluginConfig:     types.DisabledPluginConfig(),
	}).Run(files, "/")
	if err != nil {
		return nil, readableBuildError(err)
	}
	return result, nil
}
