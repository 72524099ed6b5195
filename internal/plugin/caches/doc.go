// SPDX-License-Identifier: Apache-2.0

// Package caches reads Memcacheds, their pods, objects and Secrets from a cluster, with the permissions of the user. An
// error says which permission is missing, and what it is needed for.
package caches
