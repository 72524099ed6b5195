// SPDX-License-Identifier: Apache-2.0

// Package sanitize makes text that others wrote fit for conditions, events and logs.
//
// Specs, patches, the API server and the kubelet all contribute words to messages.
// Text escapes and truncates them; Error does the same for an error and drops the
// values that the API server and the schema check quote, since a patch may carry a
// password. Everything that leaves the operator passes through one of the two.
package sanitize
