// SPDX-License-Identifier: Apache-2.0

package plugin

import (
	"strings"
	"testing"

	"github.com/example/memcached-operator/test/testenv"
)

// TestVersions_OfTheDefinition needs a control plane of its own, which stops serving Memcacheds.
func TestVersions_OfTheDefinition(t *testing.T) {
	t.Parallel()
	env := testenv.New(t, testenv.Setup{Arguments: []string{testenv.WithoutControllers}})
	const command = "kubectl memcached status: the API server "
	definition := testenv.Definition()
	env.Delete(t, definition)
	env.EventuallyGone(t, definition)
	eventually := func(want string) {
		t.Helper()
		var got result
		defer func() {
			if t.Failed() {
				t.Logf("the last result is %d: %s", got.code, got.stderr)
			}
		}()
		testenv.Eventually(t, want, func() bool {
			got = runWith(t, env.Kubeconfig, "status", "cache")
			return got.code == 2 && got.stderr == command+env.Config.Host+want+"\n"
		})
	}
	eventually(" does not serve Memcacheds (cache.example.com/v1alpha1): install the operator, or choose another cluster by --context")
	later := testenv.CustomResource("cache.example.com", "Memcached", "Namespaced", "type: object\nx-kubernetes-preserve-unknown-fields: true")
	testenv.NoError(t, env.ApplyYAML(t.Context(), strings.Replace(later, "- name: v1\n", "- name: v1beta1\n", 1)))
	eventually(" serves Memcacheds in version v1beta1, and this program needs v1alpha1: use the kubectl-memcached of the operator's release")
}
