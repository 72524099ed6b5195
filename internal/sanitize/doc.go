// SPDX-License-Identifier: Apache-2.0

// Package sanitize makes text from specs, patches, the API server and the kubelet safe for conditions, events and
// logs.
//
// Text escapes and truncates. Error does the same for the message of an error, and removes the values that the
// API server and the schema check quote, since a patch may contain a password. Every message of the operator
// passes through one of the two.
package sanitize
