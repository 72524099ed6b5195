// SPDX-License-Identifier: Apache-2.0

//go:build e2e

// Package e2e proves the operator on a real cluster: installed from the one file that
// users apply, with real kubelets and real memcached answering. `make e2e` runs it, on
// a cluster that it makes, or on the one that E2E_KUBECONFIG names.
//
// A test has a namespace of its own and runs beside the others (parallel). A test that
// is not parallel disturbs all: it stops the operator, changes it, or drains a node.
// Go runs those first, one after the other.
package e2e
