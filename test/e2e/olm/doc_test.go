// SPDX-License-Identifier: Apache-2.0

//go:build e2e

// Package olm has the tests by which the Operator Lifecycle Manager, the real one, installs
// the operator from a catalog, upgrades it, holds an upgrade back and removes it.
//
// `make e2e-olm` runs them. They want a cluster with OLM in the namespace olm, two catalogs of
// the operator, and nothing of the operator:
//
//   - E2E_OLM_CATALOG_OLD: the image of a catalog that holds version 0.0.1.
//   - E2E_OLM_CATALOG_NEW: the image of one that holds 0.0.2 as well.
//
// A test works in namespaces of its own, which are the OperatorGroup's, so tests run beside each
// other; those for all namespaces run alone, before.
package olm
