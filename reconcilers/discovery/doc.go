// SPDX-License-Identifier: Apache-2.0

// Package discovery finds out which optional kinds of the templates the API server serves,
// such as ServiceMonitor, and whether it is OpenShift's. A Watcher asks when the operator
// starts, at a regular interval, and soon after a write has shown that a kind is no longer
// served. It starts and stops the watches on these kinds accordingly.
package discovery
