// SPDX-License-Identifier: Apache-2.0

package command

import (
	"errors"
	"flag"
	"fmt"
	"strings"

	"github.com/spf13/cobra"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"

	"github.com/example/memcached-operator/internal/diff"
	"github.com/example/memcached-operator/internal/templates"
)

const diffLong = `Diff compares what this version of the operator would apply, with these templates, to the objects in a cluster. It prints a
unified diff for each object that differs, and the Memcacheds whose pods would be replaced, because of which fields. It
changes nothing.

It needs permission to list Memcacheds and the kinds of the templates. With permission to patch and create these kinds it
sends dry-runs; without, it computes the result itself: the defaults of the API server and changes by admission webhooks
are then missing from new objects and list items.

What the command line and the environment leave open is as the operator in the cluster has it: its Deployment's flags and
environment variables, and its templates if they come from ConfigMaps. Objects of kinds that are in neither these templates
nor the embedded ones are not compared; an optional kind that the API server does not serve is skipped, as the operator does.

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
	// operator is the operator's Deployment as NAMESPACE/NAME, none, or empty for the only one.
	operator  string
	templates templates.Options
}

// noOperator is the value of --operator with which no Deployment is read.
const noOperator = "none"

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
			return o.run(cmd, streams, names)
		},
	}
	flags := command.Flags()
	flags.StringVar(&o.kubeconfig, "kubeconfig", "", "Kubeconfig of the cluster. Defaults to KUBECONFIG, else ~/.kube/config.")
	flags.StringVar(&o.context, "context", "", "Context of the kubeconfig. Defaults to the current one.")
	flags.StringVarP(&o.namespace, "namespace", "n", "", "Namespace of the Memcacheds. Defaults to that of the context.")
	flags.BoolVarP(&o.allNamespaces, "all-namespaces", "A", false, "Compare the Memcacheds of all namespaces.")
	flags.StringVar(&o.operator, "operator", "", "Deployment of the operator, as NAMESPACE/NAME, whose flags, environment and templates count where "+
		"the command line sets none; none reads no Deployment. Defaults to the operator that watches the namespace.")
	flags.BoolVar(&o.summary, "summary", false, "Print the summary only.")
	flags.StringVar(&o.templates.HelmValues, "helm-values", "", "Values file of the Helm chart, whose manifests are laid over the embedded templates.")
	flags.AddGoFlagSet(shared)
	return command
}

func (o *diffOptions) run(cmd *cobra.Command, streams Streams, names []string) error {
	ctx := cmd.Context()
	cfg, namespace, err := o.connect()
	if err != nil {
		return err
	}
	if err := o.inherit(cmd, streams, cfg, namespace); err != nil {
		return err
	}
	renderer, err := o.templates.Renderer()
	if err != nil {
		return err
	}
	cluster, err := newCluster(cfg, renderer.Kinds())
	if err != nil {
		return err
	}
	openShift, err := cluster.IsOpenShift(ctx)
	if err != nil {
		return err
	}
	renderer = renderer.ForOpenShift(openShift)
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

// inherit sets what the command line leaves open to what the operator in the cluster has, and says so.
func (o *diffOptions) inherit(cmd *cobra.Command, streams Streams, cfg *rest.Config, namespace string) error {
	if o.operator == noOperator {
		return nil
	}
	note := func(format string, arguments ...any) {
		_, _ = fmt.Fprintf(streams.Err, "note: "+format+"\n", arguments...)
	}
	operator, err := diff.FindOperator(cmd.Context(), cfg, namespace, o.operator)
	switch {
	case apierrors.IsForbidden(err) && o.operator == "":
		note("the flags of the operator are not known, give them to this command: %v", err)
		return nil
	case err != nil:
		return fmt.Errorf("finding the operator (--operator): %w", err)
	case operator == nil:
		note("no operator runs in the cluster for these Memcacheds; the flags of this command count alone")
		return nil
	}
	o.templates.Inherit(operator.Options, cmd.Flags().Changed, streams.Getenv)
	note("what the command line does not set is as in Deployment %s", operator)
	if operator.Unread != "" && o.templates.Dir == "" && o.templates.HelmValues == "" {
		note("the templates of Deployment %s were not read, give them by --manifests-dir: %s", operator, operator.Unread)
	}
	return nil
}

// clientConfig returns the configuration of a kubeconfig and a context, which default to those of kubectl.
func clientConfig(kubeconfig, context string) clientcmd.ClientConfig {
	rules := clientcmd.NewDefaultClientConfigLoadingRules()
	rules.ExplicitPath = kubeconfig
	return clientcmd.NewNonInteractiveDeferredLoadingClientConfig(rules, &clientcmd.ConfigOverrides{CurrentContext: context})
}

// connect returns how to connect to the cluster, and the namespace of the Memcacheds, empty for all.
func (o *diffOptions) connect() (*rest.Config, string, error) {
	config := clientConfig(o.kubeconfig, o.context)
	cfg, err := config.ClientConfig()
	if err != nil {
		return nil, "", fmt.Errorf("reading the kubeconfig: %w", err)
	}
	if o.allNamespaces {
		return cfg, metav1.NamespaceAll, nil
	}
	if o.namespace != "" {
		return cfg, o.namespace, nil
	}
	namespace, _, err := config.Namespace()
	if err != nil {
		return nil, "", fmt.Errorf("reading the namespace of the kubeconfig: %w", err)
	}
	return cfg, namespace, nil
}

// newCluster returns the cluster of cfg for objects of kinds, and of those that the templates no longer contain, which are pruned.
func newCluster(cfg *rest.Config, kinds []schema.GroupVersionKind) (*diff.Cluster, error) {
	shipped, err := (&templates.Options{}).Renderer()
	if err != nil {
		return nil, err
	}
	return diff.NewCluster(cfg, append(kinds, shipped.Kinds()...))
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
		return fmt.Errorf("%s: see above", counted(failed, "problem"))
	case differs:
		return errDiffers
	default:
		return nil
	}
}
