// SPDX-License-Identifier: Apache-2.0

//go:build e2e

package e2e

import (
	"context"
	"testing"

	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"

	cachev1alpha1 "github.com/example/memcached-operator/apis/v1alpha1"
	"github.com/example/memcached-operator/test/e2e/cluster"
)

// TestPolicy_RequiresReadingTheSecret writes Memcacheds as a user who may do nothing else, as the
// policy that is installed with the operator sees it.
func TestPolicy_RequiresReadingTheSecret(t *testing.T) {
	t.Parallel()
	namespace := suite.NewNamespace(t)
	secret, pair := newCertificate(t, namespace)
	author := rbacv1.Subject{APIGroup: rbacv1.GroupName, Kind: rbacv1.UserKind, Name: namespace + "-author"}
	bind := func(name string, role rbacv1.RoleRef) {
		cluster.Must(t, suite.Create(t.Context(), &rbacv1.RoleBinding{
			ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name}, RoleRef: role, Subjects: []rbacv1.Subject{author},
		}))
	}
	bind("editor", rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: "memcached-operator-memcached-editor-role"})
	config := rest.CopyConfig(suite.Config)
	config.Impersonate.UserName = author.Name
	as, err := client.New(config, client.Options{Scheme: suite.Scheme()})
	cluster.Must(t, err)

	mc := &cachev1alpha1.Memcached{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "written"}, Spec: cachev1alpha1.MemcachedSpec{Size: new(int32(1))}}
	cluster.Eventually(t, "the author may write a Memcached", func(ctx context.Context) (bool, string, error) {
		err := as.Create(ctx, mc)
		return err == nil, "", err
	})
	tls := `{"spec":{"tls":{"secretName":"` + secret.Name + `"}}}`
	secured := func(ctx context.Context) error {
		return as.Patch(ctx, mc, client.RawPatch("application/merge-patch+json", []byte(tls)))
	}
	if err = secured(t.Context()); !apierrors.IsForbidden(err) {
		t.Fatalf("naming a Secret: %v, want it to be forbidden", err)
	}
	contains(t, err.Error(), "spec.tls.secretName: ", "requires the right to get the Secret "+secret.Name, author.Name)

	reader := &rbacv1.Role{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "reader"},
		Rules:      []rbacv1.PolicyRule{{APIGroups: []string{""}, Resources: []string{"secrets"}, ResourceNames: []string{secret.Name}, Verbs: []string{"get"}}},
	}
	cluster.Must(t, suite.Create(t.Context(), reader))
	bind("reader", rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "Role", Name: reader.Name})
	cluster.Eventually(t, "the author may name the Secret", func(ctx context.Context) (bool, string, error) {
		err := secured(ctx)
		return err == nil, "", err
	})
	suite.Ready(t, mc)
	suite.CacheBy(t, namespace, suite.Pods(t, namespace, mc.Name)[0].Name, cluster.Access{TLS: trusting(pair)}).Set("key", "value")
}
