// SPDX-License-Identifier: Apache-2.0

// Package manifests embeds the kustomize templates of a Memcached's objects. README.md in
// this directory describes how to edit them, which requires no change of Go code.
package manifests

import "embed"

// FS holds the directories base and components.
//
//go:embed all:base all:components
var FS embed.FS

// Validated is the digest of the templates that `go test ./reconcilers/render -run Golden -update` has validated last.
//
//go:embed validated.txt
var Validated string
