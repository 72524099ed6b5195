// SPDX-License-Identifier: Apache-2.0

// Package exporter serves the metrics of a memcached that requires TLS or a user, in the sidecar of its pod.
//
// The metrics are those of prometheus/memcached_exporter, used as a library, which can neither log in nor present a renewed
// certificate. So it speaks plain text with a relay, whose connections to memcached have TLS and are logged in (relay.go).
// The relay listens on an abstract Unix socket: a port on the loopback interface would be open to whoever may forward
// ports to the pod, without the password.
package exporter
