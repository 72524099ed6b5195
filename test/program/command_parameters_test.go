// SPDX-License-Identifier: Apache-2.0

package program_test

import (
	"path/filepath"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	cachev1alpha1 "github.com/example/memcached-operator/apis/v1alpha1"
	"github.com/example/memcached-operator/test/testenv"
)

// TestParameters_AreRejectedAsByTheOperator compares the message of an operator about a Memcached with those of render and
// diff with the same templates.
func TestParameters_AreRejectedAsByTheOperator(t *testing.T) {
	t.Parallel()
	templates, directory := testenv.Parameters("tier", "zone"), t.TempDir()
	for name, content := range templates {
		testenv.WriteFile(t, filepath.Join(directory, name), content)
	}
	namespace := suite.NewNamespace(t)
	mc := testenv.Memcached(namespace, "cache", 0)
	mc.Spec.Parameters = cachev1alpha1.Parameters{"zone": "eu-1a", "tiers": "gold"}
	suite.Create(t, mc)
	_, err := suite.StartManager(t.Context(), testenv.ManagerOptions{Namespaces: []string{namespace}, Templates: templates})
	testenv.NoError(t, err)
	testenv.EventuallyObject(t, &suite, mc, "the Memcached should be stalled", func(mc *cachev1alpha1.Memcached) bool {
		return testenv.HasCondition(mc, cachev1alpha1.ConditionStalled, metav1.ConditionTrue, cachev1alpha1.ReasonInvalidParameter)
	})
	message := meta.FindStatusCondition(mc.Status.Conditions, cachev1alpha1.ConditionStalled).Message
	const want = "spec.parameters.tiers: unknown parameter; known are tier (the variable tier of memcached), zone (the variable zone of memcached)"
	if message != want {
		t.Errorf("the operator says %q, want %q", message, want)
	}
	code, out, stderr := render(t, document(t, namespace, "{zone: eu-1a, tiers: gold}"), "--manifests-dir", directory)
	if code != 1 || out != "" || !strings.HasSuffix(stderr, " cannot be rendered: "+message+"\n") {
		t.Errorf("render exits with %d\n%s\n%s", code, out, stderr)
	}
	if code, _, stderr = diff(t, nil, "-n", namespace, "--manifests-dir", directory); code != 2 || !strings.Contains(stderr, message) {
		t.Errorf("diff exits with %d\n%s", code, stderr)
	}

	suite.Patch(t, mc, `{"spec":{"parameters":{"zone":"eu-1a","tiers":null}}}`)
	testenv.Eventually(t, "the operator should apply the corrected Memcached", func() bool {
		code, _, _ := diff(t, nil, "-n", namespace, "--manifests-dir", directory)
		return code == 0
	})
	code, out, stderr = render(t, document(t, namespace, "{zone: eu-1a}"), "--manifests-dir", directory)
	if code != 0 || !strings.Contains(out, "zone: eu-1a\n") {
		t.Errorf("render exits with %d\n%s\n%s", code, out, stderr)
	}
}

// document returns a Memcached with parameters.
func document(t *testing.T, namespace, parameters string) string {
	t.Helper()
	mc := testenv.Parse(t, "apiVersion: cache.example.com/v1alpha1\nkind: Memcached\nmetadata: {name: cache}\nspec: {size: 0, parameters: "+parameters+"}\n")
	mc.SetNamespace(namespace)
	return asJSON(t, mc)
}
