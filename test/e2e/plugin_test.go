// SPDX-License-Identifier: Apache-2.0

//go:build e2e

package e2e

import (
	"bytes"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	cachev1alpha1 "github.com/example/memcached-operator/apis/v1alpha1"
	"github.com/example/memcached-operator/internal/command"
	"github.com/example/memcached-operator/internal/memcached"
	"github.com/example/memcached-operator/internal/plugin"
	"github.com/example/memcached-operator/test/testenv"
)

// kubectlMemcached runs the plugin and wants its exit code. It returns standard output and standard error.
func kubectlMemcached(t *testing.T, code int, args ...string) (out, stderr string) {
	t.Helper()
	var stdout, errors bytes.Buffer
	// Other tests use the processors at the same time.
	if args[0] != "servers" {
		args = append(args, "--timeout=20s")
	}
	args = append(args, "--kubeconfig="+suite.Kubeconfig)
	got := plugin.Run(t.Context(), args, "e2e", command.Streams{In: strings.NewReader(""), Out: &stdout, Err: &errors, Getenv: os.Getenv})
	if got != code {
		t.Errorf("kubectl memcached %s: exit code %d, want %d\n%s%s", strings.Join(args, " "), got, code, &stdout, &errors)
	}
	return stdout.String(), errors.String()
}

// wantLines fails unless each pattern matches a line of text, from its first column on.
func wantLines(t *testing.T, text string, patterns ...string) {
	t.Helper()
	for _, pattern := range patterns {
		if !regexp.MustCompile(`(?m)^` + pattern + `\s*$`).MatchString(text) {
			t.Errorf("no line matches %s:\n%s", pattern, text)
		}
	}
}

// accessible are Memcacheds that require nothing, TLS, a password, and a certificate and a password.
func accessible(t *testing.T, namespace string) map[string]memcached.Access {
	t.Helper()
	// The server's certificate serves clients too, as the exporter needs it.
	secret, pair := newCertificate(t, namespace)
	users := newUsers(t, namespace, "right one")
	none, require := cachev1alpha1.ClientAuthNone, cachev1alpha1.ClientAuthRequire
	withTLS := func(auth *cachev1alpha1.ClientAuth) func(*cachev1alpha1.MemcachedSpec) {
		return func(spec *cachev1alpha1.MemcachedSpec) {
			spec.TLS = &cachev1alpha1.TLS{SecretName: cachev1alpha1.ObjectName(secret.Name), ClientAuth: auth}
		}
	}
	withUsers := func(spec *cachev1alpha1.MemcachedSpec) {
		spec.Auth = &cachev1alpha1.Auth{SecretName: cachev1alpha1.ObjectName(users.Name)}
	}
	memcacheds := []*cachev1alpha1.Memcached{
		suite.NewMemcached(t, namespace, "plain", 2),
		suite.NewMemcached(t, namespace, "secured", 2, withTLS(&none)),
		suite.NewMemcached(t, namespace, "locked", 1, withUsers),
		suite.NewMemcached(t, namespace, "both", 1, withTLS(&require), withUsers),
	}
	for _, mc := range memcacheds {
		suite.Ready(t, mc)
	}
	return map[string]memcached.Access{
		"plain": {}, "secured": {TLS: trusting(pair)}, "locked": {User: user, Password: "right one"},
		"both": {TLS: trusting(pair, pair.TLS(t)), User: user, Password: "right one"},
	}
}

func TestPlugin_AsksPods(t *testing.T) {
	parallel(t)
	namespace := suite.NewNamespace(t)
	var rows []string
	accessible := accessible(t, namespace)
	for name, access := range accessible {
		t.Run(name, func(t *testing.T) {
			pods := suite.Pods(t, namespace, name)
			holder := pods[len(pods)-1]
			cache := suite.Cache(t, namespace, holder.Name, access)
			cache.Set("key", "value")
			cache.Get("key")
			status, _ := kubectlMemcached(t, 0, "status", name, "-n", namespace)
			wantLines(t, status, `Memcached  `+namespace+`/`+name, `Ready +True +Ready +\S+ .*`, `Deployment/`+name+` +\S+`, `Service/`+name+` +\S+`)
			where, _ := kubectlMemcached(t, 0, "where", "key", name, "-n", namespace)
			servers, _ := kubectlMemcached(t, 0, "servers", name, "-n", namespace)
			for _, pod := range pods {
				hits, has := `-`, `no +- +- +-`
				if pod.Name == holder.Name {
					hits, has = `100\.0%`, `yes +[1-9]\d* +never +\d+s ago`
				}
				beginning := pod.Name + ` +` + pod.Spec.NodeName + ` +`
				wantLines(t, status, beginning+`True +0 +1\.6\.\d+ +0% of 64Mi +`+hits+` +0\.0 +\d+/1024 +(\d\.\d\dx|-)`)
				wantLines(t, where, beginning+has)
				wantLines(t, servers, regexp.QuoteMeta(pod.Status.PodIP)+`:11211`)
				rows = append(rows, name+` +`+beginning+`0% of 64Mi +(-|\d+\.\d%) +\d+\.\d +0\.0 +0\.0 +\d+/1024 +(\d\.\d\dx|-)`)
			}
		})
	}
	top, _ := kubectlMemcached(t, 0, "top", "-n", namespace, "--count=2", "--interval=500ms")
	wantLines(t, top, append(rows, `.* every 500ms  Memcacheds: 4  pods: 6`)...)
	if got := strings.Count(top, "MEMCACHED "); got != 2 {
		t.Errorf("top prints %d tables, want 2:\n%s", got, top)
	}
	_, stderr := kubectlMemcached(t, 1, "where", "absent", "plain", "-n", namespace)
	if stderr != "" {
		t.Errorf("where prints %q to standard error", stderr)
	}
	advice, _ := kubectlMemcached(t, 0, "advise", "both", "-n", namespace)
	wantLines(t, advice, `Items +1, \d+ bytes each, in 0 of 64 MiB of 1 pods`, `Its fields fit its use so far\.`)
	doctor(t, namespace, "both")
	for name := range accessible {
		// Nobody answers.
		if _, stderr := kubectlMemcached(t, 1, "flush", name, "-n", namespace); !strings.Contains(stderr, "nothing was flushed") {
			t.Errorf("flush prints %q", stderr)
		}
		kubectlMemcached(t, 0, "where", "key", name, "-n", namespace)
		flushed, _ := kubectlMemcached(t, 0, "flush", name, "-n", namespace, "--yes", "--pause=10ms")
		for _, pod := range suite.Pods(t, namespace, name) {
			wantLines(t, flushed, "pod/"+pod.Name+" flushed")
		}
		kubectlMemcached(t, 1, "where", "key", name, "-n", namespace)
	}
}

// doctor wants everything in the archive for a Memcached with TLS and a user, and nothing of its Secrets.
func doctor(t *testing.T, namespace, name string) {
	t.Helper()
	file := filepath.Join(t.TempDir(), "doctor.tar.gz")
	out, stderr := kubectlMemcached(t, 0, "doctor", name, "-n", namespace, "-f", file)
	if out != file+"\n" || stderr != "" {
		t.Errorf("doctor prints\n%s%s", out, stderr)
	}
	files := testenv.Untar(t, file)
	pod := suite.Pods(t, namespace, name)[0].Name
	operator := 0
	for file, text := range files {
		if strings.Contains(text, "right one") || strings.Contains(text, "PRIVATE KEY") {
			t.Errorf("%s has a Secret:\n%s", file, text)
		}
		if strings.HasSuffix(file, "-manager.log") && strings.Contains(text, "Starting") {
			operator++
		}
	}
	if _, found := files["pods/"+pod+"-memcached.log"]; !found || operator == 0 || files["errors.txt"] != "" {
		t.Errorf("the archive has %q, and %d logs of operators\n%s", slices.Sorted(maps.Keys(files)), operator, files["errors.txt"])
	}
	wantLines(t, files["pods/"+pod+"-stats.txt"], `general version 1\.6\.\d+`, `settings maxbytes 67108864`)
	wantLines(t, files["events.txt"], `\S+ +\d+ +Normal +Created +Memcached/`+name+` +.*`)
}
