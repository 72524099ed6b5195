// SPDX-License-Identifier: Apache-2.0

package plugin

import (
	"fmt"
	"regexp"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"

	cachev1alpha1 "github.com/example/memcached-operator/apis/v1alpha1"
	"github.com/example/memcached-operator/test/testenv"
)

// newReady creates a namespace with Memcacheds of two pods that are ready.
func newReady(t *testing.T, memcacheds map[string]cachev1alpha1.MemcachedSpec) (namespace string) {
	t.Helper()
	namespace = suite.NewNamespace(t)
	_, err := suite.StartManager(t.Context(), testenv.ManagerOptions{Namespaces: []string{namespace}})
	testenv.NoError(t, err)
	for name, spec := range memcacheds {
		mc := testenv.Memcached(namespace, name, 2)
		mc.Spec.Auth, mc.Spec.TLS = spec.Auth, spec.TLS
		suite.Create(t, mc)
		suite.EventuallyReady(t, mc)
	}
	return namespace
}

func newSecret(t *testing.T, namespace, name string, data map[string]string) {
	t.Helper()
	suite.Create(t, &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name}, StringData: data})
}

func TestStatus_ShowsTheRestWhenNoPodAnswers(t *testing.T) {
	t.Parallel()
	namespace := newReady(t, map[string]cachev1alpha1.MemcachedSpec{"cache": {}})
	got := run(t, "status", "-n", namespace)
	for _, want := range []string{
		`Memcached  ` + namespace + `/cache`, `Pods       2/2 ready`, `Endpoint   cache\.` + namespace + `\.svc:11211`, `Access     plain text, no password`,
		`Ready +True +Ready +\S+ .*`, `Available +True .*`, `Deployment/cache +\S+`, `PodDisruptionBudget/cache +\S+`, `Service/cache +\S+`,
		`cache-\S+ +\S+ +True +\S.*`,
	} {
		if !regexp.MustCompile(`(?m)^` + want + `$`).MatchString(got.out) {
			t.Errorf("no line matches %s:\n%s", want, got.out)
		}
	}
	if got.code != 1 || got.stderr != "" || strings.Count(got.out, "\ncache-") != 2 {
		t.Errorf("the exit code is %d and the output\n%s%s", got.code, got.out, got.stderr)
	}
	if top := run(t, "top", "-n", namespace, "--count=1", "--interval=10ms"); top.code != 1 || !strings.Contains(top.out, "  pods: 2  without an answer: 2\n") {
		t.Errorf("the exit code is %d and the output\n%s%s", top.code, top.out, top.stderr)
	}
	if where := run(t, "where", "key", "-n", namespace); where.code != 1 || strings.Count(where.out, "\ncache-") != 2 {
		t.Errorf("the exit code is %d and the output\n%s%s", where.code, where.out, where.stderr)
	}
}

func TestServers_ArePodsWithAddresses(t *testing.T) {
	t.Parallel()
	namespace := newReady(t, map[string]cachev1alpha1.MemcachedSpec{"cache": {}})
	if got := run(t, "servers", "cache", "-n", namespace); got.code != 0 || !regexp.MustCompile(`^(\d+\.\d+\.\d+\.\d+:11211\n){2}$`).MatchString(got.out) {
		t.Errorf("the exit code is %d and the output\n%s%s", got.code, got.out, got.stderr)
	}
}

func TestNames_AreCompletedAndChecked(t *testing.T) {
	t.Parallel()
	namespace, empty := suite.NewNamespace(t), suite.NewNamespace(t)
	suite.NewMemcached(t, namespace, "two", 0)
	suite.NewMemcached(t, namespace, "one", 0)
	for words, want := range map[string]string{
		"status -n " + namespace + " ":     "one\ntwo\n:4\n",
		"status -n " + namespace + " one ": ":4\n",
		"where -n " + namespace + " key ":  "one\ntwo\n:4\n",
		"status -n " + empty:               empty + "\n:4\n",
	} {
		if got := run(t, append([]string{"__complete"}, strings.Split(words, " ")...)...); got.code != 0 || got.out != want {
			t.Errorf("%q is completed by\n%s%s\nwant\n%s", words, got.out, got.stderr, want)
		}
	}
	if got := run(t, "__complete", "status", "-n", ""); got.code != 0 || !strings.Contains(got.out, "\n"+empty+"\n") {
		t.Errorf("namespaces are completed by\n%s%s", got.out, got.stderr)
	}
	for sentence, test := range map[string]struct {
		args []string
		want string
	}{
		"an unknown Memcached":     {[]string{"status", "-n", namespace, "three"}, "status: there is no Memcached three in namespace " + namespace + ": choose the namespace by -n, or list all by: kubectl get memcached -A"},
		"no name for two":          {[]string{"servers", "-n", namespace}, "servers: there are 2 Memcacheds in namespace " + namespace + ": name one of one, two"},
		"no Memcached":             {[]string{"status", "-n", empty}, "status: there is no Memcached in namespace " + empty + ": choose the namespace by -n, or list all by: kubectl get memcached -A"},
		"an unknown name for top":  {[]string{"top", "-n", empty, "one"}, "top: there is no Memcached one in namespace " + empty + ": choose the namespace by -n, or list all by: kubectl get memcached -A"},
		"a key without a name":     {[]string{"where", "-n", empty, "key"}, "where: there is no Memcached in namespace " + empty + ": choose the namespace by -n, or list all by: kubectl get memcached -A"},
		"an unknown context":       {[]string{"status", "--context=other"}, `status: reading the kubeconfig: context "other" does not exist`},
		"an unknown Memcached, -f": {[]string{"diff", "-n", empty, "one"}, "diff: no Memcached one in namespace " + empty},
	} {
		if got := run(t, test.args...); got.code != 2 || got.out != "" || !strings.HasSuffix("\n"+got.stderr, "\nkubectl memcached "+test.want+"\n") {
			t.Errorf("%s: the exit code is %d and the output\n%s%s", sentence, got.code, got.out, got.stderr)
		}
	}
}

// TestPermissions_AreOneLine takes away one permission after the other.
func TestPermissions_AreOneLine(t *testing.T) {
	t.Parallel()
	namespace := newReady(t, map[string]cachev1alpha1.MemcachedSpec{
		"plain": {}, "locked": {Auth: &cachev1alpha1.Auth{SecretName: "users"}}, "secured": {TLS: &cachev1alpha1.TLS{SecretName: "pair"}},
	})
	newSecret(t, namespace, "users", map[string]string{"auth": "alice:one\n"})
	memcacheds, pods := allow("cache.example.com", "memcacheds", "get", "list"), allow("", "pods", "list")
	portForward := allow("", "pods/portforward", "create")
	objects := []rbacv1.PolicyRule{
		allow("", "services", "list"), allow("networking.k8s.io", "networkpolicies", "list"), allow("apps", "deployments", "list"),
		allow("policy", "poddisruptionbudgets", "list"), allow("discovery.k8s.io", "endpointslices", "list"),
		allow("", "configmaps", "list"),
	}
	users := map[string]string{
		"nobody":    newUser(t, namespace, "nobody"),
		"lister":    newUser(t, namespace, "lister", memcacheds),
		"viewer":    newUser(t, namespace, "viewer", append(objects, memcacheds, pods)...),
		"forwarder": newUser(t, namespace, "forwarder", append(objects, memcacheds, pods, portForward)...),
		"partial":   newUser(t, namespace, "partial", memcacheds, pods, portForward, objects[0], objects[1]),
	}
	missing := func(command, permission, purpose, role string) string {
		return fmt.Sprintf("kubectl memcached %s: missing permission to %s, needed to %s: ask an administrator for a role with verb %s\n", command, permission, purpose, role)
	}
	in := " in namespace " + namespace
	for sentence, test := range map[string]struct {
		user string
		args []string
		code int
		want string
	}{
		"get Memcacheds":    {"nobody", []string{"status", "plain"}, 2, missing("status", "get memcacheds.cache.example.com"+in, "read the Memcached plain", "get on memcacheds.cache.example.com")},
		"list Memcacheds":   {"nobody", []string{"top"}, 2, missing("top", "list memcacheds.cache.example.com"+in, "find the Memcacheds", "list on memcacheds.cache.example.com")},
		"list all":          {"forwarder", []string{"top", "-A"}, 2, missing("top", "list memcacheds.cache.example.com in all namespaces", "find the Memcacheds", "list on memcacheds.cache.example.com")},
		"list pods":         {"lister", []string{"servers", "plain"}, 2, missing("servers", "list pods"+in, "find the memcached pods", "list on pods")},
		"list pods for top": {"lister", []string{"top", "plain"}, 2, missing("top", "list pods"+in, "find the memcached pods", "list on pods")},
		"port-forward":      {"viewer", []string{"status", "plain"}, 1, missing("status", "create pods/portforward"+in, "ask memcached for its statistics", "create on pods/portforward")},
		"port-forward, top": {"viewer", []string{"top", "plain", "--count=1", "--interval=10ms"}, 1, missing("top", "create pods/portforward"+in, "ask memcached for its statistics", "create on pods/portforward")},
		"the password":      {"forwarder", []string{"status", "locked"}, 1, missing("status", "get secrets users"+in, "authenticate to memcached", "get on secrets")},
		"the certificate":   {"forwarder", []string{"where", "key", "secured"}, 1, missing("where", "get secrets pair"+in, "connect to memcached by TLS", "get on secrets")},
	} {
		t.Run(sentence, func(t *testing.T) {
			t.Parallel()
			args := append(test.args, "-n", namespace, "--as="+users[test.user])
			if sentence == "list all" {
				args = append(test.args, "--as="+users[test.user])
			}
			got := run(t, args...)
			if got.code != test.code || got.stderr != test.want || test.code == 1 && strings.Count(got.out, "missing permission\n") != 2 {
				t.Errorf("the exit code is %d and the output\n%s%s\nwant\n%s", got.code, got.out, got.stderr, test.want)
			}
		})
	}
	t.Run("kinds of objects", func(t *testing.T) {
		t.Parallel()
		got := run(t, "status", "plain", "-n", namespace, "--as="+users["partial"])
		want := missing("status", "list configmaps, deployments.apps, endpointslices.discovery.k8s.io, poddisruptionbudgets.policy"+in, "show the objects of the Memcached",
			"list on configmaps, deployments.apps, endpointslices.discovery.k8s.io, poddisruptionbudgets.policy")
		if got.code != 1 || got.stderr != want || !strings.Contains(got.out, "\nService/plain ") || strings.Contains(got.out, "\nDeployment/plain ") {
			t.Errorf("the exit code is %d and the output\n%s%s", got.code, got.out, got.stderr)
		}
	})
}

func TestSecrets_MustBeUsable(t *testing.T) {
	t.Parallel()
	namespace := newReady(t, map[string]cachev1alpha1.MemcachedSpec{
		"absent":    {Auth: &cachev1alpha1.Auth{SecretName: "absent"}},
		"key":       {Auth: &cachev1alpha1.Auth{SecretName: "users", Key: new("other")}},
		"malformed": {Auth: &cachev1alpha1.Auth{SecretName: "users"}},
		"pair":      {TLS: &cachev1alpha1.TLS{SecretName: "users"}},
	})
	newSecret(t, namespace, "users", map[string]string{"auth": "alice\n", "tls.crt": "garbage"})
	got := run(t, "top", "-n", namespace, "--count=1", "--interval=10ms")
	for name, want := range map[string]string{
		"absent":    "the Secret absent in namespace " + namespace + ", spec.auth.secretName of the Memcached absent: it does not exist",
		"key":       "the Secret users in namespace " + namespace + ", spec.auth.secretName of the Memcached key: it has no key other",
		"malformed": "the Secret users in namespace " + namespace + ", spec.auth.secretName of the Memcached malformed: the first line of its key auth is not user:password",
		"pair":      "the Secret users in namespace " + namespace + ", spec.tls.secretName of the Memcached pair: its key tls.crt has no certificate",
	} {
		if count := len(regexp.MustCompile(`(?m)^`+name+` +`+name+`-\S+ +\S+ +`+regexp.QuoteMeta(want)+`$`).FindAllString(got.out, -1)); count != 2 {
			t.Errorf("%d lines say %s", count, want)
		}
	}
	if got.code != 1 || got.stderr != "" || strings.Contains(got.out, "alice") {
		t.Errorf("the exit code is %d and the output\n%s%s", got.code, got.out, got.stderr)
	}
}

func TestClusters_AreReachable(t *testing.T) {
	t.Parallel()
	stranger := &rest.Config{Host: suite.Config.Host, TLSClientConfig: rest.TLSClientConfig{CAData: suite.Config.CAData}, BearerToken: "unknown"}
	nowhere := testenv.Kubeconfig(t, stranger, "https://"+testenv.FreeAddress(t))
	if got := runWith(t, nowhere, "status", "cache"); got.code != 2 || !regexp.MustCompile(
		`^kubectl memcached status: cannot reach the API server: .*connection refused: check the network, --kubeconfig and --context\n$`).MatchString(got.stderr) {
		t.Errorf("without a cluster the exit code is %d and the error %s", got.code, got.stderr)
	}
	got := runWith(t, testenv.Kubeconfig(t, stranger, ""), "status", "cache")
	if want := "kubectl memcached status: the API server " + suite.Config.Host + " rejects the credentials: log in again, or choose a context by --context\n"; got.code != 2 || got.stderr != want {
		t.Errorf("for a stranger the exit code is %d and the error %s", got.code, got.stderr)
	}
}
