// SPDX-License-Identifier: Apache-2.0

// Package validation admits Memcacheds without an API server: it decodes strictly, sets the defaults of the
// CustomResourceDefinition, and checks its schema and its rules with the packages that the API server uses, so that the
// messages are the same. Admission policies and webhooks of a cluster are not part of it.
//
// The running operator must not create a Validator: the compiled rules take tens of megabytes.
package validation
