// SPDX-License-Identifier: Apache-2.0

package plugin

import (
	"net/http"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"

	"github.com/example/memcached-operator/test/testenv"
)

func TestFailures_OfTheAPIServerAreShown(t *testing.T) {
	t.Parallel()
	namespace := suite.NewNamespace(t)
	suite.NewMemcached(t, namespace, "cache", 0)
	server := testenv.Refusing(t, suite.Config, "/pods", http.StatusInternalServerError, "etcd is out of order")
	kubeconfig := testenv.Kubeconfig(t, &rest.Config{}, server)
	for command, test := range map[string]struct {
		code int
		out  string
	}{
		"status":  {1, "Memcached  " + namespace + "/cache\n"}, // the rest is shown
		"servers": {2, ""},
		"top":     {2, ""},
	} {
		got := runWith(t, kubeconfig, command, "cache", "-n", namespace)
		want := "kubectl memcached " + command + ": to find the memcached pods: "
		if got.code != test.code || !strings.HasPrefix(got.out, test.out) || test.out == "" && got.out != "" ||
			!strings.HasPrefix(got.stderr, want) || !strings.Contains(got.stderr, "etcd is out of order") || strings.Count(got.stderr, "\n") != 1 {
			t.Errorf("the exit code of %s is %d and the output\n%s%s", command, got.code, got.out, got.stderr)
		}
	}
}

func TestServers_SayThatPodsHaveNoAddress(t *testing.T) {
	t.Parallel()
	namespace := suite.NewNamespace(t)
	suite.NewMemcached(t, namespace, "cache", 0)
	suite.Create(t, &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "cache-0", Labels: map[string]string{"app": "memcached", "memcached_cr": "cache"}},
		Spec:       corev1.PodSpec{NodeSelector: map[string]string{"absent": "true"}, Containers: []corev1.Container{{Name: "memcached", Image: "memcached"}}},
	})
	const want = "kubectl memcached servers: left out because they have no address yet: 1 of 1 pods\n"
	if got := run(t, "servers", "-n", namespace, "-o", "json"); got.code != 1 || got.out != "[]\n" || got.stderr != want {
		t.Errorf("the exit code is %d and the output\n%s%s", got.code, got.out, got.stderr)
	}
	if got := run(t, "servers", "-n", namespace, "-o", "loki"); got.code != 0 || !strings.Contains(got.out, "dnssrvnoa+_memcached._tcp.cache.") || got.stderr != "" {
		t.Errorf("for Loki, which needs no addresses, the exit code is %d and the output\n%s%s", got.code, got.out, got.stderr)
	}
}
