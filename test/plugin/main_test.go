// SPDX-License-Identifier: Apache-2.0

// Package plugin tests the kubectl plugin with a real API server. Its node is simulated, so that no pod answers; those
// that do are in test/memcached and, with a kubelet, in test/e2e.
package plugin

import (
	"bytes"
	"os"
	"slices"
	"strings"
	"testing"

	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/example/memcached-operator/internal/command"
	"github.com/example/memcached-operator/internal/plugin"
	"github.com/example/memcached-operator/test/testenv"
)

// suite has controllers and a simulated node.
var suite testenv.Env

func TestMain(m *testing.M) {
	os.Exit(testenv.Main(m, &suite, testenv.Setup{Identity: true, DependsOn: []string{"hack/plugin.sh"}}))
}

// result is what a command did.
type result struct {
	code        int
	out, stderr string
}

// run runs the plugin as the administrator, unless args name another user.
func run(t *testing.T, args ...string) result {
	t.Helper()
	return runWith(t, suite.Kubeconfig, args...)
}

func runWith(t *testing.T, kubeconfig string, args ...string) result {
	t.Helper()
	var out, stderr bytes.Buffer
	position := len(args)
	if args[0] == "__complete" { // the words to complete are the last ones
		position = 2
	}
	args = slices.Insert(slices.Clone(args), position, "--kubeconfig="+kubeconfig)
	code := plugin.Run(t.Context(), args, "test", command.Streams{
		In: strings.NewReader(""), Out: &out, Err: &stderr, Getenv: func(string) string { return "" },
	})
	return result{code, out.String(), stderr.String()}
}

// newUser returns a user with rules in namespace.
func newUser(t *testing.T, namespace, name string, rules ...rbacv1.PolicyRule) string {
	t.Helper()
	user := name + "-" + namespace
	suite.Create(t,
		&rbacv1.Role{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name}, Rules: rules},
		&rbacv1.RoleBinding{
			ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name},
			RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "Role", Name: name},
			Subjects:   []rbacv1.Subject{{APIGroup: rbacv1.GroupName, Kind: rbacv1.UserKind, Name: user}},
		})
	return user
}

// allow returns a rule for a resource.
func allow(group, resource string, verbs ...string) rbacv1.PolicyRule {
	return rbacv1.PolicyRule{APIGroups: []string{group}, Resources: []string{resource}, Verbs: verbs}
}
