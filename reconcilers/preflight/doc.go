// SPDX-License-Identifier: Apache-2.0

// Package preflight asks the API server, before anything starts, whether the
// operator can work there: is every kind of the templates served and namespaced,
// may it do what it needs, and which kinds hold leftovers of earlier templates. An
// informer that lacks permission would hang for minutes and say little; this says
// what to change.
package preflight
