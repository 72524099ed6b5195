// SPDX-License-Identifier: Apache-2.0

package program_test

import (
	"path/filepath"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"

	cachev1alpha1 "github.com/example/memcached-operator/apis/v1alpha1"
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

// noOperator is said of a cluster without an operator's Deployment.
const noOperator = "note: no operator runs in the cluster for these Memcacheds; the flags of this command count alone\n"

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
			err: taken + "/cache: Service cache exists and is not controlled by the Memcached: delete or rename it\nmemcached-operator diff: 1 problem: see above\n"},
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
			stderr = strings.TrimPrefix(stderr, noOperator)
			if code != test.code || !strings.Contains(out, test.out) || !strings.Contains(stderr, test.err) || (stderr != "") != (test.err != "") {
				t.Errorf("exit code %d\n%s\n%s", code, out, stderr)
			}
		})
	}
}

// deployedOperator is a Deployment of an operator for one namespace, as `make deploy SITE=true` makes it.
const deployedOperator = `
apiVersion: apps/v1
kind: Deployment
metadata:
  name: operator
  labels: {control-plane: controller-manager}
spec:
  replicas: 0
  selector: {matchLabels: {a: b}}
  template:
    metadata: {labels: {a: b}}
    spec:
      containers:
      - name: manager
        image: operator
        args: [--leader-elect, --zap-log-level, debug, --allow-privileged-fields, --manifests-dir, /etc/operator/manifests]
        env:
        - {name: RELATED_IMAGE_MEMCACHED, value: "docker.io/library/memcached:1.6.45"}
        - {name: WATCH_NAMESPACE, value: WATCHED}
        volumeMounts:
        - {name: site, mountPath: /etc/operator/manifests/components/site}
      volumes:
      - {name: site, configMap: {name: site, optional: true}}
`

func TestDiff_IsAsTheOperatorsDeployment(t *testing.T) {
	t.Parallel()
	namespace := suite.NewNamespace(t)
	files := map[string]string{
		"kustomization.yaml": "apiVersion: kustomize.config.k8s.io/v1alpha1\nkind: Component\npatches:\n- path: team.yaml\n  target: {kind: Service, name: memcached}\n",
		"team.yaml":          "- {op: add, path: /metadata/labels/team, value: web}\n",
	}
	templates := map[string]string{}
	for name, text := range files {
		templates["components/site/"+name] = text
	}
	mc := testenv.Memcached(namespace, "cache", 0)
	mc.Spec.PriorityClassName = new(cachev1alpha1.ObjectName("system-cluster-critical")) // a privileged field
	mc.Spec.Metrics = &cachev1alpha1.Metrics{ServiceMonitor: &cachev1alpha1.ServiceMonitor{}}
	suite.Create(t, mc)
	_, err := suite.StartManager(t.Context(), testenv.ManagerOptions{Namespaces: []string{namespace}, Templates: templates})
	testenv.NoError(t, err)
	suite.EventuallyReady(t, mc)

	manager := testenv.Parse(t, strings.ReplaceAll(deployedOperator, "WATCHED", namespace))
	manager.SetNamespace(namespace)
	suite.Create(t, manager, &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "site"}, Data: files})
	code, out, stderr := diff(t, nil, "-n", namespace)
	if want := "note: what the command line does not set is as in Deployment " + namespace + "/operator\n"; code != 0 || stderr != want ||
		!strings.Contains(out, "0 of 1 Memcacheds differ") || !strings.Contains(out, "\nSkipped, since the API server does not serve them: ServiceMonitor.\n") {
		t.Errorf("exit code %d\n%s\n%s", code, out, stderr)
	}
	edited := testenv.Parse(t, strings.NewReplacer("WATCHED", namespace, "1.6.45", "1.6.44").Replace(deployedOperator))
	edited.SetNamespace(namespace)
	testenv.NoError(t, suite.Apply(t.Context(), edited))
	for _, test := range []struct {
		args []string
		code int
		out  string
		err  string
	}{
		{nil, 1, "\n+        image: docker.io/library/memcached:1.6.44\n", "note: "},
		{[]string{"--operator=none"}, 2, "0 of 1", "spec.priorityClassName"},
		{[]string{"--operator=none", "--allow-privileged-fields"}, 1, "\n-    team: web\n", ""},
		{[]string{"--operator=" + namespace + "/operator", "--manifests-dir=" + t.TempDir() + "/none"}, 2, "", "--manifests-dir: "},
		{[]string{"--operator=" + namespace + "/other"}, 2, "", "there is no Deployment " + namespace + "/other of this operator: give it as NAMESPACE/NAME"},
	} {
		code, out, stderr := diff(t, nil, append(test.args, "-n", namespace)...)
		if code != test.code || !strings.Contains(out, test.out) || !strings.Contains(stderr, test.err) {
			t.Errorf("%q: exit code %d\n%s\n%s", test.args, code, out, stderr)
		}
	}
}
