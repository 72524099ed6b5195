// SPDX-License-Identifier: Apache-2.0

package plugin

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/spf13/cobra"
	"k8s.io/cli-runtime/pkg/printers"

	"github.com/example/memcached-operator/internal/command"
	"github.com/example/memcached-operator/internal/plugin/stats"
)

// The exit codes of a command.
const (
	exitOK = 0
	// exitIncomplete says that something could not be shown, and the messages say what; or, of where, that no pod has the key.
	exitIncomplete = 1
	// exitFailed says that a flag is wrong, or that the cluster cannot be read.
	exitFailed = 2
)

// errIncomplete is returned by a command that has already printed what is missing.
var errIncomplete = errors.New("the output is incomplete")

const longText = `Show Memcacheds of the memcached operator and ask their pods, with your permissions: through port-forward, with TLS and
the password of the Secrets that a Memcached names.

Exit codes, where a command says nothing else:
  0  everything is shown
  1  something is not shown, such as a pod that does not answer; the rest is
  2  a flag is wrong, or the cluster cannot be read`

// program is what the commands share.
type program struct {
	streams command.Streams
	// dial connects to pods; nil is a port-forward.
	dial stats.DialFunc
}

// Run runs the command that args name and returns the exit code.
func Run(ctx context.Context, args []string, version string, streams command.Streams) int {
	return (&program{streams: streams}).run(ctx, args, version)
}

func (p *program) run(ctx context.Context, args []string, version string) int {
	root := &cobra.Command{
		Use:           "kubectl-memcached",
		Short:         "Show Memcacheds and ask their pods",
		Long:          longText,
		Version:       version,
		Annotations:   map[string]string{cobra.CommandDisplayNameAnnotation: "kubectl memcached"},
		SilenceErrors: true,
		SilenceUsage:  true,
	}
	root.AddCommand(p.newStatusCommand(), p.newTopCommand(), p.newServersCommand(), p.newWhereCommand(), p.newFlushCommand(), p.newAdviseCommand(), p.newDoctorCommand(),
		command.NewRenderCommand(p.streams, root.DisplayName()), command.NewDiffCommand(p.streams, root.DisplayName()), p.newVersionCommand(version))
	root.SetArgs(args)
	root.SetIn(p.streams.In)
	root.SetOut(p.streams.Out)
	root.SetErr(p.streams.Err)
	called, err := root.ExecuteContextC(ctx)
	switch {
	case err == nil:
		return exitOK
	case errors.Is(err, errIncomplete), command.IsPrinted(err):
		return exitIncomplete
	default:
		p.printError(called, err)
		return exitFailed
	}
}

func (p *program) newVersionCommand(version string) *cobra.Command {
	return &cobra.Command{
		Use:   "version",
		Short: "Print the version of the plugin",
		Args:  atMost(0),
		RunE: func(cmd *cobra.Command, _ []string) error {
			_, err := fmt.Fprintf(p.streams.Out, "%s version %s\n", cmd.Root().DisplayName(), version)
			return err
		},
	}
}

// atMost returns a check of the number of arguments, which usage names.
func atMost(count int) cobra.PositionalArgs {
	return func(cmd *cobra.Command, args []string) error {
		if len(args) > count {
			return fmt.Errorf("unexpected argument %q: the usage is %s", args[count], cmd.UseLine())
		}
		return nil
	}
}

// printError prints an error, a line for each that it joins.
func (p *program) printError(called *cobra.Command, err error) {
	for line := range strings.Lines(err.Error()) {
		_, _ = fmt.Fprintf(p.streams.Err, "%s: %s\n", called.CommandPath(), printers.EscapeTerminal(strings.TrimSuffix(line, "\n")))
	}
}
