// SPDX-License-Identifier: Apache-2.0

package render

import (
	"fmt"
	"path"
	"regexp"
	"strings"

	"sigs.k8s.io/kustomize/api/krusty"
	"sigs.k8s.io/kustomize/api/resmap"
	"sigs.k8s.io/kustomize/api/types"
	"sigs.k8s.io/kustomize/kyaml/filesys"
)

// build runs kustomize once over tree with root as the top kustomization, in a
// file system of its own in memory. No plugin, no Helm, nothing outside the tree.
func build(tree Tree, root string) (result resmap.ResMap, err error) {
	// Kustomize panics on some malformed input; a bad template must not take the
	// operator down.
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
	builds.begin()
	defer builds.end()
	result, err = krusty.MakeKustomizer(&krusty.Options{
		Reorder:          krusty.ReorderOptionNone,
		LoadRestrictions: types.LoadRestrictionsRootOnly,
		PluginConfig:     types.DisabledPluginConfig(),
	}).Run(files, "/")
	if err != nil {
		return nil, shorten(err)
	}
	return result, nil
}

// trail matches the directories that kustomize says it came through.
var trail = regexp.MustCompile(`(?s)^.*(?:recursed accumulation of path|couldn't make target for path) '/([^']*)': (.*)$`)

// shorten cuts kustomize's account of its way down to the last directory.
func shorten(err error) error {
	parts := trail.FindStringSubmatch(err.Error())
	if parts == nil {
		return err
	}
	return fmt.Errorf("%s: %s", path.Join(parts[1], kustomizationFile), strings.ReplaceAll(strings.TrimSuffix(parts[2], `"`), `\"`, `"`))
}
