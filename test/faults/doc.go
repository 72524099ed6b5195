// SPDX-License-Identifier: Apache-2.0

// Package faults holds the fault suite: it runs the operator's binary behind a proxy against a
// real control plane with controllers and a simulated node, injects crashes, stale caches,
// missed events, failing requests, outages and stopped leaders, and compares the result
// with an undisturbed run. Its tests have the build tag faults; -short selects the short form.
//
// A goal is a test: it records a figure, and the suite ends with a table of goal, figure and
// result.
package faults
