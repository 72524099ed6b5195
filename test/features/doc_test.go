// SPDX-License-Identifier: Apache-2.0

// Package features tests every feature of a Memcached on a real API server, with the
// operator at work: what it writes when the feature comes, changes and goes, that it
// leaves alone what belongs to others, and that the samples and the golden files hold
// every feature.
//
// The Memcacheds have no pods, so that nothing but a feature changes their objects.
package features
