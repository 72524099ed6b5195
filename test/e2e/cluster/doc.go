// SPDX-License-Identifier: Apache-2.0

//go:build e2e

// Package cluster is what the end-to-end tests stand on: a connection to the cluster
// that E2E_KUBECONFIG names, and what tests do there.
//
//   - [Connect] reads the environment and connects; a package's TestMain calls
//     [Operator.Install], runs the tests, and ends with [Operator.Finish], which uninstalls
//     and looks whether anything is left.
//   - [Cluster.NewNamespace] gives a test a namespace of its own. When the test fails, logs,
//     events and descriptions of what is in it go to E2E_ARTIFACTS/<test>.
//   - [Eventually], [Cluster.Until] and [Cluster.Ready] wait; each says what it waits
//     for and, when it waits in vain, what it saw last. [Cluster.WatchPods] sees every state
//     between.
//   - [Cluster.Cache] and [Cluster.Dial] talk to the memcached in a pod, [Cluster.Inside] is a
//     client within the cluster's network, [Cluster.Kubectl] is a user.
//   - [Cluster.Prometheus] is a Prometheus that reads the exporters' metrics; [Cluster.DefineMonitoring]
//     makes the kinds of its operator.
//   - [Operator] is an installed operator: its pods, its lease, its metrics.
//   - [ReadAudit] tells what an account asked of the API server, and what was refused.
//
// Nothing here knows how the cluster was made.
package cluster
