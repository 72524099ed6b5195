// SPDX-License-Identifier: Apache-2.0

// Package crd holds the CustomResourceDefinition of Memcacheds as it is generated, so
// that the operator knows the bounds which admission checks.
package crd

import _ "embed"

// Memcacheds is the CustomResourceDefinition, as YAML.
//
//go:embed bases/cache.example.com_memcacheds.yaml
var Memcacheds []byte
