// SPDX-License-Identifier: Apache-2.0

// Package fields walks the schema of a Memcached's spec property by property, into the
// types of Kubernetes too. Each property gets values that are valid, values at its
// bounds and values that must be refused, on a real API server; and each valid one
// must show in what the operator renders. So the test finds a property that is not wired.
//
// It also removes each property, item and entry from a live Memcached, and takes a random walk through the
// specs: the objects must then be those of a new Memcached with the same spec.
package fields
