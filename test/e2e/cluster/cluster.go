// SPDX-License-Identifier: Apache-2.0

//go:build e2e

// Package cluster is what the end-to-end tests stand on: the cluster that E2E_KUBECONFIG names, as a [testenv.Env], and what
// only real nodes have.
//
//   - [Connect] reads the environment and connects. A package's TestMain installs an [Operator] and ends with
//     [Operator.Finish], which uninstalls it and looks whether anything is left.
//   - [Cluster.NewNamespace] gives a test a namespace of its own. When the test fails, logs, events and descriptions of
//     what is in it go to E2E_ARTIFACTS/<test>.
//   - [Cluster.Cache] talks to the memcached in a pod, [Cluster.Fill] remembers what is in several, [Cluster.Inside] is a
//     client within the cluster's network, [Cluster.Kubectl] is a user, [Cluster.WatchPods] sees every state between.
//   - [ReadAudit] tells what an account asked of the API server, and what was refused.
//
// Nothing here knows how the cluster was made.
package cluster

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/kubernetes"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/example/memcached-operator/internal/plugin/forward"
	"github.com/example/memcached-operator/test/controlplane"
	"github.com/example/memcached-operator/test/testenv"
)

// Cluster is a connection to a cluster, as its administrator. Relative paths in the environment are relative to the root of
// the repository.
type Cluster struct {
	testenv.Env
	Clients kubernetes.Interface
	// Installer is E2E_INSTALLER: the file that installs the operator under test. Defaults to dist/install.yaml.
	Installer string
	// Image is E2E_IMAGE: the image of the operator under test, which the nodes have.
	Image string
	// PreviousInstaller is E2E_PREVIOUS_INSTALLER: the same of the version before. Empty where there is none; its image is
	// E2E_PREVIOUS_IMAGE.
	PreviousInstaller, PreviousImage string
	// AuditLog is E2E_AUDIT_LOG: the API server's audit log. Empty where it cannot be read.
	AuditLog string
	// Artifacts is E2E_ARTIFACTS: where failed tests leave what they saw. Defaults to artifacts.
	Artifacts string

	dialer *forward.Dialer
}

// Connect connects to the cluster that the environment names, and sets testenv.Timeout and testenv.PollInterval: a node with
// many pods and few cores is slow.
func Connect() (*Cluster, error) {
	kubeconfig := fromRoot("E2E_KUBECONFIG", "")
	if kubeconfig == "" {
		return nil, errors.New("the tests need a cluster: `make e2e` makes one; or set E2E_KUBECONFIG, and E2E_IMAGE to an image of the operator that its nodes have")
	}
	testenv.Timeout, testenv.PollInterval = 3*time.Minute, 150*time.Millisecond
	plane, err := controlplane.Connect(kubeconfig)
	if err != nil {
		return nil, fmt.Errorf("connecting to the cluster of E2E_KUBECONFIG: %w", err)
	}
	c := &Cluster{
		Env:               testenv.Env{ControlPlane: plane},
		Installer:         fromRoot("E2E_INSTALLER", "dist/install.yaml"),
		Image:             os.Getenv("E2E_IMAGE"),
		PreviousInstaller: fromRoot("E2E_PREVIOUS_INSTALLER", ""),
		PreviousImage:     os.Getenv("E2E_PREVIOUS_IMAGE"),
		AuditLog:          fromRoot("E2E_AUDIT_LOG", ""),
		Artifacts:         fromRoot("E2E_ARTIFACTS", "artifacts"),
	}
	if c.Clients, err = kubernetes.NewForConfig(c.Config); err != nil {
		return nil, err
	}
	c.dialer, err = forward.NewDialer(c.Config)
	return c, err
}

func fromRoot(variable, otherwise string) string {
	path := os.Getenv(variable)
	if path == "" {
		path = otherwise
	}
	if path == "" || filepath.IsAbs(path) {
		return path
	}
	return filepath.Join(controlplane.Root(), path)
}

// DefineMonitoring makes the Prometheus operator's kinds where the cluster has neither. Call it before an operator
// starts, which else finds them minutes later. The function that it returns takes away what it made, and nothing else:
// deleting a definition deletes all its objects.
func (c *Cluster) DefineMonitoring(ctx context.Context) (undo func(context.Context) error, err error) {
	none := func(context.Context) error { return nil }
	var made []client.Object
	for _, name := range []string{"servicemonitors.monitoring.coreos.com", "prometheusrules.monitoring.coreos.com"} {
		definition := testenv.Definition()
		definition.SetName(name)
		switch err := c.Client.Get(ctx, client.ObjectKeyFromObject(definition), definition); {
		case err == nil:
			return none, nil
		case !apierrors.IsNotFound(err):
			return none, fmt.Errorf("looking for %s: %w", name, err)
		}
		made = append(made, definition)
	}
	undo = func(ctx context.Context) error {
		var all []error
		for _, definition := range made {
			all = append(all, client.IgnoreNotFound(c.Client.Delete(ctx, definition)))
		}
		return errors.Join(all...)
	}
	return undo, c.InstallPrometheusOperator(ctx)
}

// Kubectl runs kubectl as a user would, and returns what it prints to standard output.
func (c *Cluster) Kubectl(t testing.TB, arguments ...string) string {
	t.Helper()
	return c.KubectlInput(t, "", arguments...)
}

// KubectlInput is Kubectl with something on standard input, for `-f -`.
func (c *Cluster) KubectlInput(t testing.TB, input string, arguments ...string) string {
	t.Helper()
	output, _, err := c.TryKubectl(context.WithoutCancel(t.Context()), input, arguments...)
	testenv.NoError(t, err)
	return output
}

// TryKubectl is KubectlInput for what may fail. It returns what kubectl prints to standard output and to standard error, where
// warnings are; the error has both.
func (c *Cluster) TryKubectl(ctx context.Context, input string, arguments ...string) (output, warnings string, err error) {
	command := exec.CommandContext(ctx, "kubectl", arguments...)
	command.Env = append(os.Environ(), "KUBECONFIG="+c.Kubeconfig)
	command.Dir = controlplane.Root()
	command.Stdin = strings.NewReader(input)
	var stdout, stderr strings.Builder
	command.Stdout, command.Stderr = &stdout, &stderr
	if err := command.Run(); err != nil {
		return stdout.String(), stderr.String(), fmt.Errorf("kubectl %s: %w\n%s%s", strings.Join(arguments, " "), err, &stdout, &stderr)
	}
	return stdout.String(), stderr.String(), nil
}

// Exec runs a command in a container of a pod and returns what it prints.
func (c *Cluster) Exec(t testing.TB, namespace, pod, container string, command ...string) string {
	t.Helper()
	return c.Kubectl(t, append([]string{"exec", "--namespace=" + namespace, pod, "--container=" + container, "--"}, command...)...)
}

// Left returns the cluster-wide objects that an operator, or tests, have made, as "kind/name".
func (c *Cluster) Left(ctx context.Context) ([]string, error) {
	var left []string
	for _, kind := range []schema.GroupVersionKind{
		{Version: "v1", Kind: "Namespace"},
		{Group: "apiextensions.k8s.io", Version: "v1", Kind: "CustomResourceDefinition"},
		{Group: "rbac.authorization.k8s.io", Version: "v1", Kind: "ClusterRole"},
		{Group: "rbac.authorization.k8s.io", Version: "v1", Kind: "ClusterRoleBinding"},
		{Group: "admissionregistration.k8s.io", Version: "v1", Kind: "ValidatingAdmissionPolicy"},
		{Group: "admissionregistration.k8s.io", Version: "v1", Kind: "ValidatingAdmissionPolicyBinding"},
	} {
		list := testenv.List(kind)
		if err := c.Client.List(ctx, list); err != nil {
			return nil, fmt.Errorf("asking the cluster of E2E_KUBECONFIG: %w", err)
		}
		for _, object := range list.Items {
			name := object.GetName()
			if strings.HasPrefix(name, "memcached-operator") || strings.HasSuffix(name, ".cache.example.com") || object.GetLabels()[testLabel] != "" {
				left = append(left, kind.Kind+"/"+name)
			}
		}
	}
	return left, nil
}

// EventuallyNothingLeft waits until Left returns nothing.
func (c *Cluster) EventuallyNothingLeft(ctx context.Context) error {
	return testenv.Poll(ctx, testenv.Timeout, func(ctx context.Context) (bool, string, error) {
		left, err := c.Left(ctx)
		return len(left) == 0, "there is " + strings.Join(left, ", "), err
	})
}
