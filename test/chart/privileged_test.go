// SPDX-License-Identifier: Apache-2.0

package chart

import (
	"context"
	"strings"
	"testing"

	rbacv1 "k8s.io/api/rbac/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	cachev1alpha1 "github.com/example/memcached-operator/apis/v1alpha1"
	"github.com/example/memcached-operator/test/testenv"
)

// TestRelease_GuardsPrivilegedFields: the policy of a release, which has the release's name, is enforced while the value
// enables it. test/admission tests what it guards.
func TestRelease_GuardsPrivilegedFields(t *testing.T) {
	withHelm4(t, func(t *testing.T, h helm) {
		cluster := testenv.New(t, testenv.Setup{})
		r := release{h.as(cluster.Kubeconfig), cluster, "cache", releaseNamespace}
		r.do(t, "install", "--create-namespace", "--take-ownership", "--set", "crds.takeOwnership=true")
		r.wantArgs(t, "--allow-privileged-fields")
		cluster.Create(t, testenv.Binding("cache-memcached-operator-memcached-editor-role", rbacv1.UserKind, "author"))
		author := cluster.As(t, "author")
		try := func(ctx context.Context) error {
			mc := testenv.Memcached("default", "cache", 0)
			mc.Spec.ServiceAccountName = new(cachev1alpha1.ObjectName("admin"))
			return author.Create(ctx, mc, client.DryRunAll)
		}
		testenv.Eventually(t, "the policy should refuse the author", func(ctx context.Context) (bool, error) {
			err := try(ctx)
			return err != nil && strings.Contains(err.Error(), "ValidatingAdmissionPolicy 'cache-memcached-operator-privileged-fields'"), nil
		})

		r.do(t, "upgrade", "--set", "privilegedFields=Refused")
		testenv.Eventually(t, "without it, admission should let the author pass", func(ctx context.Context) (bool, error) { return try(ctx) == nil, nil })
		if contains(r.deployment(t).Spec.Template.Spec.Containers[0].Args, "--allow-privileged-fields") {
			t.Error("the flag stays without the policy")
		}
	})
}
