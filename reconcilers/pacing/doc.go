// SPDX-License-Identifier: Apache-2.0

// Package pacing limits how many Memcacheds replace their pods at the same time because the templates or the
// operator changed.
//
// All state is derived from the cluster: after a start the Limiter waits until each Memcached has been
// reconciled once, and then knows which ones wait, and which ones a predecessor had let begin.
package pacing
