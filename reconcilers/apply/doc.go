// SPDX-License-Identifier: Apache-2.0

// Package apply makes rendered objects so on the API server: it skips what already
// holds, applies the rest by server-side apply, takes over what the owner already
// controls, leaves alone what belongs to others, and prunes what is no longer
// rendered.
//
// What holds is known without asking the server: the object in the cache carries,
// in managedFields, the set of fields that our manager applied. An object holds
// when that set is the set of fields of the rendered one and the values at those
// fields are the same. Nothing has to be remembered for it, so an operator that was
// restarted writes nothing.
package apply
