// SPDX-License-Identifier: Apache-2.0

package diff

import (
	"context"
	"flag"
	"fmt"
	"io"
	"path"
	"slices"
	"strings"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/example/memcached-operator/internal/templates"
	"github.com/example/memcached-operator/reconcilers/render"
)

const (
	// The operator's Deployment has this label and container in every install.
	managerLabel, managerLabelValue = "control-plane", "controller-manager"
	managerContainer                = "manager"
)

// Operator is an operator in a cluster, as its Deployment configures it.
type Operator struct {
	Namespace, Name string
	// Options are what its flags, its environment variables and the ConfigMaps with its templates set.
	Options templates.Options
	// Unread says which of its templates could not be read, and why; empty if all were.
	Unread string
	// namespaces are those that it watches; none means all.
	namespaces []string
}

// FindOperator returns the operator in the cluster of cfg for Memcacheds in namespace, or in all if that is empty. name, as
// NAMESPACE/NAME of its Deployment, selects it if there are several. The operator is nil if there is none.
func FindOperator(ctx context.Context, cfg *rest.Config, namespace, name string) (*Operator, error) {
	reader, err := client.New(cfg, client.Options{Scheme: clientgoscheme.Scheme})
	if err != nil {
		return nil, fmt.Errorf("creating an API client: %w", err)
	}
	deployments := &appsv1.DeploymentList{}
	options := []client.ListOption{client.MatchingLabels{managerLabel: managerLabelValue}}
	selected, _, isNamed := strings.Cut(name, "/")
	if isNamed {
		options = append(options, client.InNamespace(selected))
	}
	if err := reader.List(ctx, deployments, options...); err != nil {
		return nil, fmt.Errorf("listing Deployments: %w", err)
	}
	var found []*Operator
	var names []string
	for i := range deployments.Items {
		operator, err := operatorOf(ctx, reader, &deployments.Items[i])
		if err != nil {
			return nil, err
		}
		if operator == nil || name == "" && !operator.watches(namespace) || isNamed && operator.String() != name {
			continue
		}
		found, names = append(found, operator), append(names, operator.String())
	}
	switch {
	case len(found) == 0 && name != "":
		return nil, fmt.Errorf("there is no Deployment %s of this operator: give it as NAMESPACE/NAME", name)
	case len(found) == 0:
		return nil, nil
	case len(found) > 1:
		return nil, fmt.Errorf("there are several operators, %s: choose one", strings.Join(names, ", "))
	}
	return found[0], nil
}

// String returns the namespace and the name of its Deployment.
func (o *Operator) String() string { return o.Namespace + "/" + o.Name }

// watches reports whether o watches namespace; empty stands for all.
func (o *Operator) watches(namespace string) bool {
	return namespace == "" || len(o.namespaces) == 0 || slices.Contains(o.namespaces, namespace)
}

// operatorOf returns the operator of deployment, or nil if that runs another one.
func operatorOf(ctx context.Context, reader client.Reader, deployment *appsv1.Deployment) (*Operator, error) {
	pod := deployment.Spec.Template.Spec
	i := slices.IndexFunc(pod.Containers, func(c corev1.Container) bool { return c.Name == managerContainer })
	if i < 0 {
		return nil, nil
	}
	container := pod.Containers[i]
	environment := map[string]string{}
	for _, variable := range container.Env {
		environment[variable.Name] = variable.Value
	}
	if _, isOurs := environment[templates.MemcachedImageVariable]; !isOurs && deployment.Labels["app.kubernetes.io/name"] != "memcached-operator" {
		return nil, nil
	}
	o := &Operator{Namespace: deployment.Namespace, Name: deployment.Name}
	flags := flag.NewFlagSet(deployment.Name, flag.ContinueOnError)
	flags.SetOutput(io.Discard)
	watched := flags.String("watch-namespaces", environment["WATCH_NAMESPACE"], "")
	err := o.Options.Bind(flags, func(name string) string { return environment[name] })
	if err == nil {
		err = flags.Parse(known(flags, container.Args))
	}
	if err != nil {
		return nil, fmt.Errorf("reading the flags of Deployment %s: %w", o, err)
	}
	o.namespaces = strings.FieldsFunc(*watched, func(r rune) bool { return r == ',' || r == ' ' })
	directory := o.Options.Dir
	o.Options.Dir = "" // It is one of the operator's pod.
	if directory != "" {
		err = o.readTemplates(ctx, reader, pod, container, directory)
	}
	return o, err
}

// known returns the arguments that set one of flags.
func known(flags *flag.FlagSet, arguments []string) []string {
	var rest []string
	for i := 0; i < len(arguments); i++ {
		name, _, hasValue := strings.Cut(strings.TrimLeft(arguments[i], "-"), "=")
		defined := flags.Lookup(name)
		if defined == nil || !strings.HasPrefix(arguments[i], "-") {
			continue
		}
		rest = append(rest, arguments[i])
		boolean, ok := defined.Value.(interface{ IsBoolFlag() bool })
		if isBool := ok && boolean.IsBoolFlag(); !isBool && !hasValue && i+1 < len(arguments) {
			i++
			rest = append(rest, arguments[i])
		}
	}
	return rest
}

// readTemplates reads the ConfigMaps that container mounts at or below directory into o.Options.Overlay.
func (o *Operator) readTemplates(ctx context.Context, reader client.Reader, pod corev1.PodSpec, container corev1.Container, directory string) error {
	o.Options.Overlay = render.Tree{}
	o.Unread = directory + " is in its image or on its node"
	directory = path.Clean(directory)
	for _, mount := range container.VolumeMounts {
		below, isBelow := strings.CutPrefix(path.Clean(mount.MountPath)+"/", directory+"/")
		i := slices.IndexFunc(pod.Volumes, func(v corev1.Volume) bool { return v.Name == mount.Name })
		if !isBelow || i < 0 {
			continue
		}
		source := pod.Volumes[i].ConfigMap
		if source == nil || mount.SubPath != "" {
			o.Unread = mount.MountPath + " is no ConfigMap"
			return nil
		}
		files := &corev1.ConfigMap{}
		err := reader.Get(ctx, client.ObjectKey{Namespace: o.Namespace, Name: source.Name}, files)
		if apierrors.IsForbidden(err) {
			o.Unread = err.Error()
			return nil
		}
		if client.IgnoreNotFound(err) != nil {
			return fmt.Errorf("reading the templates of Deployment %s: %w", o, err)
		}
		o.addTemplates(below, files.Data, source.Items)
		o.Unread = ""
	}
	return nil
}

// addTemplates adds the files of a ConfigMap that is mounted at directory. items, unless there are none, are its keys that are
// mounted, and where.
func (o *Operator) addTemplates(directory string, files map[string]string, items []corev1.KeyToPath) {
	for key, text := range files {
		name := key
		if len(items) > 0 {
			i := slices.IndexFunc(items, func(item corev1.KeyToPath) bool { return item.Key == key })
			if i < 0 {
				continue
			}
			name = items[i].Path
		}
		name = path.Join(directory, name)
		if top, _, _ := strings.Cut(name, "/"); top == "base" || top == "components" {
			o.Options.Overlay[name] = []byte(text)
		}
	}
}
