// SPDX-License-Identifier: Apache-2.0

//go:build e2e

package cluster

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/wait"
)

// ApplyFile applies a file, such as an installer, over whatever is there.
func (c *Cluster) ApplyFile(ctx context.Context, file string) error {
	_, err := c.kubectl(ctx, "", "apply", "--server-side", "--force-conflicts", "-f", file)
	return err
}

// Install installs the operator from the installer into a cluster that has none, and waits until
// it is ready.
func (o *Operator) Install(ctx context.Context) error {
	if _, err := os.Stat(o.Installer); err != nil {
		return fmt.Errorf("there is no installer: run `make build-installer IMG=…`, or set E2E_INSTALLER: %w", err)
	}
	if err := o.empty(ctx); err != nil {
		return err
	}
	o.installed = time.Now()
	if err := o.ApplyFile(ctx, o.Installer); err != nil {
		return err
	}
	err := wait.PollUntilContextTimeout(ctx, interval, Patience, true, func(ctx context.Context) (bool, error) {
		_, settled, err := o.settled(ctx)
		return settled && err == nil, nil
	})
	if err != nil {
		described, _ := o.kubectl(ctx, "", "--namespace="+o.Namespace, "describe", "deployments,pods")
		logs, _ := o.kubectl(ctx, "", "--namespace="+o.Namespace, "logs", "--prefix", "deployments/"+o.Name)
		return fmt.Errorf("the operator did not become ready: %w\n%s\n%s", err, described, logs)
	}
	d := o.Manager()
	if err := o.Get(ctx, types.NamespacedName{Namespace: o.Namespace, Name: o.Name}, d); err != nil {
		return err
	}
	if image := d.Spec.Template.Spec.Containers[0].Image; o.Image != "" && image != o.Image {
		return fmt.Errorf("the installer installs %s, and E2E_IMAGE, the image under test, is %s", image, o.Image)
	}
	return nil
}

// empty is an error when the cluster has an operator already.
func (o *Operator) empty(ctx context.Context) error {
	err := o.Get(ctx, types.NamespacedName{Name: o.Namespace}, &corev1.Namespace{})
	switch {
	case apierrors.IsNotFound(err):
		return nil
	case err != nil:
		return fmt.Errorf("asking the cluster of E2E_KUBECONFIG: %w", err)
	}
	return fmt.Errorf("the cluster has a namespace %s: the tests want to install into an empty cluster; `make undeploy` empties it", o.Namespace)
}

// Uninstall waits for the namespaces of tests to go, takes the operator out, and
// looks whether anything of it is left.
func (o *Operator) Uninstall(ctx context.Context) error {
	last := ""
	err := wait.PollUntilContextTimeout(ctx, interval, Patience, true, func(ctx context.Context) (done bool, err error) {
		done, last, err = o.noTestNamespaces(ctx)
		return done && err == nil, nil
	})
	if err != nil {
		return fmt.Errorf("namespaces of tests do not go: %s: %w", last, err)
	}
	if _, err := o.kubectl(ctx, "", "delete", "--ignore-not-found", "--timeout="+Patience.String(), "-f", o.Installer); err != nil {
		return err
	}
	return o.nothingLeft(ctx)
}

// nothingLeft is an error when the cluster still has something of the operator: what
// the installer made, or anything cluster-wide of its name.
func (o *Operator) nothingLeft(ctx context.Context) error {
	left, err := o.kubectl(ctx, "", "get", "--ignore-not-found", "-o", "name",
		"customresourcedefinitions,clusterroles,clusterrolebindings,namespaces,validatingadmissionpolicies,validatingadmissionpolicybindings")
	if err != nil {
		return err
	}
	var ours []string
	for line := range strings.Lines(left) {
		if _, name, _ := strings.Cut(strings.TrimSpace(line), "/"); strings.HasPrefix(name, "memcached-operator") || strings.HasSuffix(name, ".cache.example.com") {
			ours = append(ours, strings.TrimSpace(line))
		}
	}
	if len(ours) > 0 {
		return fmt.Errorf("uninstalling leaves %s", strings.Join(ours, ", "))
	}
	return nil
}

// Finish is what a package's TestMain ends with: it uninstalls, after checks that need the operator's
// permissions to be there still, and before undo, which takes away what was there before the operator. It returns an exit code and prints what is wrong.
func (o *Operator) Finish(ctx context.Context, code int, undo func(context.Context) error, checks ...func(context.Context) error) int {
	started := time.Now()
	var all []error
	for _, check := range checks {
		all = append(all, check(ctx))
	}
	all = append(all, o.Uninstall(ctx), undo(ctx))
	if err := errors.Join(all...); err != nil {
		fmt.Fprintf(os.Stderr, "--- FAIL: after the tests (%s)\n%v\n", time.Since(started).Round(time.Millisecond), err)
		return 1
	}
	return code
}
