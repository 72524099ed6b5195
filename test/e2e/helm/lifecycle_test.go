// SPDX-License-Identifier: Apache-2.0

//go:build e2e

package helm

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/example/memcached-operator/test/controlplane"
	"github.com/example/memcached-operator/test/e2e/cluster"
	"github.com/example/memcached-operator/test/testenv"
)

// edited are values that give every memcached less memory.
const edited = `
manifests:
  components/site/kustomization.yaml: |
    apiVersion: kustomize.config.k8s.io/v1alpha1
    kind: Component
    patches:
    - patch: |-
        apiVersion: apps/v1
        kind: Deployment
        metadata: {name: memcached}
        spec: {template: {spec: {containers: [{name: memcached, env: [{name: MEMCACHED_MEMORY_LIMIT, value: "32"}]}]}}}
`

// TestRelease_KeepsCaches goes through the life of a release for all namespaces: from the version before to this one, back,
// forth again with other values, and to an uninstall and the next install. Without a version before it begins with this one.
func TestRelease_KeepsCaches(t *testing.T) {
	r := forAll(t, "memcached-operator-system")
	// With templates of its own: their files must outlive the way back as well.
	values := []string{"--values", write(t, edited)}
	previous := previousChart(t)
	if previous == "" {
		r.install(t, append(values, "--create-namespace")...)
	} else {
		r.run(t, "install", of(previous, suite.PreviousImage, append(values, "--create-namespace")...)...)
	}
	suite.Kubectl(t, "label", "namespace", r.Namespace, "pod-security.kubernetes.io/enforce=restricted")
	f := suite.Fill(t, suite.NewNamespace(t), "kept", 2)
	then := func(what, image string) {
		if got := suite.Deployment(t, r.Namespace, r.Name).Spec.Template.Spec.Containers[0].Image; got != image {
			t.Fatalf("after %s the operator's image is %s, want %s", what, got, image)
		}
		r.Applied(t, 1)
		f.WantKept(t, what)
	}
	if previous != "" {
		r.upgrade(t, values...)
		then("the upgrade", suite.Image)
		r.rollback(t, 1)
		then("the rollback", suite.PreviousImage)
	}
	r.upgrade(t, append(values, "--set", "logLevel=debug", "--set", "replicaCount=2")...)
	then("a change of values", suite.Image)
	if pods := r.Settled(t); len(pods) != 2 {
		t.Errorf("the operator's pods are %v, want two", cluster.Names(pods))
	}
	second := newRelease("second", suite.NewNamespace(t))
	second.refuses(t, []string{`release "memcached-operator" in the namespace "memcached-operator-system"`, "all namespaces"},
		"install", of(chart, suite.Image, "--set", "crds.enabled=false")...)

	before := f.Versions(t)
	r.run(t, "uninstall")
	suite.EventuallyGone(t, r.Manager())
	suite.Get(t, testenv.Definition())
	f.WantKept(t, "the uninstall")
	f.WantVersions(t, before, "the uninstall")
	r.install(t, values...)
	r.WantPickedUp(t, f, before)
}

// previousChart is the directory of the chart of the version before; empty where there is none to upgrade from.
func previousChart(t *testing.T) string {
	t.Helper()
	directory := os.Getenv("E2E_PREVIOUS_CHART")
	if directory == "" || suite.PreviousImage == "" {
		t.Log("E2E_PREVIOUS_CHART and E2E_PREVIOUS_IMAGE are not set: there is no version to upgrade from")
		return ""
	}
	if !filepath.IsAbs(directory) {
		directory = filepath.Join(controlplane.Root(), directory)
	}
	if _, err := os.Stat(filepath.Join(directory, "Chart.yaml")); err != nil {
		t.Fatalf("E2E_PREVIOUS_CHART is the directory of the chart of the version before: %v", err)
	}
	return directory
}
