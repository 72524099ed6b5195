// SPDX-License-Identifier: Apache-2.0

// Package reconcilers is the controller of Memcacheds:
//
//	observe ─► render ─► apply ─► prune ─► report
//
// Reconcile runs these five steps. observe.go reads the cache. The packages render, apply and
// status implement one step each and do not depend on the order of the others. statuswriter.go
// writes the status, once and only if it differs, and recorder.go writes logs, events and metrics.
//
// setup.go adds the controller to a manager, handlers.go maps watch events to requests, watches.go
// starts and stops the watches on the kinds of the templates, and cache.go limits what the cache
// holds. The package discovery finds out which optional kinds are available.
package reconcilers
