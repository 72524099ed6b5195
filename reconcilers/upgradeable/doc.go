// SPDX-License-Identifier: Apache-2.0

// Package upgradeable tells the Operator Lifecycle Manager (OLM) whether the operator
// may be upgraded now: not while a Memcached is in the middle of a roll-out, and for a
// bounded time only.
//
// OLM makes an OperatorCondition for each version of the operator that it installs,
// names it in the environment variable OPERATOR_CONDITION_NAME, and grants the
// operator to read and write that one object. Where any of these is missing there is
// nobody to tell, and the package keeps quiet.
package upgradeable
