// SPDX-License-Identifier: Apache-2.0

//go:build e2e

// Package helm proves the Helm chart on real nodes, with both majors of Helm: releases for all namespaces and
// releases for some, from the install to what an uninstall keeps, with real memcached answering.
//
// A release for all namespaces has the cluster for itself: those tests are not parallel, and Go runs them
// first. Releases for some namespaces are tested beside each other.
//
// Besides what package cluster reads, E2E_PREVIOUS_CHART names the directory of the chart of the version
// before, whose image is E2E_PREVIOUS_IMAGE.
package helm
