// SPDX-License-Identifier: Apache-2.0

package chart

import (
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/example/memcached-operator/test/testenv"
)

// newInstaller creates namespaces and a user who may do everything in them and nothing
// elsewhere, and returns a kubeconfig for him.
func newInstaller(t *testing.T, cluster *testenv.Env, namespaces ...string) string {
	t.Helper()
	account := &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Namespace: namespaces[0], Name: "installer"}}
	objects := []client.Object{account}
	for _, namespace := range namespaces {
		objects = append([]client.Object{&corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: namespace}}}, objects...)
		objects = append(objects, &rbacv1.RoleBinding{
			ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "installer"},
			RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: "cluster-admin"},
			Subjects:   []rbacv1.Subject{{Kind: rbacv1.ServiceAccountKind, Namespace: account.Namespace, Name: account.Name}},
		})
	}
	cluster.Create(t, objects...)
	cfg, err := cluster.ServiceAccountConfig(t.Context(), account.Namespace, account.Name)
	testenv.NoError(t, err)
	return testenv.Kubeconfig(t, cfg, "")
}

// TestRelease_ForNamespaces installs two releases in one namespace, as a user without cluster-scoped rights.
func TestRelease_ForNamespaces(t *testing.T) {
	withHelm4(t, func(t *testing.T, h helm) {
		cluster := testenv.New(t, testenv.Setup{})
		h = h.as(newInstaller(t, cluster, "team-a", "team-b"))
		one := release{h, cluster, "one", "team-a"}
		two := release{h, cluster, "two", "team-a"}
		watching := func(namespace string) []string {
			return []string{"--set", "watchNamespaces={" + namespace + "}", "--set", "crds.enabled=false"}
		}
		one.do(t, "install", watching("team-a")...)
		two.do(t, "install", watching("team-b")...)
		one.wantArgs(t, "--watch-namespaces=team-a", "--leader-elect-resource-name=one-memcached-operator", "--metrics-bind-address=0")
		two.wantArgs(t, "--watch-namespaces=team-b", "--leader-elect-resource-name=two-memcached-operator")

		third := release{h, cluster, "third", "team-b"}
		third.refuses(t, []string{`release "two" in the namespace "team-a"`, `the namespace "team-b"`}, third.arguments("install", watching("team-b")...)...)
		one.refuses(t, []string{`release "two" in the namespace "team-a"`}, one.arguments("upgrade", watching("team-a,team-b")...)...)

		for _, r := range []release{one, two} {
			if left := r.leftovers(t); slices.ContainsFunc(left, func(object string) bool {
				return strings.HasPrefix(object, "Cluster") || strings.HasPrefix(object, "Validating")
			}) {
				t.Errorf("release %s has more than Roles: %q", r.name, left)
			}
		}

		operatorOfOne := one.startOperator(t)
		a, b := cluster.NewMemcached(t, "team-a", "cache", 1), cluster.NewMemcached(t, "team-b", "cache", 1)
		cluster.EventuallyReady(t, a)
		two.startOperator(t)
		cluster.EventuallyReady(t, b)
		wantQuiet(t, operatorOfOne)

		one.do(t, "upgrade", append(watching("team-a"), "--set", "logLevel=debug")...)
		one.do(t, "rollback", "1", "--wait")
		one.do(t, "uninstall", "--wait")
		if left := one.leftovers(t); len(left) > 0 {
			t.Errorf("uninstalling leaves %q", left)
		}
		wantSame(t, cluster, a)
		one.do(t, "install", watching("team-a")...)
		if left := two.leftovers(t); len(left) == 0 {
			t.Error("the other release is gone")
		}
	})
}
