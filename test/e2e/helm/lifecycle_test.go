// SPDX-License-Identifier: Apache-2.0

//go:build e2e

package helm

import (
	"os"
	"path/filepath"
	"strings"
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

// TestRelease_InstallsUpgradesAndUninstalls goes through the life of a release for all namespaces, as the README tells it.
func TestRelease_InstallsUpgradesAndUninstalls(t *testing.T) {
	forEachHelm(t, func(t *testing.T, h helm) {
		r := forAll(t, h, "memcached-operator-system")
		r.install(t, "--create-namespace")
		suite.Kubectl(t, "label", "namespace", r.Namespace, "pod-security.kubernetes.io/enforce=restricted")
		namespace := suite.NewNamespace(t)
		f := suite.Fill(t, namespace, "kept", 2)

		refusesASecondOne(t, r)
		rollsTheOperatorOnly(t, r, f)
		picksUpWhatItLeft(t, r, f)
	})
}

func refusesASecondOne(t *testing.T, r release) {
	t.Helper()
	second := newRelease(r.helm, "second", suite.NewNamespace(t))
	second.refuses(t, []string{`release "memcached-operator" in the namespace "memcached-operator-system"`, "all namespaces"},
		"install", of(chart, suite.Image, "--set", "crds.enabled=false")...)
}

func rollsTheOperatorOnly(t *testing.T, r release, f cluster.Filled) {
	t.Helper()
	before := cluster.Names(r.Settled(t))
	r.upgrade(t, "--set", "logLevel=debug", "--set", "replicaCount=2")
	pods := r.Settled(t)
	if len(pods) != 2 || strings.Contains(strings.Join(cluster.Names(pods), " "), before[0]) {
		t.Errorf("the operator's pods were %v and are %v, want two others", before, cluster.Names(pods))
	}
	r.Applied(t, 1)
	f.WantKept(t, "a change of values")
}

// picksUpWhatItLeft uninstalls and installs again.
func picksUpWhatItLeft(t *testing.T, r release, f cluster.Filled) {
	t.Helper()
	before := f.Versions(t)
	r.run(t, "uninstall")
	suite.EventuallyGone(t, r.Manager())
	suite.Get(t, testenv.Definition())
	f.WantKept(t, "the uninstall")
	f.WantVersions(t, before, "the uninstall")
	r.install(t)
	r.WantPickedUp(t, f, before)
}

// TestRelease_UpgradesFromThePreviousChart goes from the version before to this one, and back.
func TestRelease_UpgradesFromThePreviousChart(t *testing.T) {
	previous := previousChart(t)
	forEachHelm(t, func(t *testing.T, h helm) {
		r := forAll(t, h, "memcached-operator-previous")
		// With templates of its own: their files must outlive the way back as well.
		values := []string{"--values", write(t, edited)}
		r.run(t, "install", of(previous, suite.PreviousImage, append(values, "--create-namespace")...)...)
		namespace := suite.NewNamespace(t)
		f := suite.Fill(t, namespace, "kept", 2)
		steps := []struct {
			what, image string
			take        func()
		}{
			{"the upgrade", suite.Image, func() { r.upgrade(t, values...) }},
			{"the rollback", suite.PreviousImage, func() { r.rollback(t, 1) }},
		}
		for _, step := range steps {
			step.take()
			if got := suite.Deployment(t, r.Namespace, r.Name).Spec.Template.Spec.Containers[0].Image; got != step.image {
				t.Fatalf("after %s the operator's image is %s, want %s", step.what, got, step.image)
			}
			r.Applied(t, 1)
			f.WantKept(t, step.what)
		}
	})
}

// previousChart is the directory of the chart of the version before, or the reason to skip.
func previousChart(t *testing.T) string {
	t.Helper()
	directory := os.Getenv("E2E_PREVIOUS_CHART")
	if directory == "" || suite.PreviousImage == "" {
		t.Skip("E2E_PREVIOUS_CHART and E2E_PREVIOUS_IMAGE are not set: there is no version to upgrade from")
	}
	if !filepath.IsAbs(directory) {
		directory = filepath.Join(controlplane.Root(), directory)
	}
	if _, err := os.Stat(filepath.Join(directory, "Chart.yaml")); err != nil {
		t.Fatalf("E2E_PREVIOUS_CHART is the directory of the chart of the version before: %v", err)
	}
	return directory
}
