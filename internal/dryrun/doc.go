// SPDX-License-Identifier: Apache-2.0

// Package dryrun asks an API server whether it accepts the objects of templates, by dry-runs that
// store nothing: a schedule, a name or a selector that only the API server checks would otherwise
// be rejected for every Memcached.
package dryrun
