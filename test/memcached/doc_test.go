// SPDX-License-Identifier: Apache-2.0

// Package memcached_test runs the real memcached with what the templates render for it: the
// arguments, the environment, the mounted Secrets and the sidecars of a pod, without a cluster.
package memcached_test
