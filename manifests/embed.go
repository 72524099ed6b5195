// SPDX-License-Identifier: Apache-2.0

// Package manifests is the desired state of a Memcached, as YAML: kustomize
// templates that are embedded into the operator. README.md beside this file says
// how to edit them; nothing in Go needs to change when they do.
package manifests

import "embed"

// FS holds the directories base and components.
//
//go:embed all:base all:components
var FS embed.FS
