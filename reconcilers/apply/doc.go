// SPDX-License-Identifier: Apache-2.0

// Package apply applies rendered objects to the API server by server-side apply. It skips unchanged
// objects, adopts objects that the owner already controls, reports objects of other owners as conflicts,
// and prunes objects that are no longer rendered.
//
// Applier.Apply is the entry; apply.go has the steps for one object. Whether an object needs an apply is
// decided without a request (digest.go): the object in the cache has, in place of managedFields, a digest of an annotation
// with the hash of what was applied and of the fields that are ours by managedFields. It is compared with the digest that the
// rendered object will have. Both are on the object, so that an operator writes nothing after a restart. compare.go tells which
// fields differ, for messages; contention.go delays what others undo each time.
package apply
