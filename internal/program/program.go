// SPDX-License-Identifier: Apache-2.0

// Package program is the program memcached-operator but for its main function, so that a test binary can run it too.
package program

import (
	"fmt"
	"os"

	ctrl "sigs.k8s.io/controller-runtime"

	"github.com/example/memcached-operator/internal/command"
	"github.com/example/memcached-operator/internal/operator"
)

// Main runs the program with the command-line arguments args, a subcommand or else the operator, and returns its exit
// status. version is the program's own. It can be called once in a process, since it handles signals.
func Main(args []string, version string) int {
	ctx := ctrl.SetupSignalHandler()
	if len(args) == 1 && args[0] == "version" {
		args = []string{"--version"}
	}
	if command.Is(args) {
		return command.Run(ctx, args, command.Streams{In: os.Stdin, Out: os.Stdout, Err: os.Stderr, Getenv: os.Getenv})
	}
	if err := operator.Run(ctx, args, version); err != nil {
		fmt.Fprintf(os.Stderr, "memcached-operator: %v\n", err)
		return 1
	}
	return 0
}
