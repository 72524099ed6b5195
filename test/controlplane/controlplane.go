// SPDX-License-Identifier: Apache-2.0

// Package controlplane gives tests a real Kubernetes control plane on loopback: the
// one that hack/cluster builds and runs. It runs as long as the test process, and
// is stopped however that ends.
package controlplane

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"sync"
	"testing"

	authenticationv1 "k8s.io/api/authentication/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	apiruntime "k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/kustomize/api/krusty"
	"sigs.k8s.io/kustomize/kyaml/filesys"
	"sigs.k8s.io/yaml"

	cachev1alpha1 "github.com/example/memcached-operator/apis/v1alpha1"
)

// OperatorNamespace and OperatorServiceAccount are the operator's identity in a
// control plane that OperatorConfig prepared.
const (
	OperatorNamespace      = "memcached-operator-system"
	OperatorServiceAccount = "memcached-operator-controller-manager"
)

// ControlPlane is a running control plane.
type ControlPlane struct {
	// Config is the administrator's.
	Config *rest.Config
	// Kubeconfig is the path of a file with the same.
	Kubeconfig string
	// Client is the administrator's; it knows the built-in kinds and Memcached.
	Client client.Client

	command *exec.Cmd
	stdin   io.Closer
}

// SkipUnlessServed skips the test when the API server does not serve kind, written as Kind.version.group.
// It does so on the control plane of another version of Kubernetes only (docs/user/compatibility.md):
// that of `make kube` must serve the kinds of all tests.
func (c *ControlPlane) SkipUnlessServed(t testing.TB, kind string) {
	t.Helper()
	wanted, _ := schema.ParseKindArg(kind)
	_, err := c.Client.RESTMapper().RESTMapping(wanted.GroupKind(), wanted.Version)
	if meta.IsNoMatchError(err) {
		skip(t, "it does not serve "+kind)
	}
	if err != nil {
		t.Fatal(err)
	}
}

// SkipBefore skips the test on an API server before minor of Kubernetes 1, as SkipUnlessServed does.
func (c *ControlPlane) SkipBefore(t testing.TB, minor int, reason string) {
	t.Helper()
	clients, err := kubernetes.NewForConfig(c.Config)
	if err != nil {
		t.Fatal(err)
	}
	served, err := clients.Discovery().ServerVersion()
	if err != nil {
		t.Fatal(err)
	}
	if is, err := strconv.Atoi(served.Minor); err != nil || is < minor {
		skip(t, fmt.Sprintf("Kubernetes 1.%s: %s", served.Minor, reason))
	}
}

// skip skips the test on a control plane that the user chose, and fails it on ours.
func skip(t testing.TB, reason string) {
	t.Helper()
	if os.Getenv("KUBEBUILDER_ASSETS") == "" {
		t.Fatalf("the control plane of `make kube` is not that of the tests: %s", reason)
	}
	t.Skip(reason)
}

// Root returns the root of the repository: the directory of go.mod above the one in which the test began. It is not taken
// from runtime.Caller, which knows no paths in a binary built with -trimpath.
var Root = sync.OnceValue(func() string {
	start, err := os.Getwd()
	if err != nil {
		panic(err)
	}
	for dir := start; ; dir = filepath.Dir(dir) {
		if _, err := os.Stat(filepath.Join(dir, "go.mod")); err == nil {
			return dir
		}
		if dir == filepath.Dir(dir) {
			panic("no go.mod above " + start)
		}
	}
})

// DependOn reads the files at paths, or below them, so that Go's test cache notices when one changes: it does not see what
// programs read that a test runs. Paths are relative to Root.
func DependOn(paths ...string) error {
	for _, path := range paths {
		err := filepath.WalkDir(filepath.Join(Root(), path), func(name string, entry fs.DirEntry, err error) error {
			if err != nil || entry.IsDir() {
				return err
			}
			_, err = os.ReadFile(name)
			return err
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// Start starts a control plane with the CRD installed; arguments go to `cluster
// serve`, such as --without-controllers. Stop it when done.
func Start(arguments ...string) (*ControlPlane, error) {
	program := filepath.Join(Root(), "bin", "cluster")
	if _, err := os.Stat(program); err != nil {
		return nil, fmt.Errorf("the tests need a control plane: run `make kube` first, or the tests by `make test`: %w", err)
	}
	if err := DependOn("config/crd/bases"); err != nil {
		return nil, err
	}
	crds := filepath.Join(Root(), "config", "crd", "bases")
	command := exec.Command(program, append([]string{"serve", "--until-stdin-closes", "--crds", crds}, arguments...)...)
	command.Stderr = os.Stderr
	stdin, err := command.StdinPipe()
	if err != nil {
		return nil, err
	}
	stdout, err := command.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := command.Start(); err != nil {
		return nil, fmt.Errorf("starting the control plane: %w", err)
	}
	var ready struct {
		Kubeconfig string `json:"kubeconfig"`
	}
	line, err := bufio.NewReader(stdout).ReadBytes('\n')
	if err == nil {
		err = json.Unmarshal(line, &ready)
	}
	stop := &ControlPlane{command: command, stdin: stdin}
	if err != nil {
		return nil, errors.Join(fmt.Errorf("the control plane did not become ready: %w", err), stop.Stop())
	}
	c, err := Connect(ready.Kubeconfig)
	if err != nil {
		return nil, errors.Join(err, stop.Stop())
	}
	c.command, c.stdin = command, stdin
	return c, nil
}

// Connect returns the running control plane, or whole cluster, of a kubeconfig. Stop is for what Start started only.
func Connect(kubeconfig string) (*ControlPlane, error) {
	config, err := clientcmd.BuildConfigFromFlags("", kubeconfig)
	if err != nil {
		return nil, err
	}
	config.QPS = -1
	scheme := apiruntime.NewScheme()
	if err := errors.Join(clientgoscheme.AddToScheme(scheme), cachev1alpha1.AddToScheme(scheme)); err != nil {
		return nil, err
	}
	c, err := client.New(config, client.Options{Scheme: scheme})
	return &ControlPlane{Config: config, Kubeconfig: kubeconfig, Client: c}, err
}

// PID returns the process ID of the program that the control plane's programs are children of.
func (c *ControlPlane) PID() int { return c.command.Process.Pid }

// Stop stops everything and removes all files.
func (c *ControlPlane) Stop() error {
	closeErr := c.stdin.Close()
	if err := c.command.Wait(); err != nil {
		return fmt.Errorf("stopping the control plane: %w", err)
	}
	return closeErr
}

// Apply applies object as the administrator.
func (c *ControlPlane) Apply(ctx context.Context, object *unstructured.Unstructured) error {
	return c.Client.Apply(ctx, client.ApplyConfigurationFromUnstructured(object), client.FieldOwner("test"), client.ForceOwnership)
}

// OperatorConfig creates the operator's namespace, service account and roles as
// `make deploy` does, and returns the account's configuration: tests run the operator
// with what it is granted and no more.
func (c *ControlPlane) OperatorConfig(ctx context.Context) (*rest.Config, error) {
	directory := filepath.Join(Root(), "hack", "operator-identity")
	options := krusty.MakeDefaultOptions()
	options.Reorder = krusty.ReorderOptionLegacy // namespaces first, as the command does
	built, err := krusty.MakeKustomizer(options).Run(filesys.MakeFsOnDisk(), directory)
	if err != nil {
		return nil, err
	}
	for _, resource := range built.Resources() {
		content, err := resource.AsYAML()
		if err != nil {
			return nil, err
		}
		object := &unstructured.Unstructured{}
		if err := yaml.Unmarshal(content, &object.Object); err != nil {
			return nil, err
		}
		if err := c.Apply(ctx, object); err != nil {
			return nil, err
		}
	}
	return c.ServiceAccountConfig(ctx, OperatorNamespace, OperatorServiceAccount)
}

// ServiceAccountConfig returns a configuration with a token of that service account.
func (c *ControlPlane) ServiceAccountConfig(ctx context.Context, namespace, name string) (*rest.Config, error) {
	clients, err := kubernetes.NewForConfig(c.Config)
	if err != nil {
		return nil, err
	}
	request := &authenticationv1.TokenRequest{Spec: authenticationv1.TokenRequestSpec{ExpirationSeconds: new(int64(24 * 3600))}}
	token, err := clients.CoreV1().ServiceAccounts(namespace).CreateToken(ctx, name, request, metav1.CreateOptions{})
	if err != nil {
		return nil, fmt.Errorf("requesting a token for %s: %w", types.NamespacedName{Namespace: namespace, Name: name}, err)
	}
	config := rest.AnonymousClientConfig(c.Config)
	config.BearerToken = token.Status.Token
	config.QPS = -1
	return config, nil
}
