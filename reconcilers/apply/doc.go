// SPDX-License-Identifier: Apache-2.0

// Package apply applies rendered objects to the API server by server-side apply. It skips unchanged
// objects, adopts objects that the owner already controls, reports objects of other owners as conflicts,
// and prunes objects that are no longer rendered.
//
// Applier.Apply is the entry; apply.go has the steps for one object. Whether an object needs an apply is
// decided without a request (drift.go): the object in the cache has, in place of managedFields, a digest of
// the fields that our field manager applied and of their values, and it is compared with the digest of the
// rendered object. Nothing else has to be stored, so that an operator writes nothing after a restart.
package apply
