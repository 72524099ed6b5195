// SPDX-License-Identifier: Apache-2.0

package diff_test

import (
	"bytes"
	"net/http"
	"reflect"
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"

	cachev1alpha1 "github.com/example/memcached-operator/apis/v1alpha1"
	"github.com/example/memcached-operator/internal/diff"
	"github.com/example/memcached-operator/test/testenv"
)

// The prediction is compared with what the operator does with the new templates.
func TestCompare_PredictsWhatTheOperatorDoes(t *testing.T) {
	t.Parallel()
	for name, edit := range edits {
		for _, user := range []string{"administrator", "reader"} {
			t.Run(name+"/"+user, func(t *testing.T) {
				t.Parallel()
				before, after := edit.templates(t)
				namespace := suite.NewNamespace(t)
				named := testenv.Memcached(namespace, "cache", 2)
				named.Spec.StableNames = &cachev1alpha1.StableNames{}
				newMemcacheds(t, namespace, before, named, testenv.Memcached(namespace, "empty", 0))
				cfg := suite.Config
				if user == "reader" {
					cfg = newReader(t, namespace)
				}
				renderer := after.renderer(t)
				cluster := newCluster(t, cfg, renderer, before.renderer(t))
				comparisons := compare(t, cluster, namespace, renderer)
				if got, want := cluster.Computes(), user == "reader"; got != want {
					t.Errorf("Computes is %v", got)
				}
				if len(comparisons) != 2 {
					t.Fatalf("%d comparisons", len(comparisons))
				}
				generations := generationsOf(t, namespace)
				for _, comparison := range comparisons {
					edit.check(t, comparison)
					if slices.Contains(edit.changes, "change Deployment") {
						generations[comparison.Name]++
					}
				}
				runUntilUnchanged(t, namespace, after, cluster)
				if got := generationsOf(t, namespace); !reflect.DeepEqual(got, generations) {
					t.Errorf("the generations are %v, want %v", got, generations)
				}
			})
		}
	}
}

// runUntilUnchanged runs an operator with files until cluster shows no difference.
func runUntilUnchanged(t *testing.T, namespace string, files templates, cluster *diff.Cluster) {
	t.Helper()
	defer runOperator(t, namespace, files)()
	renderer := files.renderer(t)
	testenv.Eventually(t, "no Memcached should differ", func() bool {
		for _, comparison := range compare(t, cluster, namespace, renderer) {
			if len(comparison.Changes) > 0 {
				return false
			}
		}
		return true
	})
}

func TestCompare_ReportsWhatCannotBeApplied(t *testing.T) {
	t.Parallel()
	namespace := suite.NewNamespace(t)
	invalid := testenv.Memcached(namespace, "invalid", 1)
	invalid.Spec.Patches = []cachev1alpha1.Patch{{Target: cachev1alpha1.PatchTarget{Kind: "Deployment"}, Patch: "spec: {replicas: many}"}}
	paused := testenv.Memcached(namespace, "paused", 1)
	paused.Spec.Paused = new(true)
	suite.Create(t, invalid, paused, testenv.Memcached(namespace, "taken", 1), testenv.Memcached(namespace, "fine", 1),
		&corev1.Service{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "taken"}, Spec: corev1.ServiceSpec{Ports: []corev1.ServicePort{{Port: 80}}}})
	// The API server rejects the name of the port.
	files := site(`- patch: |-
    apiVersion: v1
    kind: Service
    metadata: {name: memcached}
    spec: {clusterIP: not-an-address}
`)
	renderer := files.renderer(t)
	comparisons := compare(t, newCluster(t, suite.Config), namespace, renderer)
	want := map[string]struct {
		paused bool
		errs   []string
	}{
		"fine":    {errs: []string{"Service fine: ", "not-an-address"}},
		"invalid": {errs: []string{"cannot be rendered: spec.patches[0]: Deployment invalid: spec.replicas: expected a number"}},
		"paused":  {paused: true},
		"taken":   {errs: []string{"Service taken exists and is not controlled by the Memcached"}},
	}
	for _, got := range comparisons {
		text := ""
		for _, err := range got.Errs {
			text += err.Error()
		}
		for _, words := range want[got.Name].errs {
			if !strings.Contains(text, words) {
				t.Errorf("%s: the errors %q lack %q", got.Name, text, words)
			}
		}
		if got.Paused != want[got.Name].paused || (text != "") != (len(want[got.Name].errs) > 0) {
			t.Errorf("%s: %+v", got.Name, got)
		}
	}
	if len(comparisons) != len(want) {
		t.Errorf("%d comparisons", len(comparisons))
	}
}

func TestCompare_WritesNothing(t *testing.T) {
	t.Parallel()
	namespace := suite.NewNamespace(t)
	newMemcacheds(t, namespace, nil, testenv.Memcached(namespace, "cache", 1))
	recorder := &testenv.Recorder{}
	cfg := rest.CopyConfig(suite.Config)
	cfg.Wrap(recorder.Wrap)
	cfg.Wrap(func(next http.RoundTripper) http.RoundTripper {
		return testenv.RoundTripper(func(req *http.Request) (*http.Response, error) {
			if req.Method != http.MethodGet && req.URL.Query().Get("dryRun") != "All" {
				t.Errorf("%s %s is no dry-run", req.Method, req.URL)
			}
			return next.RoundTrip(req)
		})
	})
	options := testenv.StateOptions{}
	before, err := suite.State(t.Context(), namespace, options)
	testenv.NoError(t, err)
	renderer := priorityClass.renderer(t)
	comparisons := compare(t, newCluster(t, cfg), namespace, renderer)
	if len(comparisons) != 1 || len(comparisons[0].Changes) != 1 || len(recorder.Matching(http.MethodPatch)) != 3 {
		t.Errorf("%+v after the requests %v", comparisons, recorder.Matching())
	}
	after, err := suite.State(t.Context(), namespace, options)
	testenv.NoError(t, err)
	if text := after.Diff(before); text != "" {
		t.Errorf("the objects changed:\n%s", text)
	}
}

func TestList_RejectsWithAReason(t *testing.T) {
	t.Parallel()
	namespace := suite.NewNamespace(t)
	suite.NewMemcached(t, namespace, "cache", 0)
	for name, test := range map[string]struct {
		denied string
		names  []string
		want   string
	}{
		"an unknown name":                     {names: []string{"cache", "other"}, want: "no Memcached other in namespace " + namespace},
		"no permission to list Memcacheds":    {denied: "memcacheds", want: "listing Memcacheds: memcacheds.cache.example.com is forbidden"},
		"no permission to list one more kind": {denied: "networkpolicies", want: "listing objects of kind NetworkPolicy: networkpolicies.networking.k8s.io is forbidden"},
	} {
		t.Run(name, func(t *testing.T) {
			cfg := suite.Config
			if test.denied != "" {
				namespace := suite.NewNamespace(t)
				cfg = newReader(t, namespace, test.denied)
				_, err := newCluster(t, cfg).List(t.Context(), namespace, test.names...)
				if err == nil || !strings.Contains(err.Error(), test.want) {
					t.Errorf("error %v", err)
				}
				return
			}
			_, err := newCluster(t, cfg).List(t.Context(), namespace, test.names...)
			if err == nil || !strings.Contains(err.Error(), test.want) {
				t.Errorf("error %v", err)
			}
		})
	}
}

func TestPrint_ShowsChangesAndReplacedPods(t *testing.T) {
	t.Parallel()
	namespace := suite.NewNamespace(t)
	newMemcacheds(t, namespace, nil, testenv.Memcached(namespace, "cache", 2))
	renderer := priorityClass.renderer(t)
	comparisons := compare(t, newCluster(t, suite.Config), namespace, renderer)
	var out bytes.Buffer
	testenv.NoError(t, diff.Print(&out, comparisons))
	testenv.NoError(t, diff.PrintSummary(&out, comparisons))
	for _, want := range []string{
		"--- live/Deployment/" + namespace + "/cache\n+++ rendered/Deployment/" + namespace + "/cache\n@@ ",
		"\n+        - name: ZONE\n+          value: a\n",
		"\n+      priorityClassName: system-cluster-critical\n",
		"\n1 of 1 Memcacheds differ: 0 objects to create, 1 to change, 0 to delete.\nThe pods of 1 of them would be replaced, 2 in all:\n",
		" 2      Deployment cache: spec.template.spec.containers[memcached].env[ZONE], spec.template.spec.priorityClassName\n",
	} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("the output lacks %q:\n%s", want, out.String())
		}
	}
}

// TestCompare_CountsNoPodsThatStay: images change in the pods of a Memcached with warm restarts alone.
func TestCompare_CountsNoPodsThatStay(t *testing.T) {
	t.Parallel()
	namespace := suite.NewNamespace(t)
	warm := testenv.Memcached(namespace, "warm", 2)
	warm.Spec.WarmRestart, warm.Spec.Memory = &cachev1alpha1.WarmRestart{}, new(resource.MustParse("256Mi"))
	newMemcacheds(t, namespace, nil, testenv.Memcached(namespace, "cache", 2), warm)
	for name, test := range map[string]struct {
		files templates
		want  map[string]int
	}{
		"another image":                      {otherImage, map[string]int{"cache": 1, "warm": 0}},
		"another priority and another value": {priorityClass, map[string]int{"cache": 1, "warm": 1}},
	} {
		for _, c := range compare(t, newCluster(t, suite.Config), namespace, test.files.renderer(t)) {
			if len(c.Changes) != 1 || len(c.Replacements) != test.want[c.Name] {
				t.Errorf("%s: %s has %d changes and the replacements %v, want %d", name, c.Name, len(c.Changes), c.Replacements, test.want[c.Name])
			}
		}
	}
}
