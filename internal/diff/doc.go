// SPDX-License-Identifier: Apache-2.0

// Package diff compares the objects that templates render for the Memcacheds of a cluster with the live
// ones, and reports which pods an apply would replace. It writes nothing.
//
//	Cluster.List ──► Memcacheds and the objects that they control
//	                     │
//	                     ├ Compare: render, and merge each object with the live one (merge.go)
//	                     ├ Replacement: the pod templates that differ (replacement.go)
//	                     └ Print: unified diffs and the summary (print.go)
package diff
