// SPDX-License-Identifier: Apache-2.0

// Package render renders a Memcached and a tree of kustomize templates into the desired
// objects. It is pure: no client, no clock, no disk; the same Memcached renders to the same
// bytes, independent of other Memcacheds.
//
//	Tree ──► New: template.Parse and validation of the components
//	             │
//	Memcached ──►┤ guarded fields and limits
//	             ├ input: the Memcached and Values, as plain maps
//	             ├ sets: the set of the components that the input enables
//	             ├ template.Set.Objects: the objects with the values of the input
//	             ├ metadata: namespace, owner reference, managed-by label
//	             └ patches: spec.patches ──► objects
//
// Package template builds the objects; it does not import this package.
package render
