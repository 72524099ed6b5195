// SPDX-License-Identifier: Apache-2.0

// Package rollout tests how a change of the templates reaches the Memcacheds of a cluster: with the operator's
// binary and a control plane, whose controllers replace pods on simulated nodes.
package rollout

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	cachev1alpha1 "github.com/example/memcached-operator/apis/v1alpha1"
	"github.com/example/memcached-operator/internal/program"
	"github.com/example/memcached-operator/test/testenv"
)

// suite is what the tests share: the control plane, the operator's identity and its binary.
var suite testenv.Env

func TestMain(m *testing.M) {
	os.Exit(testenv.Main(m, &suite, testenv.Setup{Identity: true, Program: program.Main}))
}

// site is the file of the component for a site's own changes.
const site = "components/site/kustomization.yaml"

// fleet is the Memcacheds of one namespace, and an operator of its own for them.
type fleet struct {
	t                    *testing.T
	namespace, templates string
	maxRolling, writes   int
	metrics              string
	operator             *testenv.Process
}

// newFleet creates Memcacheds of these sizes, called cache-000 and so on, and waits until all are ready.
func newFleet(t *testing.T, maxRolling int, sizes ...int32) *fleet {
	t.Helper()
	f := &fleet{t: t, namespace: suite.NewNamespace(t), templates: t.TempDir(), maxRolling: maxRolling, metrics: testenv.FreeAddress(t)}
	f.edit("first")
	for i, size := range sizes {
		suite.NewMemcached(t, f.namespace, name(i), size)
	}
	f.start()
	f.settled()
	return f
}

func name(i int) string { return fmt.Sprintf("cache-%03d", i) }

// edit writes templates whose pods have an annotation of this value, with patches of the Deployment's spec.
func (f *fleet) edit(value string, patches ...string) {
	f.t.Helper()
	f.write(map[string]string{site: annotated(value, patches...)})
}

// annotated returns the component of edit. New pods count as soon as they are ready, so that roll-outs are fast.
func annotated(value string, patches ...string) string {
	annotation := "{minReadySeconds: 0, template: {metadata: {annotations: {example.com/edit: " + value + "}}}}"
	return component(append([]string{annotation}, patches...)...)
}

// component returns a component with patches of the Deployment's spec.
func component(patches ...string) string {
	var text strings.Builder
	text.WriteString("apiVersion: kustomize.config.k8s.io/v1alpha1\nkind: Component\npatches:\n")
	for _, patch := range patches {
		fmt.Fprintf(&text, "- patch: '{apiVersion: apps/v1, kind: Deployment, metadata: {name: memcached}, spec: %s}'\n", patch)
	}
	return text.String()
}

// write makes files, by path, those of the templates' directory, in the way in which the kubelet updates the volume of a
// ConfigMap: a symbolic link to all of them is replaced.
func (f *fleet) write(files map[string]string) {
	f.t.Helper()
	f.writes++
	data := fmt.Sprintf("..%d", f.writes)
	for name, content := range files {
		testenv.WriteFile(f.t, filepath.Join(f.templates, data, name), content)
	}
	link := filepath.Join(f.templates, "..data")
	testenv.NoError(f.t, os.Symlink(data, link+"_tmp"))
	testenv.NoError(f.t, os.Rename(link+"_tmp", link))
	if f.writes == 1 {
		testenv.NoError(f.t, os.Symlink("..data/components", filepath.Join(f.templates, "components")))
	}
}

// start starts the operator, with the templates as they are now.
func (f *fleet) start() {
	f.t.Helper()
	f.operator = testenv.StartBinary(f.t, suite.Binary, "--kubeconfig="+testenv.Kubeconfig(f.t, suite.Operator, ""),
		"--watch-namespaces="+f.namespace, "--manifests-dir="+f.templates, fmt.Sprintf("--max-rolling=%d", f.maxRolling),
		"--health-probe-bind-address=127.0.0.1:0", "--metrics-bind-address="+f.metrics, "--metrics-secure=false")
}

// list returns all Memcacheds.
func (f *fleet) list(ctx context.Context) ([]cachev1alpha1.Memcached, error) {
	memcacheds := &cachev1alpha1.MemcachedList{}
	err := suite.Client.List(ctx, memcacheds, client.InNamespace(f.namespace))
	return memcacheds.Items, err
}

// settled waits until all Memcacheds are ready, without a note at the end of their message.
func (f *fleet) settled() {
	f.t.Helper()
	testenv.Eventually(f.t, "all Memcacheds should be ready", func(ctx context.Context) (bool, error) {
		memcacheds, err := f.list(ctx)
		for _, mc := range memcacheds {
			if !testenv.HasCondition(&mc, cachev1alpha1.ConditionReady, metav1.ConditionTrue, "") || isWaiting(&mc) {
				return false, nil
			}
		}
		return true, err
	})
}

// isWaiting reports whether the status of mc says that it waits.
func isWaiting(mc *cachev1alpha1.Memcached) bool {
	for _, condition := range mc.Status.Conditions {
		if strings.Contains(condition.Message, "waiting for roll-out") {
			return true
		}
	}
	return false
}

// memcached reads a Memcached until condition is true.
func (f *fleet) memcached(i int, want string, condition func(*cachev1alpha1.Memcached) bool) *cachev1alpha1.Memcached {
	f.t.Helper()
	mc := testenv.Memcached(f.namespace, name(i), 0)
	return testenv.EventuallyObject(f.t, &suite, mc, name(i)+" "+want, condition)
}

// edits returns the annotation of each pod template, in the order of the Memcacheds.
func (f *fleet) edits() []string {
	f.t.Helper()
	var edits []string
	for i := range f.size() {
		edits = append(edits, suite.Deployment(f.t, f.namespace, name(i)).Spec.Template.Annotations["example.com/edit"])
	}
	return edits
}

func (f *fleet) size() int {
	f.t.Helper()
	memcacheds, err := f.list(f.t.Context())
	testenv.NoError(f.t, err)
	return len(memcacheds)
}
