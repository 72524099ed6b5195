// SPDX-License-Identifier: Apache-2.0

package program_test

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"

	"github.com/example/memcached-operator/internal/command"
	"github.com/example/memcached-operator/test/controlplane"
	"github.com/example/memcached-operator/test/testenv"
)

// run runs a command of the program in this process, as the administrator, with the environment variables env.
func run(t *testing.T, env map[string]string, in string, args ...string) (code int, out, stderr string) {
	t.Helper()
	var stdout, errors bytes.Buffer
	code = command.Run(t.Context(), args, command.Streams{
		In: strings.NewReader(in), Out: &stdout, Err: &errors, Getenv: func(name string) string { return env[name] },
	})
	return code, stdout.String(), errors.String()
}

// check runs the command check with --server.
func check(t *testing.T, args ...string) (code int, out, stderr string) {
	t.Helper()
	return run(t, nil, "", append([]string{"check", "--server", "--kubeconfig=" + suite.Kubeconfig}, args...)...)
}

// diff runs the command diff.
func diff(t *testing.T, env map[string]string, args ...string) (code int, out, stderr string) {
	t.Helper()
	return run(t, env, "", append([]string{"diff", "--kubeconfig=" + suite.Kubeconfig}, args...)...)
}

// render runs the command render with privileged fields on content.
func render(t *testing.T, content string, args ...string) (code int, out, stderr string) {
	t.Helper()
	return run(t, nil, content, append([]string{"render", "-f", "-", "--allow-privileged-fields"}, args...)...)
}

// more returns a directory whose site has more.yaml with text.
func more(t *testing.T, text string) string {
	t.Helper()
	return site(t, map[string]string{"more.yaml": text})
}

// editedBase returns a directory with the shipped Deployment in which passages, each followed by another
// text, are replaced.
func editedBase(t *testing.T, passages ...string) string {
	t.Helper()
	content, err := os.ReadFile(filepath.Join(controlplane.Root(), "manifests/base/deployment.yaml"))
	testenv.NoError(t, err)
	for i := 0; i < len(passages); i += 2 {
		if !strings.Contains(string(content), passages[i]) {
			t.Fatalf("the Deployment does not contain %q", passages[i])
		}
	}
	dir := t.TempDir()
	testenv.WriteFile(t, filepath.Join(dir, "base/deployment.yaml"), strings.NewReplacer(passages...).Replace(string(content)))
	return dir
}

// pod returns a pod template whose spec begins with fields.
func pod(fields string) string {
	return "{metadata: {labels: {app: report}}, spec: {" + fields + "containers: [{name: a, image: b}]}}"
}

func TestCheck_ReportsWhatTheServerRejects(t *testing.T) {
	t.Parallel()
	namespace := suite.NewNamespace(t)
	for sentence, test := range map[string]struct {
		dir, want string
	}{
		"the shipped templates": {"", ""},
		"a schedule": {
			more(t, "apiVersion: batch/v1\nkind: CronJob\nmetadata: {name: report}\nspec:\n  schedule: every day\n  jobTemplate: {spec: {template: "+pod("restartPolicy: Never, ")+"}}\n"),
			`error: components/site/more.yaml:5: CronJob report: spec.schedule: the API server rejects it: Invalid value: "every day": expected exactly 5 fields, found 2: [every day]` + "\n1 error, 0 warnings\n",
		},
		"a name": {
			more(t, "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: Report_1\n"),
			`error: components/site/more.yaml:4: ConfigMap Report_1: metadata.name: the API server rejects it: Invalid value: "memcached-operator-dry-run-Report_1": ` +
				`a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', and must start and end with an alphanumeric character ` +
				`(e.g. 'example.com', regex used for validation is '[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')` + "\n1 error, 0 warnings\n",
		},
		"a selector that does not match the pods": {
			more(t, "apiVersion: apps/v1\nkind: Deployment\nmetadata: {name: report}\nspec:\n  selector: {matchLabels: {app: other}}\n  template: "+pod("")+"\n"),
			"error: components/site/more.yaml:6: Deployment report: spec.template.metadata.labels: the API server rejects it: Invalid value: " +
				"{\"app\":\"report\"}: `selector` does not match template `labels`\n1 error, 0 warnings\n",
		},
		"a request above the limit": {
			editedBase(t, "            memory: 104Mi\n          limits", "            memory: 144Mi\n          limits"),
			"error: base/deployment.yaml:131: Deployment memcached: spec.template.spec.containers[0].resources.requests: the API server rejects it: Invalid value: \"144Mi\": must be less than or equal to memory limit of 143Mi\n1 error, 0 warnings\n",
		},
		"a kind that is not served": {
			more(t, "apiVersion: example.com/v1\nkind: Report\nmetadata: {name: report}\n"),
			"error: components/site/more.yaml: this API server does not serve kind Report of example.com/v1: install its CustomResourceDefinition, or remove the object from the templates\n1 error, 0 warnings\n",
		},
		"a cluster-scoped kind": {
			more(t, "apiVersion: v1\nkind: Namespace\nmetadata: {name: report}\n"),
			"error: components/site/more.yaml: kind Namespace is cluster-scoped, but a Memcached can own only namespaced objects: remove the object from the templates\n1 error, 0 warnings\n",
		},
	} {
		t.Run(sentence, func(t *testing.T) {
			t.Parallel()
			want, wantCode := test.want, 1
			if test.dir == "" {
				want, wantCode = "0 errors, 0 warnings\n", 0
			}
			if code, out, stderr := check(t, "-n", namespace, "--manifests-dir", test.dir); code != wantCode || out != want || stderr != "" {
				t.Errorf("the exit code is %d and the output\n%s%s\nwant %d and\n%s", code, out, stderr, wantCode, want)
			}
		})
	}
}

// A selector is immutable: only the objects of a Memcached that exists show that it changes.
func TestCheck_ReportsAChangedSelector(t *testing.T) {
	t.Parallel()
	dir := editedBase(t, "    matchLabels:\n      app: memcached\n", "    matchLabels:\n")
	if code, out, stderr := check(t, "-n", suite.NewNamespace(t), "--manifests-dir", dir); code != 0 {
		t.Errorf("without a Memcached the exit code is %d\n%s%s", code, out, stderr)
	}
	namespace := newApplied(t)
	before := suite.Deployment(t, namespace, "cache").ResourceVersion
	code, out, stderr := check(t, "-n", namespace, "--manifests-dir", dir)
	const want = "error: base/deployment.yaml:28: Deployment memcached: spec.selector: the API server rejects it: Invalid value: " +
		`{"matchLabels":{"memcached_cr":"cache"}}: field is immutable (for a live Memcached)` + "\n1 error, 0 warnings\n"
	if code != 1 || out != want || stderr != "" {
		t.Errorf("the exit code is %d and the output\n%s%s\nwant\n%s", code, out, stderr, want)
	}
	if after := suite.Deployment(t, namespace, "cache").ResourceVersion; after != before {
		t.Errorf("check changes the Deployment: its version was %s and is %s", before, after)
	}
}

func TestCheck_SaysWhyTheServerCannotBeAsked(t *testing.T) {
	t.Parallel()
	namespace := suite.NewNamespace(t)
	unknown := &rest.Config{Host: suite.Config.Host, TLSClientConfig: rest.TLSClientConfig{CAData: suite.Config.CAData}, BearerToken: "unknown"}
	account := &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "reader"}}
	role := &rbacv1.Role{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "reader"}, Rules: []rbacv1.PolicyRule{
		{APIGroups: []string{"cache.example.com"}, Resources: []string{"memcacheds"}, Verbs: []string{"list"}},
	}}
	binding := &rbacv1.RoleBinding{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "reader"},
		RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "Role", Name: "reader"},
		Subjects:   []rbacv1.Subject{{Kind: rbacv1.ServiceAccountKind, Namespace: namespace, Name: "reader"}},
	}
	suite.Create(t, account, role, binding)
	reader, err := suite.ServiceAccountConfig(t.Context(), namespace, "reader")
	testenv.NoError(t, err)
	none := filepath.Join(t.TempDir(), "none")
	for sentence, test := range map[string]struct {
		args []string
		want string
	}{
		"no kubeconfig":      {[]string{"--kubeconfig", none}, "reading the kubeconfig: "},
		"an unknown context": {[]string{"--context", "other"}, `reading the kubeconfig: context "other" does not exist` + "\n"},
		"no cluster":         {[]string{"--kubeconfig", testenv.Kubeconfig(t, unknown, "https://"+testenv.FreeAddress(t))}, "asking the API server for kind Memcached: "},
		"an unknown user":    {[]string{"--kubeconfig", testenv.Kubeconfig(t, unknown, "")}, "asking the API server for kind Memcached: "},
		"no permission":      {[]string{"-n", namespace, "--kubeconfig", testenv.Kubeconfig(t, reader, "")}, "not all objects are checked: dry-run of Deployment in namespace "},
		"no namespace":       {[]string{"-n", "absent"}, `dry-run of Deployment in namespace absent: namespaces "absent" not found` + "\n"},
		"an invalid name":    {[]string{"-n", "A"}, `--namespace: invalid namespace "A": a lowercase RFC 1123 label`},
	} {
		t.Run(sentence, func(t *testing.T) {
			t.Parallel()
			code, out, stderr := check(t, test.args...)
			if code != 2 || out != "" || !strings.HasPrefix(stderr, "memcached-operator check: "+test.want) || strings.Count(stderr, "\n") != 1 {
				t.Errorf("the exit code is %d and the output\n%s%s\nwant\n%s", code, out, stderr, test.want)
			}
		})
	}
}
