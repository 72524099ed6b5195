// SPDX-License-Identifier: Apache-2.0

package reconcilers_test

import (
	"context"
	"net/http"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	cachev1alpha1 "github.com/example/memcached-operator/apis/v1alpha1"
	"github.com/example/memcached-operator/test/testenv"
)

func TestStatusWriter_RevertsEditsOfOthers(t *testing.T) {
	t.Parallel()
	namespace := suite.NewNamespace(t)
	startOperator(t, namespace)
	mc := suite.NewMemcached(t, namespace, "edited", 1)
	suite.EventuallyReady(t, mc)
	want := mc.Status.DeepCopy()
	for name, edit := range map[string]func(*cachev1alpha1.MemcachedStatus){
		"wiped":              func(s *cachev1alpha1.MemcachedStatus) { *s = cachev1alpha1.MemcachedStatus{} },
		"another generation": func(s *cachev1alpha1.MemcachedStatus) { s.ObservedGeneration = 99 },
		"a condition":        func(s *cachev1alpha1.MemcachedStatus) { s.Conditions[0].Status = metav1.ConditionFalse },
		"the nodes":          func(s *cachev1alpha1.MemcachedStatus) { s.Nodes = append(s.Nodes, "another") },
	} {
		t.Run(name, func(t *testing.T) {
			suite.Get(t, mc)
			before := mc.DeepCopy()
			edit(&mc.Status)
			testenv.NoError(t, suite.Client.Status().Patch(t.Context(), mc, client.MergeFrom(before), client.FieldOwner("somebody")))
			eventually(t, mc, "the status that it had", func(mc *cachev1alpha1.Memcached) bool {
				return isReady(mc) && testenv.HasCondition(mc, cachev1alpha1.ConditionAvailable, metav1.ConditionTrue, "") && len(mc.Status.Nodes) == 1 && mc.Status.Endpoint == want.Endpoint && mc.Status.ObservedGeneration == want.ObservedGeneration
			})
		})
	}
}

func TestStatusWriter_IgnoresConditionsOfOthers(t *testing.T) {
	t.Parallel()
	namespace := suite.NewNamespace(t)
	o := startOperator(t, namespace)
	mc := suite.NewMemcached(t, namespace, "shared", 0)
	suite.EventuallyReady(t, mc)
	foreign := metav1.Condition{Type: "BackedUp", Status: metav1.ConditionTrue, Reason: "Done", LastTransitionTime: metav1.Now()}
	known := mc.DeepCopy()
	meta.SetStatusCondition(&mc.Status.Conditions, foreign)
	before := len(o.Matching("/memcacheds/shared/status"))
	testenv.NoError(t, suite.Client.Status().Patch(t.Context(), mc, client.MergeFrom(known), client.FieldOwner("backup")))
	// Reverting the Service changes nothing in the status. When it was reverted the second time,
	// the reconcile that did it the first time has ended.
	for range 2 {
		suite.Patch(t, service(namespace, "shared"), `{"spec":{"publishNotReadyAddresses":true}}`)
		eventually(t, service(namespace, "shared"), "the Service is reverted", func(s *corev1.Service) bool { return !s.Spec.PublishNotReadyAddresses })
	}
	if writes := o.Matching("/memcacheds/shared/status")[before:]; len(writes) > 0 {
		t.Errorf("writes of the status: %v", writes)
	}
	suite.Get(t, mc)
	if meta.FindStatusCondition(mc.Status.Conditions, foreign.Type) == nil {
		t.Errorf("the condition of others is gone: %+v", mc.Status.Conditions)
	}
}

// The Memcached changes after it was read and before its status is written.
func TestStatusWriter_RejectsStaleVersion(t *testing.T) {
	t.Parallel()
	for name, change := range map[string]func(t *testing.T, mc *cachev1alpha1.Memcached){
		"edited": func(t *testing.T, mc *cachev1alpha1.Memcached) {
			t.Helper()
			suite.Patch(t, mc, `{"spec":{"minReadySeconds":7}}`)
		},
		"replaced": func(t *testing.T, mc *cachev1alpha1.Memcached) {
			t.Helper()
			suite.Delete(t, mc)
			suite.EventuallyGone(t, mc)
			suite.NewMemcached(t, mc.Namespace, mc.Name, 0)
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			namespace := suite.NewNamespace(t)
			o := startOperator(t, namespace)
			o.onFirst("PATCH", "/memcacheds/changing/status", func(context.Context) { change(t, memcached(namespace, "changing")) })
			suite.Create(t, memcached(namespace, "changing"))
			suite.EventuallyReady(t, memcached(namespace, "changing"))
			if got := o.statuses("/memcacheds/changing/status"); got[0] != http.StatusConflict {
				t.Errorf("the status of the version before was answered by %d, want 409: %v", got[0], got)
			}
		})
	}
}

// A policy that denies answers 422, as if the object itself were invalid.
func TestReconcile_RetriesRejectedObject(t *testing.T) {
	t.Parallel()
	namespace := suite.NewNamespace(t)
	removePolicy := suite.DenyDeployments(t, probe(t, namespace))
	startOperator(t, namespace)
	mc := suite.NewMemcached(t, namespace, "denied", 0)
	eventuallyIs(t, mc, cachev1alpha1.ConditionStalled, cachev1alpha1.ReasonInvalidObject)
	removePolicy()
	suite.EventuallyReady(t, mc)
}
