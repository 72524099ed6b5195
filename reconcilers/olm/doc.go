// SPDX-License-Identifier: Apache-2.0

// Package olm reports to the Operator Lifecycle Manager (OLM) whether the operator can be upgraded: not
// while a Memcached is rolling out, for a bounded time.
//
// OLM creates an OperatorCondition for each version of the operator that it installs, sets its name in the
// environment variable OPERATOR_CONDITION_NAME, and grants the operator access to that object. Where one of
// these is missing the package does nothing.
package olm
