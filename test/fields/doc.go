// SPDX-License-Identifier: Apache-2.0

// Package fields walks the schema of a Memcached's spec property by property, into the
// types of Kubernetes too. Each property gets values that are valid, values at its
// bounds and values that must be refused, on a real API server; and each valid one
// must show in what the operator renders. So the test finds a property that is not wired.
package fields
