// SPDX-License-Identifier: Apache-2.0

// Package template builds objects from a tree of kustomize templates and the values of
// an [Input]: a Memcached and the Values computed from it. It is pure: no client, no
// clock, no disk. It knows nothing of owners, namespaces or the final names of objects,
// which package render sets.
//
//	Tree ──► Parse: kustomizations, files and replacements, checked
//	            │
//	            ├ Validate: builds a set of components from the example; checks the objects
//	            │
//	            └ Prebuild: builds a set of components from the example, with placeholders
//	                 in place of the values that replacements read; verified against two
//	                 full builds
//	                        │
//	Input ──────────────────┴► Prebuilt.Objects: copies of the prebuilt objects, with the
//	                             values of the input in place of the placeholders
//
// A prebuilt is an optimization of one full kustomize build with the input as
// resources. Where copying values into place can differ from such a build (an images
// transformer in the templates, for example), every input of that set of components
// takes a full build.
package template
