// SPDX-License-Identifier: Apache-2.0

// Package transport wraps the HTTP transport of the operator's clients: requests have a
// time-out, reads wait for an API server that is down for a moment, and writes need a lease
// that was renewed in time.
package transport
