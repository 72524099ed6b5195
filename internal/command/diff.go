// SPDX-License-Identifier: Apache-2.0

package command

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"strings"

	"github.com/spf13/cobra"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/tools/clientcmd"

	"github.com/example/memcached-operator/internal/diff"
	"github.com/example/memcached-operator/internal/templates"
	"github.com/example/memcached-operator/reconcilers/render"
)

const diffLong = `Diff compares what this version of the operator would apply, with these templates, to the objects in a cluster. It prints a
unified diff for each object that differs, and the Memcacheds whose pods would be replaced, because of which fields. It
changes nothing.

It needs permission to list Memcacheds and the kinds of the templates. With permission to patch and create these kinds it
sends dry-runs; without, it computes the result itself: the defaults of the API server and changes by admission webhooks
are then missing from new objects and list items.

Use the flags and environment variables of the operator in the cluster. Objects of kinds that are in neither these
templates nor the embedded ones are not compared.

Exit codes, as of kubectl diff:
  0  nothing differs
  1  something differs
  2  a flag is wrong, the cluster or the templates cannot be read, or a Memcached could not be rendered or applied`

const diffExample = `  memcached-operator diff --all-namespaces --manifests-dir=my-templates
  memcached-operator diff --namespace=web cache --summary`

// errDiffers is returned by diff when something differs.
var errDiffers = errors.New("something differs")

// diffOptions are the flags of diff.
type diffOptions struct {
	kubeconfig    string
	context       string
	namespace     string
	allNamespaces bool
	summary       bool
	templates     templates.Options
}

// NewDiffCommand returns the command diff of program, as it is called on a command line.
func NewDiffCommand(streams Streams, program string) *cobra.Command {
	o := &diffOptions{}
	shared := flag.NewFlagSet("diff", flag.ContinueOnError)
	errEnvironment := o.templates.Bind(shared, streams.Getenv)
	command := &cobra.Command{
		Use:     "diff [-n NAMESPACE | -A] [NAME...] [flags]",
		Short:   "Compare what this version would apply with a cluster, and list the pods that would be replaced",
		Long:    diffLong,
		Example: strings.ReplaceAll(diffExample, "memcached-operator", program),
		Args:    cobra.ArbitraryArgs,
		RunE: func(cmd *cobra.Command, names []string) error {
			if errEnvironment != nil {
				return errEnvironment
			}
			if o.allNamespaces && len(names) > 0 {
				return errors.New("--all-namespaces: name Memcacheds in one namespace only")
			}
			if err := o.templates.Validate(); err != nil {
				return err
			}
			return o.run(cmd.Context(), streams, names)
		},
	}
	flags := command.Flags()
	flags.StringVar(&o.kubeconfig, "kubeconfig", "", "Kubeconfig of the cluster. Defaults to KUBECONFIG, else ~/.kube/config.")
	flags.StringVar(&o.context, "context", "", "Context of the kubeconfig. Defaults to the current one.")
	flags.StringVarP(&o.namespace, "namespace", "n", "", "Namespace of the Memcacheds. Defaults to that of the context.")
	flags.BoolVarP(&o.allNamespaces, "all-namespaces", "A", false, "Compare the Memcacheds of all namespaces.")
	flags.BoolVar(&o.summary, "summary", false, "Print the summary only.")
	flags.StringVar(&o.templates.HelmValues, "helm-values", "", "Values file of the Helm chart, whose manifests are laid over the embedded templates.")
	flags.AddGoFlagSet(shared)
	return command
}

func (o *diffOptions) run(ctx context.Context, streams Streams, names []string) error {
	renderer, err := o.templates.Renderer()
	if err != nil {
		return err
	}
	cluster, namespace, err := o.connect(ctx, renderer)
	if err != nil {
		return err
	}
	memcacheds, err := cluster.List(ctx, namespace, names...)
	if err != nil {
		return err
	}
	comparisons, err := diff.Compare(ctx, cluster, renderer, memcacheds)
	if err != nil {
		return err
	}
	return o.print(streams, cluster, comparisons)
}

// clientConfig returns the configuration of a kubeconfig and a context, which default to those of kubectl.
func clientConfig(kubeconfig, context string) clientcmd.ClientConfig {
	rules := clientcmd.NewDefaultClientConfigLoadingRules()
	rules.ExplicitPath = kubeconfig
	return clientcmd.NewNonInteractiveDeferredLoadingClientConfig(rules, &clientcmd.ConfigOverrides{CurrentContext: context})
}

// connect returns the cluster, and the namespace of the Memcacheds, empty for all.
func (o *diffOptions) connect(ctx context.Context, renderer *render.Renderer) (*diff.Cluster, string, error) {
	config := clientConfig(o.kubeconfig, o.context)
	cfg, err := config.ClientConfig()
	if err != nil {
		return nil, "", fmt.Errorf("reading the kubeconfig: %w", err)
	}
	namespace := o.namespace
	if namespace == "" && !o.allNamespaces {
		if namespace, _, err = config.Namespace(); err != nil {
			return nil, "", fmt.Errorf("reading the namespace of the kubeconfig: %w", err)
		}
	}
	if o.allNamespaces {
		namespace = metav1.NamespaceAll
	}
	kinds := renderer.Kinds()
	// Objects of kinds that the templates no longer contain are pruned.
	shipped, err := (&templates.Options{}).Renderer()
	if err != nil {
		return nil, "", err
	}
	cluster, err := diff.NewCluster(cfg, append(kinds, shipped.Kinds()...))
	if err != nil {
		return nil, "", err
	}
	openShift, err := cluster.IsOpenShift(ctx)
	renderer.SetOpenShift(openShift)
	return cluster, namespace, err
}

// print prints comparisons. The error is errDiffers when something differs, and another one when a Memcached
// could not be compared.
func (o *diffOptions) print(streams Streams, cluster *diff.Cluster, comparisons []diff.Comparison) error {
	if !o.summary {
		if err := diff.Print(streams.Out, comparisons); err != nil {
			return err
		}
	}
	if err := diff.PrintSummary(streams.Out, comparisons); err != nil {
		return err
	}
	if cluster.Computes() {
		_, _ = fmt.Fprintln(streams.Err, "note: without permission for dry-runs (patch and create), defaults of the API server and admission webhooks are not considered")
	}
	failed, differs := 0, false
	for _, comparison := range comparisons {
		for _, err := range comparison.Errs {
			failed++
			_, _ = fmt.Fprintf(streams.Err, "%s/%s: %v\n", comparison.Namespace, comparison.Name, err)
		}
		differs = differs || len(comparison.Changes) > 0
	}
	switch {
	case failed > 0:
		return fmt.Errorf("%d problems: see above", failed)
	case differs:
		return errDiffers
	default:
		return nil
	}
}
