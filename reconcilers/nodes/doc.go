// SPDX-License-Identifier: Apache-2.0

// Package nodes decides which memcached pod holds which stable name. It is pure: what it is given is observed, and the names
// that pods hold are remembered in the EndpointSlices that are rendered from its result.
package nodes
