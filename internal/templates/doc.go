// SPDX-License-Identifier: Apache-2.0

// Package templates loads the templates and creates the renderer, from the flags and the environment that the operator and
// the commands share.
package templates
