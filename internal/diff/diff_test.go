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
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"

	cachev1alpha1 "github.com/example/memcached-operator/apis/v1alpha1"
	"github.com/example/memcached-operator/internal/diff"
	"github.com/example/memcached-operator/manifests"
	"github.com/example/memcached-operator/test/testenv"
)

// site is the file of components/site with patches.
func site(patches string) templates {
	return templates{"components/site/kustomization.yaml": "apiVersion: kustomize.config.k8s.io/v1alpha1\nkind: Component\npatches:\n" + patches}
}

var (
	priorityClass = site(`- patch: |-
    apiVersion: apps/v1
    kind: Deployment
    metadata: {name: memcached}
    spec: {template: {spec: {priorityClassName: system-cluster-critical, containers: [{name: memcached, env: [{name: ZONE, value: a}]}]}}}
`)
	serviceLabel = site(`- patch: |-
    apiVersion: v1
    kind: Service
    metadata: {name: memcached, labels: {example.com/team: web}}
`)
)

// withConfigMap is a base with one more object.
func withConfigMap(t *testing.T) templates {
	t.Helper()
	kustomization, err := manifests.FS.ReadFile("base/kustomization.yaml")
	testenv.NoError(t, err)
	return templates{
		"base/kustomization.yaml": strings.Replace(string(kustomization), "- service.yaml\n", "- service.yaml\n- configmap.yaml\n", 1),
		"base/configmap.yaml":     "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: notes}\ndata: {a: b}\n",
	}
}

// change describes a change in one word and the object.
func change(c diff.Change) string {
	switch {
	case c.Before == nil:
		return "create " + c.After.GetKind()
	case c.After == nil:
		return "delete " + c.Before.GetKind()
	default:
		return "change " + c.After.GetKind()
	}
}

// edits are changes of the templates, and what they do to a Memcached called cache with two pods.
var edits = map[string]struct {
	before, after func(*testing.T) templates
	changes       []string
	fields        []string
}{
	"no change": {},
	"the pod template": {
		after:   func(*testing.T) templates { return priorityClass },
		changes: []string{"change Deployment"},
		fields:  []string{"spec.template.spec.containers[memcached].env[ZONE]", "spec.template.spec.priorityClassName"},
	},
	"the pod template, back to the shipped one": {
		before:  func(*testing.T) templates { return priorityClass },
		changes: []string{"change Deployment"},
		fields:  []string{"spec.template.spec.containers[memcached].env[ZONE]", "spec.template.spec.priorityClassName"},
	},
	"the Service": {
		after:   func(*testing.T) templates { return serviceLabel },
		changes: []string{"change Service"},
	},
	"one more container, without the defaults of the API server": {
		after: func(*testing.T) templates {
			return site(`- patch: |-
    apiVersion: apps/v1
    kind: Deployment
    metadata: {name: memcached}
    spec: {template: {spec: {containers: [{name: sidecar, image: busybox, resources: {limits: {memory: 1024Mi}}}]}}}
`)
		},
		changes: []string{"change Deployment"},
		fields:  []string{"spec.template.spec.containers[sidecar]"},
	},
	"one more object": {after: withConfigMap, changes: []string{"create ConfigMap"}},
	"one object less": {before: withConfigMap, changes: []string{"delete ConfigMap"}},
}

// The prediction is compared with what the operator does with the new templates.
func TestCompare_PredictsWhatTheOperatorDoes(t *testing.T) {
	t.Parallel()
	for name, edit := range edits {
		for _, user := range []string{"administrator", "reader"} {
			t.Run(name+"/"+user, func(t *testing.T) {
				t.Parallel()
				before, after := templates(nil), templates(nil)
				if edit.before != nil {
					before = edit.before(t)
				}
				if edit.after != nil {
					after = edit.after(t)
				}
				namespace := suite.NewNamespace(t)
				newMemcacheds(t, namespace, before, testenv.Memcached(namespace, "cache", 2), testenv.Memcached(namespace, "empty", 0))
				renderer := after.renderer(t)
				cfg := suite.Config
				if user == "reader" {
					cfg = newReader(t, namespace)
				}
				cluster := newCluster(t, cfg, renderer, before.renderer(t))
				comparisons := compare(t, cluster, namespace, renderer)
				if got, want := cluster.Computes(), user == "reader"; got != want {
					t.Errorf("Computes is %v", got)
				}
				if len(comparisons) != 2 {
					t.Fatalf("%d comparisons", len(comparisons))
				}
				rolled := generations(t, namespace)
				for _, comparison := range comparisons {
					if len(comparison.Errs) > 0 {
						t.Errorf("%s: %v", comparison.Name, comparison.Errs)
					}
					var changes []string
					for _, c := range comparison.Changes {
						changes = append(changes, change(c))
					}
					if !slices.Equal(changes, edit.changes) {
						t.Errorf("%s: %q, want %q", comparison.Name, changes, edit.changes)
					}
					if slices.Contains(changes, "change Deployment") {
						rolled[comparison.Name]++
					}
					var want []diff.Replacement
					if edit.fields != nil && comparison.Name == "cache" {
						want = []diff.Replacement{{Kind: "Deployment", Name: "cache", Pods: 2, Fields: edit.fields}}
					}
					if !reflect.DeepEqual(comparison.Replacements, want) {
						t.Errorf("%s: replacements %+v, want %+v", comparison.Name, comparison.Replacements, want)
					}
				}
				runUntilUnchanged(t, namespace, after, cluster)
				if got := generations(t, namespace); !reflect.DeepEqual(got, rolled) {
					t.Errorf("the generations are %v, want %v", got, rolled)
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
