// SPDX-License-Identifier: Apache-2.0

// Package status computes the status of a Memcached from what a reconcile observed. It is pure: the
// time is an input, and the same observation gives the same status.
//
// The conditions follow kstatus. A chain of checks evaluates the observation and the first result
// wins; Ready, Reconciling and Stalled have its reason and message.
package status
