// SPDX-License-Identifier: Apache-2.0

package program_test

import (
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"

	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/example/memcached-operator/reconcilers/preflight"
	"github.com/example/memcached-operator/test/controlplane"
	"github.com/example/memcached-operator/test/testenv"
)

func TestStart_ServesUntilSIGTERM(t *testing.T) {
	t.Parallel()
	namespace := suite.NewNamespace(t)
	p, probes := startReady(t, namespace)
	if status, body := testenv.HTTPGet(t, http.DefaultClient, "http://"+probes+"/healthz", ""); status != http.StatusOK {
		t.Errorf("/healthz answers %d: %s", status, body)
	}
	settled(t, &suite, suite.NewMemcached(t, namespace, "cache", 0))
	if status := p.Terminate(t); status != 0 {
		t.Errorf("the exit status is %d", status)
	}
	if text := p.Log.Plain(); text != "" {
		t.Errorf("it prints a message at its end:\n%s", text)
	}
	if errors := p.Log.Errors(); len(errors) > 0 {
		t.Errorf("errors are logged: %q", errors)
	}
	contains(t, p.Log.String(), `"version":"1.2.3"`)
}

func TestWatchNamespaces_ExcludesOthers(t *testing.T) {
	t.Parallel()
	namespace, address := suite.NewNamespace(t), testenv.FreeAddress(t)
	suite.NewMemcached(t, suite.NewNamespace(t), "not-this-one", 0)
	startReady(t, namespace, "--metrics-bind-address="+address, "--metrics-secure=false")
	settled(t, &suite, suite.NewMemcached(t, namespace, "this-one", 0))
	const known = `memcached_operator_memcacheds{condition="Ready"`
	testenv.Eventually(t, "the operator should count its Memcached", func() bool { return metric(t, address, known) > 0 })
	if n := metric(t, address, known); n != 1 {
		t.Errorf("the operator knows of %v Memcacheds, want 1", n)
	}
	if n := metric(t, address, `memcached_operator_objects_total{action="created",kind="Deployment"}`); n != 1 {
		t.Errorf("the operator made %v Deployments, want 1", n)
	}
}

// metric sums the samples that begin with name, at an endpoint without a guard.
func metric(t *testing.T, address, name string) float64 {
	t.Helper()
	_, body := testenv.HTTPGet(t, http.DefaultClient, "http://"+address+"/metrics", "")
	return testenv.Metric(t, body, name)
}

func TestLog_IsQuietWithoutChanges(t *testing.T) {
	t.Parallel()
	namespace, address := suite.NewNamespace(t), testenv.FreeAddress(t)
	p, _ := startReady(t, namespace, "--metrics-bind-address="+address, "--metrics-secure=false")
	deployment := settled(t, &suite, suite.NewMemcached(t, namespace, "cache", 0))
	const reconciles, written = `controller_runtime_reconcile_total{controller="memcached"`, `memcached_operator_objects_total{action="configured"`
	before, wrote := p.Log.String(), metric(t, address, written)
	for i := range 5 {
		was := metric(t, address, reconciles)
		note := fmt.Sprintf(`{"metadata":{"annotations":{"example.com/note":"%d"}}}`, i)
		testenv.NoError(t, suite.Client.Patch(t.Context(), deployment, client.RawPatch("application/merge-patch+json", []byte(note))))
		testenv.Eventually(t, "the change should be reconciled", func() bool { return metric(t, address, reconciles) > was })
	}
	if after := p.Log.String(); after != before {
		t.Errorf("reconciles with nothing to do log\n%s", strings.TrimPrefix(after, before))
	}
	if now := metric(t, address, written); now != wrote {
		t.Errorf("%v objects were written", now-wrote)
	}
}

func TestLeaderElection_ReleasesTheLease(t *testing.T) {
	t.Parallel()
	namespace := suite.NewNamespace(t)
	args := []string{"--leader-elect", "--leader-elect-namespace=" + controlplane.OperatorNamespace}
	lease := &coordinationv1.Lease{ObjectMeta: metav1.ObjectMeta{Namespace: controlplane.OperatorNamespace, Name: "memcached-operator.cache.example.com"}}
	holder := func() string {
		err := suite.Client.Get(t.Context(), client.ObjectKeyFromObject(lease), lease)
		testenv.NoError(t, client.IgnoreNotFound(err))
		if lease.Spec.HolderIdentity == nil {
			return ""
		}
		return *lease.Spec.HolderIdentity
	}
	// A LimitRange is in the templates of the first operator only.
	metadata := metav1.ObjectMeta{Namespace: namespace, Name: "settings"}
	suite.Create(t, &rbacv1.Role{ObjectMeta: metadata, Rules: []rbacv1.PolicyRule{{APIGroups: []string{""}, Resources: []string{"limitranges"}, Verbs: preflight.Verbs}}},
		&rbacv1.RoleBinding{ObjectMeta: metadata, RoleRef: rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "Role", Name: "settings"}, Subjects: []rbacv1.Subject{
			{Kind: rbacv1.ServiceAccountKind, Namespace: controlplane.OperatorNamespace, Name: controlplane.OperatorServiceAccount},
		}})
	first, _ := startReady(t, namespace, append(slices.Clone(args), "--manifests-dir="+site(t, map[string]string{"limits.yaml": limitRange}))...)
	testenv.Eventually(t, "the first operator should lead", func() bool { return holder() != "" })
	leader := holder()
	second, _ := startReady(t, namespace, args...)
	if holder() != leader {
		t.Error("a second operator took the lease of the first")
	}
	settled(t, &suite, suite.NewMemcached(t, namespace, "one", 0))
	settings := &corev1.LimitRange{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "one-settings"}}
	suite.Get(t, settings)

	if status := first.Terminate(t); status != 0 {
		t.Errorf("the exit status is %d", status)
	}
	settled(t, &suite, suite.NewMemcached(t, namespace, "two", 0))
	suite.EventuallyGone(t, settings)
	if now := holder(); now == "" || now == leader {
		t.Errorf("after the first operator's end the lease is held by %q, before by %q", now, leader)
	}
	if status := second.Terminate(t); status != 0 {
		t.Errorf("the exit status is %d", status)
	}
	if now := holder(); now != "" {
		t.Errorf("the lease is not released, but held by %q", now)
	}
}
