// SPDX-License-Identifier: Apache-2.0

package reconcilers_test

import (
	"net/http"
	"slices"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	cachev1alpha1 "github.com/example/memcached-operator/apis/v1alpha1"
	"github.com/example/memcached-operator/test/testenv"
)

// isOfTeam tells whether the pods carry that label of the user's.
func isOfTeam(team string) func(*appsv1.Deployment) bool {
	return func(d *appsv1.Deployment) bool { return d.Spec.Template.Labels["team"] == team }
}

// isPaused tells whether the status says so of the spec as it is now, and of nothing
// else.
func isPaused(mc *cachev1alpha1.Memcached) bool {
	return testenv.HasCondition(mc, cachev1alpha1.ConditionReady, metav1.ConditionUnknown, cachev1alpha1.ReasonPaused) &&
		mc.Status.ObservedGeneration == mc.Generation &&
		meta.FindStatusCondition(mc.Status.Conditions, cachev1alpha1.ConditionReconciling) == nil &&
		meta.FindStatusCondition(mc.Status.Conditions, cachev1alpha1.ConditionStalled) == nil
}

func TestPaused_ChangesNothing(t *testing.T) {
	t.Parallel()
	namespace := suite.NewNamespace(t)
	o := startOperator(t, namespace)
	mc := suite.NewMemcached(t, namespace, "sample", 1)
	suite.EventuallyReady(t, mc)

	suite.Patch(t, mc, `{"spec":{"paused":true}}`)
	eventually(t, mc, "paused", isPaused)
	if !testenv.HasCondition(mc, cachev1alpha1.ConditionAvailable, metav1.ConditionTrue, "") || len(mc.Status.Nodes) != 1 || *mc.Status.ReadyReplicas != 1 {
		t.Errorf("the status tells no more of what is: %+v", mc.Status)
	}
	written := func() (writes []testenv.Request) {
		for _, kind := range []string{"/deployments/", "/services/", "/poddisruptionbudgets/"} {
			writes = append(writes, o.Matching(kind)...)
		}
		return slices.DeleteFunc(writes, func(r testenv.Request) bool { return r.Method == http.MethodGet })
	}
	before := len(written())
	suite.Delete(t, service(namespace, "sample"))
	suite.Patch(t, suite.Deployment(t, namespace, "sample"), `{"spec":{"replicas":2}}`)
	eventually(t, mc, "the second pod is seen", func(mc *cachev1alpha1.Memcached) bool {
		return isPaused(mc) && len(mc.Status.Nodes) == 2 && *mc.Status.ReadyReplicas == 2
	})
	suite.Patch(t, mc, `{"spec":{"size":3,"podMetadata":{"labels":{"team":"web"}}}}`)
	eventually(t, mc, "the new spec is seen", isPaused)
	if after := written(); len(after) != before {
		t.Errorf("while paused the operator wrote %v", after[before:])
	}

	suite.Patch(t, mc, `{"spec":{"paused":false}}`)
	eventually(t, deployment(namespace, "sample"), "the change that waited", isOfTeam("web"))
	eventuallyReadyWith(t, mc, 3)
	suite.Get(t, service(namespace, "sample"))

	suite.Patch(t, mc, `{"spec":{"paused":true}}`)
	eventually(t, mc, "paused again", isPaused)
	suite.Delete(t, mc)
	suite.EventuallyGone(t, mc)
	suite.EventuallyGone(t, deployment(namespace, "sample"))
	suite.EventuallyGone(t, service(namespace, "sample"))
}

func TestPaused_CreatesNothing(t *testing.T) {
	t.Parallel()
	namespace := suite.NewNamespace(t)
	o := startOperator(t, namespace)
	mc := memcached(namespace, "sample")
	mc.Spec.Paused = new(true)
	suite.Create(t, mc)
	eventually(t, mc, "paused", isPaused)
	if all := o.Matching(); len(all) != 1 {
		t.Errorf("more was asked for than to write the status: %v", all)
	}
	suite.Patch(t, mc, `{"spec":{"paused":null}}`)
	suite.EventuallyReady(t, mc)
}

func TestReconcile_RejectsPrivilegedFieldsUnlessAllowed(t *testing.T) {
	t.Parallel()
	namespace := suite.NewNamespace(t)
	first := startWith(t, &suite, namespace, testenv.ManagerOptions{RefusePrivilegedFields: true})
	mc := memcached(namespace, "sample")
	mc.Spec.ServiceAccountName = new(cachev1alpha1.ObjectName("cache"))
	suite.Create(t, mc)
	eventually(t, mc, "stalled", func(mc *cachev1alpha1.Memcached) bool {
		return testenv.HasCondition(mc, cachev1alpha1.ConditionStalled, metav1.ConditionTrue, cachev1alpha1.ReasonPrivilegedField) &&
			testenv.HasCondition(mc, cachev1alpha1.ConditionReady, metav1.ConditionFalse, cachev1alpha1.ReasonPrivilegedField)
	})
	if writes := first.Matching("/deployments/"); len(writes) > 0 {
		t.Errorf("the Memcached is stalled, but %v", writes)
	}
	first.stop()

	startOperator(t, namespace)
	suite.EventuallyReady(t, mc)
	if name := suite.Deployment(t, namespace, "sample").Spec.Template.Spec.ServiceAccountName; name != "cache" {
		t.Errorf("the pods' service account is %q", name)
	}
}
