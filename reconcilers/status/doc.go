// SPDX-License-Identifier: Apache-2.0

// Package status turns what was observed of a Memcached into its status. It is
// pure: the time is an input, and the same observation gives the same status.
//
// The conditions follow kstatus. One verdict is found by a chain of checks, the
// first that has something to say wins; Ready, Reconciling and Stalled all follow
// from it.
package status
