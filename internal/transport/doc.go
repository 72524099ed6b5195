// SPDX-License-Identifier: Apache-2.0

// Package transport wraps the HTTP transport of the operator's clients. It limits the duration of requests,
// retries reads while the API server cannot be reached, and rejects writes when the leader election lease was
// not renewed in time.
package transport
