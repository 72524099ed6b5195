// SPDX-License-Identifier: Apache-2.0

// Package proxy runs a reverse proxy between the operator and the API server that records
// requests and injects faults: hooks before and after each write, frozen watches, watch events
// that are hidden, lists of an earlier resource version, failing requests and outages.
//
// It speaks HTTP/1.1 and asks the API server for JSON, so that it can read bodies and watch
// events; credentials pass through it unchanged.
package proxy
