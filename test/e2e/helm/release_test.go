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

// helms are the supported versions of Helm, as they are called in bin/.
var helms = []string{"helm3", "helm4"}

var chart = filepath.Join(controlplane.Root(), "charts", "memcached-operator")

func program(name string) string { return filepath.Join(controlplane.Root(), "bin", name) }

// helm is one of the programs, with settings of its own.
type helm struct{ name, home string }

// forEachHelm runs test with one Helm after the other.
func forEachHelm(t *testing.T, test func(*testing.T, helm)) {
	t.Helper()
	for _, name := range helms {
		t.Run(name, func(t *testing.T) { test(t, helm{name, t.TempDir()}) })
	}
}

func (h helm) try(t *testing.T, arguments ...string) (string, error) {
	t.Helper()
	command := exec.CommandContext(context.WithoutCancel(t.Context()), program(h.name), arguments...)
	command.Env = append(os.Environ(), "KUBECONFIG="+suite.Kubeconfig,
		"HELM_CACHE_HOME="+h.home, "HELM_CONFIG_HOME="+h.home, "HELM_DATA_HOME="+h.home)
	output, err := command.CombinedOutput()
	return string(output), err
}

// release is a release and the operator in it.
type release struct {
	helm
	*cluster.Operator
	name string
}

// newRelease is a release that is still to be installed.
func newRelease(h helm, name, namespace string) release {
	fullname := name
	if !strings.Contains(name, "memcached-operator") {
		fullname += "-memcached-operator"
	}
	return release{h, &cluster.Operator{Cluster: suite.Cluster, Namespace: namespace, Name: fullname + "-controller-manager", Lease: fullname}, name}
}

// run runs a command of Helm on the release and returns what it prints.
func (r release) run(t *testing.T, command string, arguments ...string) string {
	t.Helper()
	output, err := r.tryOn(t, command, arguments...)
	if err != nil {
		t.Fatalf("%s %s %s %s: %v\n%s", r.helm.name, command, r.name, strings.Join(arguments, " "), err, output)
	}
	return output
}

// refuses runs a command of Helm, which has to fail with all of want in its message.
func (r release) refuses(t *testing.T, want []string, command string, arguments ...string) {
	t.Helper()
	output, err := r.tryOn(t, command, arguments...)
	if err == nil {
		t.Fatalf("%s %s %s %s is not refused", r.helm.name, command, r.name, strings.Join(arguments, " "))
	}
	for _, words := range want {
		if !strings.Contains(output, words) {
			t.Errorf("%s %s %s: the message lacks %q:\n%s", r.helm.name, command, r.name, words, output)
		}
	}
}

func (r release) tryOn(t *testing.T, command string, arguments ...string) (string, error) {
	t.Helper()
	started := time.Now()
	output, err := r.try(t, append([]string{command, r.name, "--namespace", r.Namespace, "--wait", "--timeout", testenv.Timeout.String()}, arguments...)...)
	t.Logf("%s %s %s took %s", r.helm.name, command, r.name, time.Since(started).Round(100*time.Millisecond))
	return output, err
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
func forAll(t *testing.T, h helm, namespace string) release {
	t.Helper()
	r := newRelease(h, "memcached-operator", namespace)
	home := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: namespace}}
	suite.EventuallyGone(t, home)
	t.Cleanup(func() {
		ctx := context.WithoutCancel(t.Context())
		if output, err := r.tryOn(t, "uninstall", "--ignore-not-found"); err != nil {
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

// forSome is a release for namespaces only, installed into the first of them; it goes with them.
func forSome(t *testing.T, h helm, name string, namespaces []string, arguments ...string) (release, []string) {
	t.Helper()
	r := newRelease(h, name, namespaces[0])
	values := append([]string{"--set", "crds.enabled=false", "--set", "watchNamespaces={" + strings.Join(namespaces, ",") + "}"}, arguments...)
	r.install(t, values...)
	return r, values
}
