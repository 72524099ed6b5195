// SPDX-License-Identifier: Apache-2.0

package templates

import (
	"maps"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/yaml"

	rbacv1 "k8s.io/api/rbac/v1"

	cachev1alpha1 "github.com/example/memcached-operator/apis/v1alpha1"
	"github.com/example/memcached-operator/test/controlplane"
	"github.com/example/memcached-operator/test/pages"
	"github.com/example/memcached-operator/test/testenv"
)

// stateOptions are for the objects that a Memcached and the recipes have.
var stateOptions = testenv.StateOptions{NoStatus: true, Kinds: []schema.GroupVersionKind{
	{Version: "v1", Kind: "ConfigMap"},
	{Version: "v1", Kind: "Service"},
	{Group: "apps", Version: "v1", Kind: "Deployment"},
	{Group: "batch", Version: "v1", Kind: "CronJob"},
	{Group: "cert-manager.io", Version: "v1", Kind: "Certificate"},
	{Group: "networking.k8s.io", Version: "v1", Kind: "NetworkPolicy"},
	{Group: "policy", Version: "v1", Kind: "PodDisruptionBudget"},
	{Group: "rbac.authorization.k8s.io", Version: "v1", Kind: "Role"},
	{Group: "rbac.authorization.k8s.io", Version: "v1", Kind: "RoleBinding"},
}}

// reader is a reader of manifests/README.md, with the files that its commands read, and a namespace of the cluster.
type reader struct {
	*pages.Session
	cluster    *testenv.Env
	kubeconfig string
	namespace  string
}

func newReader(t *testing.T, cluster *testenv.Env, kubeconfig string) *reader {
	t.Helper()
	directory := t.TempDir()
	testenv.NoError(t, os.Mkdir(filepath.Join(directory, "bin"), 0o755))
	testenv.NoError(t, os.Symlink(suite.Binary, filepath.Join(directory, "bin", "memcached-operator")))
	testenv.NoError(t, os.Symlink(filepath.Join(controlplane.Root(), "config"), filepath.Join(directory, "config")))
	r := &reader{pages.NewSession(t, directory, kubeconfig), cluster, kubeconfig, cluster.NewNamespace(t)}
	r.Run(t, block(t, "Recipes", makeDirectory))
	return r
}

// block returns a shell block of a section of manifests/README.md, from 0.
func block(t *testing.T, section string, index int) pages.Block {
	t.Helper()
	return pages.InSection(t, "manifests/README.md", section, index)
}

// edit makes the edit of recipe, in which check finds no mistake and nothing without effect.
func (r *reader) edit(t *testing.T, recipe recipe) {
	t.Helper()
	r.Run(t, block(t, recipe.section, 0))
	if printed := r.Run(t, block(t, "Recipes", inspect)); !strings.HasPrefix(printed, "0 errors, 0 warnings\n") {
		t.Errorf("check prints\n%s", printed)
	}
}

// flags are those of an operator for the reader's directory and namespace.
func (r *reader) flags() []string {
	return []string{"--manifests-dir=" + filepath.Join(r.Directory, "site"), "--watch-namespaces=" + r.namespace, "--allow-privileged-fields"}
}

// isRefused checks that an operator without the permissions of recipe exits and prints rules for them, and no others.
func (r *reader) isRefused(t *testing.T, recipe recipe) {
	t.Helper()
	r.edit(t, recipe)
	p := testenv.StartBinary(t, suite.Binary, append(r.flags(), "--kubeconfig="+r.kubeconfig, "--metrics-bind-address=0", "--health-probe-bind-address=0")...)
	if status := p.End(t); status != 1 {
		t.Errorf("the operator exits with %d, want 1", status)
	}
	message, list, _ := strings.Cut(p.Log.Plain(), "\n")
	var rules []rbacv1.PolicyRule
	if err := yaml.UnmarshalStrict([]byte(list), &rules); err != nil || !strings.Contains(message, "permission is missing; add these rules") {
		t.Fatalf("the operator prints no rules: %v", err)
	}
	var resources []string
	for _, rule := range rules {
		resources = append(resources, rule.Resources...)
	}
	if slices.Sort(resources); !slices.Equal(resources, recipe.permissions) {
		t.Errorf("the rules are for %q, want %q", resources, recipe.permissions)
	}
}

// appliesAndUndoes makes and undoes the edit of recipe while the operator runs.
func (r *reader) appliesAndUndoes(t *testing.T, recipe recipe, administrator *pages.Session) {
	t.Helper()
	runOperator(t, suite.Binary, r.kubeconfig, r.flags()...)
	mc := testenv.Memcached(r.namespace, longestName, 1)
	testenv.NoError(t, yaml.UnmarshalStrict([]byte(recipe.spec), &mc.Spec))
	r.cluster.Create(t, mc)
	r.cluster.EventuallyReady(t, mc)
	before := r.state(t)

	r.edit(t, recipe)
	if recipe.rejection != "" {
		testenv.EventuallyObject(t, r.cluster, mc, "the status should have the API server's message", func(mc *cachev1alpha1.Memcached) bool {
			return slices.ContainsFunc(mc.Status.Conditions, func(c metav1.Condition) bool { return strings.Contains(c.Message, recipe.rejection) })
		})
		administrator.Run(t, block(t, recipe.section, 1))
	}
	if recipe.patch != "" {
		r.cluster.Patch(t, mc, recipe.patch)
	}
	r.wantState(t, "the edit should be applied", func(state testenv.State) string { return recipe.missing(before, state) })
	r.cluster.EventuallyReady(t, mc)

	if recipe.patch != "" {
		r.cluster.Patch(t, mc, `{"spec": {"parameters": null}}`)
	}
	r.Run(t, block(t, "Recipes", undo))
	r.wantState(t, "the edit should be undone", func(state testenv.State) string { return state.Diff(before) })
	r.cluster.EventuallyReady(t, mc)
}

// state returns the objects of the Memcached, which is called NAME in them.
func (r *reader) state(t *testing.T) testenv.State {
	t.Helper()
	all, err := r.cluster.State(t.Context(), r.namespace, stateOptions)
	testenv.NoError(t, err)
	state := testenv.State{}
	for name, text := range all {
		if strings.Contains(name, longestName) { // others are the control plane's
			state[strings.ReplaceAll(name, longestName, "NAME")] = strings.ReplaceAll(text, longestName, "NAME")
		}
	}
	return state
}

// wantState waits until difference returns nothing for the state.
func (r *reader) wantState(t *testing.T, want string, difference func(testenv.State) string) {
	t.Helper()
	var last string
	defer func() {
		if last != "" {
			t.Logf("%s:\n%s", want, last)
		}
	}()
	testenv.Eventually(t, want, func() bool {
		last = difference(r.state(t))
		return last == ""
	})
}

// owner is in each object of the Memcached.
const owner = "ownerReferences: - apiVersion: cache.example.com/v1alpha1 blockOwnerDeletion: true controller: true kind: Memcached name: NAME "

// missing returns what the edit should add to the state before and has not added, or has added without being expected.
func (r recipe) missing(before, after testenv.State) string {
	var b strings.Builder
	changed := maps.Clone(after)
	maps.DeleteFunc(changed, func(name, text string) bool { return before[name] == text })
	for pattern, parts := range r.objects {
		found := false
		for name, text := range changed {
			if matches, _ := path.Match(pattern, name); !matches {
				continue
			}
			found = true
			delete(changed, name)
			text = strings.Join(strings.Fields(text), " ") + " "
			for _, part := range append(parts, owner) {
				if !strings.Contains(text, part) {
					b.WriteString(name + " lacks " + part + ": " + text + "\n")
				}
			}
		}
		if !found {
			b.WriteString(pattern + " is missing or unchanged\n")
		}
	}
	for name := range changed {
		b.WriteString(name + " is changed\n")
	}
	return b.String()
}
