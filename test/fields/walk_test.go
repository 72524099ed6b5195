// SPDX-License-Identifier: Apache-2.0

package fields

import (
	"context"
	"fmt"
	"net/http"
	"os"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/example/memcached-operator/manifests"
	"github.com/example/memcached-operator/reconcilers/render"
	"github.com/example/memcached-operator/test/testenv"
)

// suite is what all tests share: a control plane with the kinds of the Prometheus operator, and an operator.
var suite struct {
	testenv.Env
	operator *testenv.Manager
	// recorder has the operator's writes.
	recorder testenv.Recorder
}

func TestMain(m *testing.M) {
	os.Exit(testenv.Main(m, &suite.Env, testenv.Setup{Identity: true, Prepare: prepare}))
}

func prepare(ctx context.Context) (err error) {
	if err := suite.InstallPrometheusOperator(ctx); err != nil {
		return err
	}
	suite.recorder.Skip = func(req *http.Request) bool { return req.Method == http.MethodGet }
	if suite.operator, err = suite.StartManager(ctx, testenv.ManagerOptions{Templates: parameters(), Wrap: suite.recorder.Wrap}); err != nil {
		return err
	}
	suite.Cleanup(suite.operator.Wait)
	return nil
}

// parameters returns templates that declare as many parameters as a Memcached may set.
func parameters() map[string]string {
	var names []string
	for i := range int64(maxParameters) {
		names = append(names, sampleKey(&node{path: "spec.parameters"}, i))
	}
	return testenv.Parameters(names...)
}

// templates are the shipped ones with parameters.
func templates(t *testing.T) render.Tree {
	t.Helper()
	tree, err := render.LoadTree(manifests.FS)
	testenv.NoError(t, err)
	for file, content := range parameters() {
		tree[file] = []byte(content)
	}
	return tree
}

func newWalker(t *testing.T, tree render.Tree) *walker {
	t.Helper()
	renderer, err := render.New(tree, render.Defaults{AllowPrivilegedFields: true})
	testenv.NoError(t, err)
	return &walker{namespace: suite.NewNamespace(t), renderer: renderer}
}

func TestFields_AreValidatedAndRendered(t *testing.T) {
	w := newWalker(t, templates(t))
	nodes := specSchema(t).all()
	var covered atomic.Int64
	t.Run("properties", func(t *testing.T) {
		for _, n := range nodes {
			t.Run(n.path, func(t *testing.T) {
				t.Parallel()
				if err := w.walk(t.Context(), n); err != nil {
					t.Error(err)
					return
				}
				covered.Add(1)
			})
		}
	})
	t.Run("render rejects as the API server", w.answers.compare)
	share := 100 * float64(covered.Load()) / float64(len(nodes))
	t.Logf("%d of %d properties are covered: %.1f %%", covered.Load(), len(nodes), share)
	if share < 100 {
		t.Error("a property is not wired, not checked, or has no sample")
	}
}

// TestFields_FindsAPropertyThatIsNotWired takes components away: the walk must miss what
// they do.
func TestFields_FindsAPropertyThatIsNotWired(t *testing.T) {
	t.Parallel()
	unwired := map[string]string{
		"threads":                            "spec.threads",
		"affinity":                           "spec.affinity.podAffinity.preferredDuringSchedulingIgnoredDuringExecution[].weight",
		"metrics.serviceMonitor.labels":      "spec.metrics.serviceMonitor.labels[key]",
		"podDisruptionBudget.maxUnavailable": "spec.podDisruptionBudget.maxUnavailable",
		"networkPolicy.metricsFrom":          "spec.networkPolicy.metricsFrom[].ipBlock.cidr",
	}
	tree := templates(t)
	for component := range unwired {
		const file = "components/%s/kustomization.yaml"
		if _, ok := tree[fmt.Sprintf(file, component)]; !ok {
			t.Fatalf("there is no component %s", component)
		}
		delete(tree, fmt.Sprintf(file, component))
	}
	w := newWalker(t, tree)
	for component, path := range unwired {
		n := nodeAt(specSchema(t), path)
		if n == nil {
			t.Fatalf("there is no property %s", path)
		}
		if err := w.walk(t.Context(), n); err == nil || !strings.Contains(err.Error(), "is the property wired") {
			t.Errorf("without the component %s the walk says of %s: %v", component, path, err)
		}
	}
}

func nodeAt(root *node, path string) *node {
	for _, n := range root.all() {
		if n.path == path {
			return n
		}
	}
	return nil
}

// TestFields_TablesNameExistingProperties finds what is left in the tables when a property goes.
func TestFields_TablesNameExistingProperties(t *testing.T) {
	t.Parallel()
	nodes := specSchema(t).all()
	for name, ends := range map[string][]string{
		"samples": ends(samples), "always": ends(always), "beside": ends(beside), "unseen": ends(unseen),
		"indispensable": ends(indispensable), "implied": ends(implied), "unrenderable": ends(unrenderable),
	} {
		for _, end := range ends {
			found := false
			for _, n := range nodes {
				found = found || strings.HasSuffix(n.path, end)
			}
			if !found {
				t.Errorf("%s: no property ends with %s", name, end)
			}
		}
	}
}

func ends[T any](table map[string]T) []string {
	var result []string
	for end := range table {
		result = append(result, end)
	}
	return result
}
