// SPDX-License-Identifier: Apache-2.0

// Command svg draws the pictures of the documentation, without tools from elsewhere:
//
//	svg dataflow docs/images/dataflow.yaml > docs/images/dataflow.svg
//	svg recording demo.log > docs/images/demo.svg
//
// A recording is the output of a command, one line a row, each with the seconds since its start and a
// tab before it. hack/record.sh makes one of `make demo`.
package main
