// SPDX-License-Identifier: Apache-2.0

//go:build e2e

package e2e

import (
	"context"
	"fmt"
	"os"
	"testing"

	"sigs.k8s.io/controller-runtime/pkg/client"

	cachev1alpha1 "github.com/example/memcached-operator/apis/v1alpha1"
	"github.com/example/memcached-operator/test/e2e/cluster"
)

// TestUpgrade_RestartsNoMemcached goes from the version before to this one, back,
// and forth again, under twenty Memcacheds. It disturbs the operator, so it is not parallel.
func TestUpgrade_RestartsNoMemcached(t *testing.T) {
	if suite.PreviousInstaller == "" || suite.PreviousImage == "" {
		t.Skip("E2E_PREVIOUS_INSTALLER and E2E_PREVIOUS_IMAGE are not set: there is no version to upgrade from")
	}
	if _, err := os.Stat(suite.PreviousInstaller); err != nil {
		t.Fatal(err)
	}
	namespace := suite.NewNamespace(t)
	reader := suite.Reader(t, namespace, "memcached-operator-metrics-reader")
	t.Cleanup(func() { install(t, suite.Installer, suite.Image) })
	install(t, suite.PreviousInstaller, suite.PreviousImage)

	const count = 20
	var all []*cachev1alpha1.Memcached
	for i := range count {
		all = append(all, suite.NewMemcached(t, namespace, fmt.Sprintf("kept-%d", i), 1))
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
		lookedAtAny(t, reader, count)
		if after := pods(); after != before {
			t.Fatalf("%s: the pods were:\n%sand are:\n%s", step.how, before, after)
		}
	}
}

// install applies an installer over what is there and waits until its operator leads.
func install(t *testing.T, installer, image string) {
	t.Helper()
	ctx := context.WithoutCancel(t.Context())
	cluster.Must(t, suite.ApplyFile(ctx, installer))
	suite.operator.Settled(t)
	suite.operator.Leader(t)
	d := suite.operator.Manager()
	cluster.Must(t, suite.Get(ctx, client.ObjectKeyFromObject(d), d))
	if got := d.Spec.Template.Spec.Containers[0].Image; image != "" && got != image {
		t.Fatalf("%s installs %s, want %s", installer, got, image)
	}
}

// lookedAtAny waits until the leading operator, of whatever version, has looked at every object of
// count Memcacheds, and whatever it did about them.
func lookedAtAny(t *testing.T, reader string, count int) {
	t.Helper()
	leader := suite.operator.Leader(t)
	cluster.Eventually(t, fmt.Sprintf("the operator has looked at %d Memcacheds", count), func(context.Context) (bool, string, error) {
		metrics := suite.operator.Metrics(t, leader, reader)
		objects := cluster.Value(t, metrics, "memcached_operator_objects_total")
		return objects >= float64(3*count), fmt.Sprintf("%.0f objects", objects), nil
	})
}
