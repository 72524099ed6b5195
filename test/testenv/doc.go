// SPDX-License-Identifier: Apache-2.0

// Package testenv is the test kit: what tests against a real API server share.
//
//   - Main and New start an Env, a control plane with the CRD installed and, on request, the
//     operator's identity and its binary: Main once for a package, New for one test.
//   - Env creates namespaces and Memcacheds, and reads and changes objects.
//   - Eventually and Within poll a condition; tests do not sleep.
//   - StartManager runs the operator in the test's process, StartBinary as a process of its own.
//   - Recorder records the requests that go over a client's transport.
package testenv
