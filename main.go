// SPDX-License-Identifier: Apache-2.0

// Command memcached-operator is a Kubernetes operator for memcached: it renders its kustomize
// templates from each Memcached, applies the objects and reports their status. Subcommands
// preview what it would apply.
package main

import (
	"os"

	"github.com/example/memcached-operator/internal/program"
)

// version is set by -ldflags when the operator is built.
var version = "devel"

func main() { os.Exit(program.Main(os.Args[1:], version)) }
