// SPDX-License-Identifier: Apache-2.0

// Command memcached-operator is a Kubernetes operator for memcached: it renders its kustomize
// templates from each Memcached, applies the objects and reports their status. Subcommands
// preview what it would apply.
package main

import (
	"fmt"
	"os"

	ctrl "sigs.k8s.io/controller-runtime"

	"github.com/example/memcached-operator/internal/command"
	"github.com/example/memcached-operator/internal/operator"
)

// version is set by -ldflags when the operator is built.
var version = "devel"

func main() {
	if command.Is(os.Args[1:]) {
		streams := command.Streams{In: os.Stdin, Out: os.Stdout, Err: os.Stderr, Getenv: os.Getenv}
		os.Exit(command.Run(ctrl.SetupSignalHandler(), os.Args[1:], streams))
	}
	if err := operator.Run(ctrl.SetupSignalHandler(), os.Args[1:], version); err != nil {
		fmt.Fprintf(os.Stderr, "memcached-operator: %v\n", err)
		os.Exit(1)
	}
}
