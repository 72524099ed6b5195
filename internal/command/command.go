// SPDX-License-Identifier: Apache-2.0

// Package command runs the subcommands of the program. Without a subcommand the program is the operator: package operator.
package command

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"

	"github.com/spf13/cobra"
)

// The exit codes of a command.
const (
	exitOK = 0
	// exitRejected says that an input was read and is wrong, and the messages say which; or, of diff, that
	// something differs.
	exitRejected = 1
	// exitUsage says that the command could not do its work: a wrong flag, or input or templates that cannot be read.
	exitUsage = 2
)

// errRejected is returned by a command that has already printed what is wrong.
var errRejected = errors.New("some input is rejected")

// Streams are the standard streams of a command, and its environment.
type Streams struct {
	In       io.Reader
	Out, Err io.Writer
	// Getenv returns an environment variable.
	Getenv func(string) string
}

// Is reports whether the command-line arguments args name a subcommand. The operator itself takes flags only.
func Is(args []string) bool {
	return len(args) > 0 && slices.Contains([]string{"render", "check", "diff", "exporter"}, args[0])
}

// IsPrinted reports whether err is that of a command which has already printed what is wrong, or what differs.
func IsPrinted(err error) bool { return errors.Is(err, errRejected) || errors.Is(err, errDiffers) }

// Run runs the subcommand that args name and returns the exit code.
func Run(ctx context.Context, args []string, streams Streams) int {
	root := &cobra.Command{Use: "memcached-operator", SilenceErrors: true, SilenceUsage: true}
	root.CompletionOptions.DisableDefaultCmd = true
	root.AddCommand(NewRenderCommand(streams, root.Name()), newCheckCommand(streams), NewDiffCommand(streams, root.Name()),
		newExporterCommand(streams))
	root.SetArgs(args)
	root.SetIn(streams.In)
	root.SetOut(streams.Out)
	root.SetErr(streams.Err)
	err := root.ExecuteContext(ctx)
	switch {
	case err == nil:
		return exitOK
	case IsPrinted(err):
		return exitRejected
	default:
		_, _ = fmt.Fprintf(streams.Err, "memcached-operator %s: %v\n", args[0], err)
		return exitUsage
	}
}
