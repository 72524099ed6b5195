// SPDX-License-Identifier: Apache-2.0

// Package render turns a Memcached and a tree of kustomize templates into the
// objects that should exist. It is pure: no client, no clock, no disk; the same
// Memcached gives the same bytes, whatever was rendered before.
//
//	Tree ──► New: checks files, types and names with the example that the tree holds
//	             │
//	             ├ prebuilt: one set of components, built from the example, with
//	             │   placeholders; verified against two full builds
//	             │
//	Memcached ──►┤ limits and guarded fields
//	             ├ input: the Memcached and Values, as plain maps
//	             ├ placeholders: a copy of the prebuilt objects, with the values of the input
//	             ├ metadata: names, namespace, owner reference, managed-by label
//	             └ spec.patches ──► objects
//
// A prebuilt is an optimization of one full kustomize build with the input as
// resources. Where copying values into place is not the same as such a build (an
// images transformer in the templates, say), every Memcached of that set of
// components takes a full build.
package render
