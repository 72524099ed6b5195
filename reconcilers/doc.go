// SPDX-License-Identifier: Apache-2.0

// Package reconcilers is the loop that brings a Memcached about:
//
//	observe ─► render ─► apply ─► prune ─► report
//
// Reconcile is those five steps in a row. observe reads the cache; the packages
// render, apply and status do one step each and know nothing of one another's
// neighbours; report writes the status, once, and only when it differs. What is
// watched and how much of it is cached is in cache.go and watches.go, and follows
// from the kinds that the templates hold. optional.go looks for those of them that an
// API server need not serve, and for OpenShift.
package reconcilers
