// SPDX-License-Identifier: Apache-2.0

//go:build e2e

package helm

import (
	"context"
	"slices"
	"testing"

	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	cachev1alpha1 "github.com/example/memcached-operator/apis/v1alpha1"
	"github.com/example/memcached-operator/test/e2e/cluster"
)

// TestRelease_ForNamespacesRunsBesideOthers has two releases with Roles only, one of them for two namespaces.
func TestRelease_ForNamespacesRunsBesideOthers(t *testing.T) {
	besideOthers(t, func(t *testing.T, h helm) {
		a, b, c := suite.NewNamespace(t), suite.NewNamespace(t), suite.NewNamespace(t)
		// Its rarer permissions are for fields that such a release rejects by default.
		privileged := []string{"--set", "privilegedFields=GuardedElsewhere"}
		one, _ := forSome(t, h, "one", []string{a, c}, privileged...)
		two, _ := forSome(t, h, "two", []string{b}, privileged...)
		hasRolesOnly(t, a, b)

		inA, inB, inC := suite.NewMemcached(t, a, "cache", 1), suite.NewMemcached(t, b, "cache", 1), suite.NewMemcached(t, c, "cache", 1)
		for _, mc := range []*cachev1alpha1.Memcached{inA, inB, inC} {
			suite.Ready(t, mc)
		}
		leavesAlone(t, one, two, inC, inB)
		leavesAlone(t, two, one, inB, inA)
		usesItsRoles(t, inC)
		usesItsRoles(t, inB)
		keepsToItsRoles(t, one, a, c)
		keepsToItsRoles(t, two, b)
	})
}

// hasRolesOnly fails if something cluster-wide is of, or for, the releases in namespaces.
func hasRolesOnly(t *testing.T, namespaces ...string) {
	t.Helper()
	roles, bindings := &rbacv1.ClusterRoleList{}, &rbacv1.ClusterRoleBindingList{}
	cluster.Must(t, suite.List(t.Context(), roles))
	cluster.Must(t, suite.List(t.Context(), bindings))
	of := func(object client.Object) bool {
		return slices.Contains(namespaces, object.GetAnnotations()["meta.helm.sh/release-namespace"])
	}
	for _, role := range roles.Items {
		if of(&role) {
			t.Errorf("there is a ClusterRole %s", role.Name)
		}
	}
	for _, binding := range bindings.Items {
		subject := slices.IndexFunc(binding.Subjects, func(subject rbacv1.Subject) bool { return slices.Contains(namespaces, subject.Namespace) })
		if of(&binding) || subject >= 0 {
			t.Errorf("there is a ClusterRoleBinding %s", binding.Name)
		}
	}
}

// leavesAlone changes a Memcached of an operator that is away, and one of another that is there: the latter is
// served, the former not before its operator is back.
func leavesAlone(t *testing.T, there, away release, served, unserved *cachev1alpha1.Memcached) {
	t.Helper()
	away.Scale(t, 0)
	for _, size := range []string{"2", "1"} {
		suite.MergePatch(t, unserved, `{"spec":{"size":`+size+`}}`)
		suite.MergePatch(t, served, `{"spec":{"size":`+size+`}}`)
		suite.Ready(t, served)
	}
	cluster.Must(t, suite.Get(t.Context(), client.ObjectKeyFromObject(unserved), unserved))
	if unserved.Status.ObservedGeneration == unserved.Generation {
		t.Errorf("release %s serves %s, which is another's", there.name, unserved.Namespace)
	}
	away.Scale(t, 1)
	suite.Ready(t, unserved)
}

// usesItsRoles gives the operator cause to use its rarer permissions: an event that repeats
// before the Memcached changes, objects of another owner, of every kind, which it reads to judge them, and
// objects to prune.
func usesItsRoles(t *testing.T, mc *cachev1alpha1.Memcached) {
	t.Helper()
	service := &corev1.Service{ObjectMeta: metav1.ObjectMeta{Namespace: mc.Namespace, Name: mc.Name}}
	for range 2 {
		suite.MergePatch(t, service, `{"metadata":{"labels":{"app":null}}}`)
		cluster.Until(t, suite.Cluster, service, "reverted", func(service *corev1.Service) bool { return service.Labels["app"] == "memcached" })
	}

	for _, foreign := range cluster.Foreign(mc.Namespace, "taken") {
		cluster.Must(t, suite.Create(t.Context(), foreign))
	}
	cluster.Until(t, suite.Cluster, suite.NewMemcached(t, mc.Namespace, "taken", 1, cluster.WithEveryObject), "stalled", func(mc *cachev1alpha1.Memcached) bool {
		return cluster.Is(mc, cachev1alpha1.ConditionStalled, metav1.ConditionTrue, cachev1alpha1.ReasonOwnershipConflict)
	})
	suite.TakeAway(t, suite.Ready(t, suite.NewMemcached(t, mc.Namespace, "changing", 0, cluster.WithEveryObject)))
}

// keepsToItsRoles compares what the release's operator was granted with what it asked for.
func keepsToItsRoles(t *testing.T, r release, namespaces ...string) {
	t.Helper()
	if suite.AuditLog == "" {
		t.Log("E2E_AUDIT_LOG is not set: the operator's requests are not looked at")
		return
	}
	// What is written to the log last may come late.
	cluster.Eventually(t, "the operator asks for all that it is granted, and for nothing else", func(ctx context.Context) (bool, string, error) {
		return true, "", r.JudgeAudit(ctx)
	})
	r.WantRequestsIn(t, namespaces...)
}
