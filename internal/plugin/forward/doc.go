// SPDX-License-Identifier: Apache-2.0

// Package forward connects to ports of pods through the API server, as kubectl port-forward does, but without a port of
// this machine that other users of it could connect to.
package forward
