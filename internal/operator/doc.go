// SPDX-License-Identifier: Apache-2.0

// Package operator is the operator's program: it parses the flags and environment variables,
// sets up logging, the memory limits and the metrics server, and runs the manager with the
// controllers.
package operator
