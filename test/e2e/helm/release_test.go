// SPDX-License-Identifier: Apache-2.0

//go:build e2e

package helm

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/example/memcached-operator/test/controlplane"
	"github.com/example/memcached-operator/test/e2e/cluster"
	"github.com/example/memcached-operator/test/testenv"
)

var (
	chart = filepath.Join(controlplane.Root(), "charts", "memcached-operator")
	helm4 = filepath.Join(controlplane.Root(), "bin", "helm4")
)

// release is a release and the operator in it.
type release struct {
	*cluster.Operator
	name string
}

// newRelease is a release that is still to be installed.
func newRelease(name, namespace string) release {
	fullname := name
	if !strings.Contains(name, "memcached-operator") {
		fullname += "-memcached-operator"
	}
	return release{&cluster.Operator{Cluster: suite.Cluster, Namespace: namespace, Name: fullname + "-controller-manager", Lease: fullname}, name}
}

// run runs a command of Helm on the release.
func (r release) run(t *testing.T, command string, arguments ...string) {
	t.Helper()
	if output, err := r.try(t, command, arguments...); err != nil {
		t.Fatalf("helm %s %s %s: %v\n%s", command, r.name, strings.Join(arguments, " "), err, output)
	}
}

// refuses runs a command of Helm, which has to fail with all of want in its message.
func (r release) refuses(t *testing.T, want []string, command string, arguments ...string) {
	t.Helper()
	if output, err := r.try(t, command, arguments...); err == nil || !cluster.ContainsAll(output, want) {
		t.Errorf("helm %s %s: %v, and the message is not %q:\n%s", command, r.name, err, want, output)
	}
}

func (r release) try(t *testing.T, command string, arguments ...string) (string, error) {
	t.Helper()
	started := time.Now()
	home, err := os.MkdirTemp("", "helm-") // a cleanup of the test comes here too
	testenv.NoError(t, err)
	defer func() { _ = os.RemoveAll(home) }()
	helm := exec.CommandContext(context.WithoutCancel(t.Context()), helm4,
		append([]string{command, r.name, "--namespace", r.Namespace, "--wait", "--timeout", testenv.Timeout.String()}, arguments...)...)
	helm.Env = append(os.Environ(), "KUBECONFIG="+suite.Kubeconfig, "HELM_CACHE_HOME="+home, "HELM_CONFIG_HOME="+home, "HELM_DATA_HOME="+home)
	output, err := helm.CombinedOutput()
	t.Logf("helm %s %s took %s", command, r.name, time.Since(started).Round(100*time.Millisecond))
	return string(output), err
}

// of are the arguments that choose a chart and the operator's image.
func of(chart, image string, more ...string) []string {
	arguments := []string{chart}
	set := func(name, value string) { arguments = append(arguments, "--set-string", "image."+name+"="+value) }
	image, digest, _ := strings.Cut(image, "@")
	set("digest", digest)
	if colon := strings.LastIndexByte(image, ':'); colon > strings.LastIndexByte(image, '/') {
		set("tag", image[colon+1:])
		image = image[:colon]
	}
	// A registry is told by what a repository's name cannot hold.
	if host, repository, found := strings.Cut(image, "/"); found && (strings.ContainsAny(host, ".:") || host == "localhost") {
		set("registry", host)
		image = repository
	}
	set("repository", image)
	return append(arguments, more...)
}

// install installs the chart and waits until its operator leads.
func (r release) install(t *testing.T, arguments ...string) {
	t.Helper()
	r.run(t, "install", of(chart, suite.Image, arguments...)...)
	r.Leader(t)
}

// upgrade goes to the chart with the values in arguments and no others, and waits until
// its operator leads.
func (r release) upgrade(t *testing.T, arguments ...string) {
	t.Helper()
	r.run(t, "upgrade", of(chart, suite.Image, arguments...)...)
	r.Settled(t)
	r.Leader(t)
}

// rollback goes back to a revision.
func (r release) rollback(t *testing.T, revision int) {
	t.Helper()
	r.run(t, "rollback", fmt.Sprint(revision))
	r.Settled(t)
	r.Leader(t)
}

// forAll is a release for all namespaces, called as the documentation does. It goes with the
// test, and the CustomResourceDefinition with it; its namespace goes after that.
func forAll(t *testing.T, namespace string) release {
	t.Helper()
	r := newRelease("memcached-operator", namespace)
	home := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: namespace}}
	suite.EventuallyGone(t, home)
	t.Cleanup(func() {
		ctx := context.WithoutCancel(t.Context())
		if output, err := r.try(t, "uninstall", "--ignore-not-found"); err != nil {
			t.Errorf("uninstalling: %v\n%s", err, output)
		}
		for _, object := range []client.Object{testenv.Definition(), home} {
			testenv.NoError(t, client.IgnoreNotFound(suite.Client.Delete(ctx, object)))
		}
		suite.EventuallyGone(t, testenv.Definition())
	})
	suite.KeepOnFailure(t, namespace)
	return r
}
