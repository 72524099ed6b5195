// SPDX-License-Identifier: Apache-2.0

package command

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"strings"

	"github.com/spf13/cobra"
	"k8s.io/apimachinery/pkg/util/validation"

	cachev1alpha1 "github.com/example/memcached-operator/apis/v1alpha1"
	"github.com/example/memcached-operator/internal/templates"
	admission "github.com/example/memcached-operator/internal/validation"
	"github.com/example/memcached-operator/reconcilers/render"
)

const renderLong = `Render prints the objects that the operator applies for the Memcacheds in files, in the order in which it applies them.

It needs no cluster. Each Memcached gets the defaults of the CustomResourceDefinition and is checked as by the API server,
with the same messages; admission policies and webhooks of a cluster are not asked. The images come from the same
environment variables as the operator's.

Objects of other API groups are skipped, with a note.

The owner references have the metadata.uid of the input, which is empty unless the Memcached was read from a cluster.
A paused Memcached is printed as if it were not paused, and kinds that a cluster may not serve are included.

Exit codes:
  0  all Memcacheds are rendered
  1  a Memcached is rejected or cannot be rendered; the others are rendered
  2  a flag is wrong, or a file or the templates cannot be read; nothing is rendered`

const renderExample = `  memcached-operator render -f memcached.yaml
  kubectl get memcached cache -o yaml | memcached-operator render -f -
  memcached-operator render -f memcached.yaml --manifests-dir=my-templates --sources`

// renderOptions are the flags of render.
type renderOptions struct {
	files     []string
	namespace string
	output    string
	sources   bool
	openShift bool
	templates templates.Options
}

// NewRenderCommand returns the command render of program, as it is called on a command line.
func NewRenderCommand(streams Streams, program string) *cobra.Command {
	o := &renderOptions{}
	shared := flag.NewFlagSet("render", flag.ContinueOnError)
	errEnvironment := o.templates.Bind(shared, streams.Getenv)
	command := &cobra.Command{
		Use:     "render -f FILE... [flags]",
		Short:   "Print the objects that the operator applies for Memcacheds, without a cluster",
		Long:    renderLong,
		Example: strings.ReplaceAll(renderExample, "memcached-operator", program),
		// The shell expands -f *.yaml to one flag and further arguments.
		Args: cobra.ArbitraryArgs,
		RunE: func(cmd *cobra.Command, args []string) error {
			if errEnvironment != nil {
				return errEnvironment
			}
			if len(args) > 0 && len(o.files) == 0 {
				return fmt.Errorf("unexpected argument %q: name files by -f", args[0])
			}
			o.files = append(o.files, args...)
			if err := o.validate(); err != nil {
				return err
			}
			return o.run(cmd, streams)
		},
	}
	flags := command.Flags()
	flags.StringArrayVarP(&o.files, "filename", "f", nil,
		"File with Memcacheds: YAML documents, JSON or Lists; - is standard input. May be repeated.")
	flags.StringVarP(&o.namespace, "namespace", "n", "default", "Namespace of Memcacheds that have none.")
	flags.StringVarP(&o.output, "output", "o", "yaml", "Format of the output: yaml, or json for one List.")
	flags.BoolVar(&o.sources, "sources", false, "Precede each object by a comment with the template file that it comes from, and the components that change it.")
	flags.BoolVar(&o.openShift, "openshift", false, "Render for OpenShift, which assigns users and groups to pods.")
	flags.StringVar(&o.templates.HelmValues, "helm-values", "", "Values file of the Helm chart, whose manifests are laid over the embedded templates.")
	flags.AddGoFlagSet(shared)
	return command
}

func (o *renderOptions) validate() error {
	if len(o.files) == 0 {
		return errors.New("no input: name files by -f, or - for standard input")
	}
	if o.output != "yaml" && o.output != "json" {
		return fmt.Errorf("--output: %q is neither yaml nor json", o.output)
	}
	if o.sources && o.output == "json" {
		return errors.New("--sources: JSON has no comments; use --output=yaml")
	}
	if problems := validation.IsDNS1123Label(o.namespace); len(problems) > 0 {
		return fmt.Errorf("--namespace: invalid namespace %q: %s", o.namespace, strings.Join(problems, "; "))
	}
	return o.templates.Validate()
}

func (o *renderOptions) run(cmd *cobra.Command, streams Streams) error {
	documents, err := readFiles(o.files, streams.In)
	if err != nil {
		return err
	}
	renderer, err := o.templates.Renderer()
	if err != nil {
		return err
	}
	renderer = renderer.ForOpenShift(o.openShift)
	validator, err := admission.New()
	if err != nil {
		return err
	}
	note := func(d document, format string, arguments ...any) {
		_, _ = fmt.Fprintf(streams.Err, "%s: %s: %s\n", cmd.CommandPath(), d.source, fmt.Sprintf(format, arguments...))
	}
	if documents, err = memcachedsIn(documents, note); err != nil {
		return err
	}
	rejected := false
	var results []rendered
	seen := map[string]string{}
	for _, d := range documents {
		result, err := o.renderOne(cmd.Context(), d, validator, renderer, seen)
		if err != nil {
			rejected = true
			note(d, "%v", err)
			continue
		}
		results = append(results, result)
	}
	if err := o.write(streams.Out, results); err != nil {
		return err
	}
	if rejected {
		return errRejected
	}
	return nil
}

// memcachedsIn returns documents without the objects of other API groups, each of which it notes. An error says that no other is left.
func memcachedsIn(documents []document, note func(d document, format string, arguments ...any)) ([]document, error) {
	var found []document
	for _, d := range documents {
		if d.isForeign() {
			note(d, "skipped: %s of %s is not a Memcached", d.kind.Kind, d.kind.GroupVersion())
			continue
		}
		found = append(found, d)
	}
	if len(found) == 0 {
		return nil, errors.New("the input has no Memcached")
	}
	return found, nil
}

// renderOne renders the Memcached in d. seen maps the Memcacheds so far to their documents.
func (o *renderOptions) renderOne(ctx context.Context, d document, validator *admission.Validator, renderer *render.Renderer, seen map[string]string) (rendered, error) {
	if err := d.checkKind(cachev1alpha1.SchemeGroupVersion.WithKind("Memcached")); err != nil {
		return rendered{}, err
	}
	mc, err := validator.Admit(ctx, d.content, d.isYAML, o.namespace)
	if err != nil {
		return rendered{}, err
	}
	name := mc.Namespace + "/" + mc.Name
	if first, found := seen[name]; found {
		return rendered{}, fmt.Errorf("the Memcached %s is already in %s: rename or remove one of them", name, first)
	}
	seen[name] = d.source
	objects, err := renderer.Render(mc)
	if err != nil {
		return rendered{}, fmt.Errorf("the Memcached %s cannot be rendered: %w", name, err)
	}
	result := rendered{objects: objects}
	if o.sources {
		result.sources, err = renderer.Sources(mc, objects)
	}
	return result, err
}
