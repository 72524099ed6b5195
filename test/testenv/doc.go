// SPDX-License-Identifier: Apache-2.0

// Package testenv runs the operator's binary for tests: it builds it, writes a kubeconfig for
// it, starts it as a process, reads its log and ends it.
package testenv
