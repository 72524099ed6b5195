// SPDX-License-Identifier: Apache-2.0

// Package template builds objects from a tree of kustomize templates and the values of
// an [Input]: a Memcached and the Values computed from it. It is pure: no client, no
// clock, no disk. It knows nothing of owners and namespaces, which package render sets.
//
//	Tree ──► Parse: kustomizations, files and replacements, checked
//	            │
//	            ├ Validate: builds a set of components from the example; checks the objects
//	            │
//	            └ Set: builds a set of components without its replacements; compared with two
//	                 full builds
//	                        │
//	Input ──────────────────┴► Set.Objects: the replacements run on copies of the built objects
//
// That is an optimization of one full kustomize build with the input as resources. Where
// the result could differ (a patch that changes a value which a replacement filled in, for
// example), every input of that set of components takes a full build.
package template
