// SPDX-License-Identifier: Apache-2.0

// Package stats asks many memcacheds at the same time, and computes figures from their statistics.
package stats
