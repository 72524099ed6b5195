// SPDX-License-Identifier: Apache-2.0

// Package render turns a Memcached and a tree of kustomize templates into the
// objects that should exist. It is pure: no client, no clock, no disk; the same
// input gives the same bytes.
//
//	Tree ──► New: checked, typed, every component tried
//	             │
//	Memcached ──►┤ input: the custom resource and Values, as two resources
//	             ├ plan: one kustomize build for each set of components, replacements held back
//	             ├ fill: copy the plan, run the replacements with this input
//	             └ finish: names, namespace, owner, managed-by ──► objects
//
// A plan is an optimisation of one whole kustomize build with the inputs as
// resources, and it proves itself: when a plan is made, it is compared with whole
// builds of the input at hand and of one in which every value differs. Where they
// disagree (a patch that overrides a replaced field, say), that set of components
// is rendered by whole builds from then on: slower, and right.
package render
