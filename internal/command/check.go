// SPDX-License-Identifier: Apache-2.0

package command

import (
	"cmp"
	"context"
	"flag"
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"github.com/example/memcached-operator/internal/templates"
	"github.com/example/memcached-operator/reconcilers/render"
)

const checkLong = `Check runs the checks of the operator's start on the templates, and prints all mistakes, each with file, line and field, and
warnings of what has no effect: files that no kustomization lists, unknown directories, and constants that a replacement
overwrites. It needs no cluster. The operator does not start with mistakes, and starts with what is warned of.

With --server it also sends the objects of the example Memcached to an API server, and those of a few Memcacheds of the
namespace, as dry-runs, which store nothing, and prints what the API server rejects. It needs permission to list
Memcacheds, and to patch and create the kinds of the templates.

Exit codes:
  0  the templates are valid; there may be warnings
  1  the templates have mistakes, or the API server rejects their objects
  2  a flag is wrong, the templates cannot be read, or the API server cannot be asked about all objects`

const checkExample = `  memcached-operator check --manifests-dir=my-templates
  memcached-operator check --helm-values=values.yaml --server`

// checkOptions are the flags of check.
type checkOptions struct {
	server     bool
	kubeconfig string
	context    string
	namespace  string
	templates  templates.Options
}

func newCheckCommand(streams Streams) *cobra.Command {
	o := &checkOptions{}
	shared := flag.NewFlagSet("check", flag.ContinueOnError)
	errEnvironment := o.templates.Bind(shared, streams.Getenv)
	command := &cobra.Command{
		Use:     "check [flags]",
		Short:   "Check templates, and print all mistakes and what has no effect",
		Long:    checkLong,
		Example: checkExample,
		Args:    noArguments,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if err := cmp.Or(errEnvironment, o.validateServer(), o.templates.Validate()); err != nil {
				return err
			}
			return o.run(cmd.Context(), streams)
		},
	}
	flags := command.Flags()
	flags.BoolVar(&o.server, "server", false, "Send the objects to the API server as dry-runs.")
	flags.StringVar(&o.kubeconfig, "kubeconfig", "", "Kubeconfig of the cluster. Defaults to KUBECONFIG, else ~/.kube/config.")
	flags.StringVar(&o.context, "context", "", "Context of the kubeconfig. Defaults to the current one.")
	flags.StringVarP(&o.namespace, "namespace", "n", "", "Namespace of the dry-runs. Defaults to that of the context.")
	flags.StringVar(&o.templates.HelmValues, "helm-values", "", "Values file of the Helm chart, whose manifests are laid over the embedded templates.")
	flags.AddGoFlagSet(shared)
	return command
}

func noArguments(_ *cobra.Command, args []string) error {
	if len(args) > 0 {
		return fmt.Errorf("unexpected argument %q: name the templates by --manifests-dir or --helm-values", args[0])
	}
	return nil
}

func (o *checkOptions) run(ctx context.Context, streams Streams) error {
	renderer, problems, warnings, err := o.templates.Check()
	if err != nil {
		return err
	}
	var errServer error
	if o.server && renderer != nil {
		problems, errServer = o.askServer(ctx, renderer)
	}
	printProblems(streams.Out, "warning", warnings)
	printProblems(streams.Out, "error", problems)
	if errServer != nil {
		return errServer
	}
	_, _ = fmt.Fprintf(streams.Out, "%s, %s\n", counted(len(problems), "error"), counted(len(warnings), "warning"))
	if len(problems) > 0 {
		return errRejected
	}
	return nil
}

// printProblems prints one problem a line.
func printProblems(out io.Writer, severity string, problems render.Problems) {
	for _, problem := range problems {
		_, _ = fmt.Fprintf(out, "%s: %v\n", severity, problem)
	}
}
