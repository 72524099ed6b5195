// SPDX-License-Identifier: Apache-2.0

//go:build e2e

// Package helm proves the Helm chart on real nodes: a release for all namespaces, from the install to what an uninstall
// keeps, and a release for one whose templates are edited, with real memcached answering. test/chart has both majors of
// Helm.
//
// A release for all namespaces has the cluster for itself: that test is not parallel, and Go runs it first.
//
// Besides what package cluster reads, E2E_PREVIOUS_CHART names the directory of the chart of the version
// before, whose image is E2E_PREVIOUS_IMAGE.
package helm
