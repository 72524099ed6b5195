// SPDX-License-Identifier: Apache-2.0

//go:build e2e

package e2e

import (
	"context"
	"fmt"
	"os"
	"testing"

	corev1 "k8s.io/api/core/v1"

	cachev1alpha1 "github.com/example/memcached-operator/apis/v1alpha1"
	"github.com/example/memcached-operator/test/e2e/cluster"
	"github.com/example/memcached-operator/test/testenv"
)

// TestUpgrade_RestartsNoMemcached goes from the version before to this one, back,
// and forth again, under twenty Memcacheds, half of them with many fields. It disturbs the operator, so it is not parallel.
func TestUpgrade_RestartsNoMemcached(t *testing.T) {
	if suite.PreviousInstaller == "" || suite.PreviousImage == "" {
		t.Skip("E2E_PREVIOUS_INSTALLER and E2E_PREVIOUS_IMAGE are not set: there is no version to upgrade from")
	}
	if _, err := os.Stat(suite.PreviousInstaller); err != nil {
		t.Fatal(err)
	}
	// The roles of the version before grant less: this one, until it is replaced, may have nothing left to do for another test.
	suite.NoTestNamespaces(t)
	namespace := suite.NewNamespace(t)
	t.Cleanup(func() { install(t, suite.Installer, suite.Image) })
	install(t, suite.PreviousInstaller, suite.PreviousImage)

	const count = 20
	var all []*cachev1alpha1.Memcached
	for i := range count {
		var edits []func(*cachev1alpha1.MemcachedSpec)
		if i%2 > 0 {
			edits = append(edits, cluster.WithEveryObject, func(spec *cachev1alpha1.MemcachedSpec) {
				spec.Threads, spec.IdleTimeoutSeconds, spec.Verbosity = new(int32(2)), new(int32(60)), new(int32(1))
				spec.PodMetadata = &cachev1alpha1.PodMetadata{Labels: cachev1alpha1.Labels{"team": "web"}, Annotations: cachev1alpha1.Annotations{"example.com/a": "b"}}
				spec.NodeSelector = map[string]cachev1alpha1.LabelValue{"kubernetes.io/os": "linux"}
				spec.Tolerations = []cachev1alpha1.Toleration{{Key: "example.com/a", Operator: corev1.TolerationOpExists}}
				spec.ExtraArgs = []cachev1alpha1.ExtraArg{"--disable-cas"}
				spec.PreStop = &cachev1alpha1.PreStop{SleepSeconds: 1}
			})
		}
		all = append(all, suite.NewMemcached(t, namespace, fmt.Sprintf("kept-%d", i), 1, edits...))
	}
	pods := func() string {
		lives := ""
		for _, mc := range all {
			suite.Ready(t, mc)
			lives += cluster.Lives(suite.Pods(t, namespace, mc.Name))
		}
		return lives
	}
	before := pods()
	for _, step := range []struct{ how, installer, image string }{
		{"upgrade", suite.Installer, suite.Image},
		{"back", suite.PreviousInstaller, suite.PreviousImage},
		{"upgrade again", suite.Installer, suite.Image},
	} {
		install(t, step.installer, step.image)
		suite.operator.Applied(t, count)
		if after := pods(); after != before {
			t.Fatalf("%s: the pods were:\n%sand are:\n%s", step.how, before, after)
		}
	}
}

// install applies an installer over what is there and waits until its operator leads.
func install(t *testing.T, installer, image string) {
	t.Helper()
	testenv.NoError(t, suite.ApplyFile(context.WithoutCancel(t.Context()), installer))
	suite.operator.Settled(t)
	suite.operator.Leader(t)
	d := suite.operator.Manager()
	suite.Get(t, d)
	if got := d.Spec.Template.Spec.Containers[0].Image; image != "" && got != image {
		t.Fatalf("%s installs %s, want %s", installer, got, image)
	}
}
