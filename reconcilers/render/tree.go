// SPDX-License-Identifier: Apache-2.0

package render

import (
	"io/fs"

	"github.com/example/memcached-operator/reconcilers/render/template"
)

// Tree is a set of template files by path.
type Tree = template.Tree

// LoadTree reads layers, each of which overrides the ones before it, path by path.
func LoadTree(layers ...fs.FS) (Tree, error) { return template.LoadTree(layers...) }

type (
	// Problem is a mistake in a tree, or something that has no effect.
	Problem = template.Problem
	// Problems are sorted by file and line.
	Problems = template.Problems
)
