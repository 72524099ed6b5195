// SPDX-License-Identifier: Apache-2.0

package program_test

import (
	"path/filepath"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"

	"github.com/example/memcached-operator/test/testenv"
)

// newApplied creates a namespace with a Memcached, and runs an operator there until the end of the test, which
// has applied the objects.
func newApplied(t *testing.T) (namespace string) {
	t.Helper()
	namespace = suite.NewNamespace(t)
	suite.NewMemcached(t, namespace, "cache", 0)
	_, err := suite.StartManager(t.Context(), testenv.ManagerOptions{Namespaces: []string{namespace}})
	testenv.NoError(t, err)
	testenv.Eventually(t, "the operator should apply the objects", func() bool {
		code, _, _ := diff(t, nil, "-n", namespace)
		return code == 0
	})
	return namespace
}

func TestDiff_ExitsWithTheCodeOfItsResult(t *testing.T) {
	t.Parallel()
	namespace, empty, taken := newApplied(t), suite.NewNamespace(t), suite.NewNamespace(t)
	suite.NewMemcached(t, taken, "cache", 0)
	suite.Create(t, &corev1.Service{ObjectMeta: metav1.ObjectMeta{Namespace: taken, Name: "cache"}, Spec: corev1.ServiceSpec{Ports: []corev1.ServicePort{{Port: 80}}}})
	edited, invalid := t.TempDir(), t.TempDir()
	none := filepath.Join(invalid, "none")
	testenv.WriteFile(t, filepath.Join(edited, "components/site/kustomization.yaml"),
		"apiVersion: kustomize.config.k8s.io/v1alpha1\nkind: Component\npatches:\n- target: {kind: Service, name: memcached}\n  patch: |-\n    - {op: add, path: /metadata/labels/team, value: web}\n")
	testenv.WriteFile(t, filepath.Join(invalid, "components/site/kustomization.yaml"), "kind: Kustomization\n")
	unknown := &rest.Config{Host: suite.Config.Host, TLSClientConfig: rest.TLSClientConfig{CAData: suite.Config.CAData}, BearerToken: "unknown"}
	for name, test := range map[string]struct {
		env  map[string]string
		args []string
		code int
		out  string
		err  string
	}{
		"nothing differs": {args: []string{"-n", namespace},
			out: "0 of 1 Memcacheds differ: 0 objects to create, 0 to change, 0 to delete.\nNo pods would be replaced.\n"},
		"no Memcached":             {args: []string{"-n", empty}, out: "0 of 0 Memcacheds differ"},
		"an edit of the templates": {args: []string{"-n", namespace, "--manifests-dir", edited}, code: 1, out: "\n+    team: web\n"},
		"the summary of an edit": {args: []string{"-n", namespace, "--manifests-dir", edited, "--summary", "cache"}, code: 1,
			out: "1 of 1 Memcacheds differ: 0 objects to create, 1 to change, 0 to delete.\nNo pods would be replaced.\n"},
		"another default image": {env: map[string]string{"RELATED_IMAGE_MEMCACHED": "memcached:1.6.40"}, args: []string{"-n", namespace}, code: 1,
			out: " image: memcached:1.6.40\n"},
		"an object of another owner": {args: []string{"-n", taken}, code: 2, out: "1 of 1 Memcacheds differ",
			err: taken + "/cache: Service cache exists and is not controlled by the Memcached: delete or rename it\nmemcached-operator diff: 1 problems: see above\n"},
		"an unknown Memcached":         {args: []string{"-n", namespace, "other"}, code: 2, err: "memcached-operator diff: no Memcached other in namespace " + namespace + "\n"},
		"names in all namespaces":      {args: []string{"-A", "cache"}, code: 2, err: "memcached-operator diff: --all-namespaces: name Memcacheds in one namespace only\n"},
		"an unknown flag":              {args: []string{"--watch"}, code: 2, err: "memcached-operator diff: unknown flag: --watch\n"},
		"invalid templates":            {args: []string{"--manifests-dir", invalid}, code: 2, err: "components/site/kustomization.yaml"},
		"templates that are not there": {args: []string{"--manifests-dir", none}, code: 2, err: "memcached-operator diff: --manifests-dir: open "},
		"no kubeconfig":                {args: []string{"--kubeconfig", none}, code: 2, err: "memcached-operator diff: reading the kubeconfig: "},
		"an unknown context":           {args: []string{"--context", "other"}, code: 2, err: `memcached-operator diff: reading the kubeconfig: context "other" does not exist` + "\n"},
		"no cluster":                   {args: []string{"--kubeconfig", testenv.Kubeconfig(t, unknown, "https://"+testenv.FreeAddress(t))}, code: 2, err: "connection refused"},
		"an unknown user":              {args: []string{"--kubeconfig", testenv.Kubeconfig(t, unknown, "")}, code: 2, err: "the server has asked for the client to provide credentials"},
		"an invalid environment":       {env: map[string]string{"ALLOW_PRIVILEGED_FIELDS": "perhaps"}, code: 2, err: `ALLOW_PRIVILEGED_FIELDS: "perhaps" is neither true nor false`},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			code, out, stderr := diff(t, test.env, test.args...)
			if code != test.code || !strings.Contains(out, test.out) || !strings.Contains(stderr, test.err) || (stderr != "") != (test.err != "") {
				t.Errorf("exit code %d\n%s\n%s", code, out, stderr)
			}
		})
	}
}
