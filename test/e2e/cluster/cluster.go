// SPDX-License-Identifier: Apache-2.0

//go:build e2e

package cluster

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"testing"

	apiruntime "k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/kubernetes"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	"sigs.k8s.io/controller-runtime/pkg/client"

	cachev1alpha1 "github.com/example/memcached-operator/apis/v1alpha1"
	"github.com/example/memcached-operator/test/controlplane"
)

// Environment is what `make e2e` tells the tests. Relative paths are relative to the
// root of the repository.
type Environment struct {
	// Kubeconfig is E2E_KUBECONFIG: an administrator's, of any cluster.
	Kubeconfig string
	// Installer is E2E_INSTALLER: the file that installs the operator under test.
	// Defaults to dist/install.yaml.
	Installer string
	// Image is E2E_IMAGE: the image of the operator under test, which the nodes have.
	Image string
	// PreviousInstaller is E2E_PREVIOUS_INSTALLER: the same of the version before. Empty
	// where there is none; its image is E2E_PREVIOUS_IMAGE.
	PreviousInstaller, PreviousImage string
	// AuditLog is E2E_AUDIT_LOG: the API server's audit log. Empty where it cannot
	// be read.
	AuditLog string
	// Artifacts is E2E_ARTIFACTS: where failed tests leave what they saw. Defaults to
	// artifacts.
	Artifacts string
}

// Cluster is a connection to a cluster, as its administrator.
type Cluster struct {
	// Client knows the built-in kinds and Memcached.
	client.Client
	Config  *rest.Config
	Clients kubernetes.Interface
	Environment
}

// Connect connects to the cluster that the environment names.
func Connect() (*Cluster, error) {
	c := &Cluster{Environment: Environment{
		Kubeconfig:        fromRoot("E2E_KUBECONFIG", ""),
		Installer:         fromRoot("E2E_INSTALLER", "dist/install.yaml"),
		Image:             os.Getenv("E2E_IMAGE"),
		PreviousInstaller: fromRoot("E2E_PREVIOUS_INSTALLER", ""),
		PreviousImage:     os.Getenv("E2E_PREVIOUS_IMAGE"),
		AuditLog:          fromRoot("E2E_AUDIT_LOG", ""),
		Artifacts:         fromRoot("E2E_ARTIFACTS", "artifacts"),
	}}
	if c.Kubeconfig == "" {
		return nil, errors.New("the tests need a cluster: `make e2e` makes one; or set E2E_KUBECONFIG, and E2E_IMAGE to an image of the operator that its nodes have")
	}
	var err error
	if c.Config, err = clientcmd.BuildConfigFromFlags("", c.Kubeconfig); err != nil {
		return nil, fmt.Errorf("reading E2E_KUBECONFIG: %w", err)
	}
	c.Config.QPS = -1
	scheme := apiruntime.NewScheme()
	if err := errors.Join(clientgoscheme.AddToScheme(scheme), cachev1alpha1.AddToScheme(scheme)); err != nil {
		return nil, err
	}
	if c.Client, err = client.New(c.Config, client.Options{Scheme: scheme}); err != nil {
		return nil, fmt.Errorf("connecting to the cluster of E2E_KUBECONFIG: %w", err)
	}
	if c.Clients, err = kubernetes.NewForConfig(c.Config); err != nil {
		return nil, err
	}
	return c, nil
}

// Root returns the root of the repository.
func Root() string { return controlplane.Root() }

func fromRoot(variable, otherwise string) string {
	path := os.Getenv(variable)
	if path == "" {
		path = otherwise
	}
	if path == "" || filepath.IsAbs(path) {
		return path
	}
	return filepath.Join(Root(), path)
}

// Must ends the test when err is one.
func Must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
