// SPDX-License-Identifier: Apache-2.0

// Package preflight checks, before the manager starts, that the API server serves the kinds of
// the templates and that the operator has the permissions that it needs, and finds the kinds of
// which earlier templates left objects behind. An informer without permission would block the
// start for minutes; preflight returns an error that says what to change.
package preflight
