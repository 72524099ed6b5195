// SPDX-License-Identifier: Apache-2.0

package reconcilers_test

import (
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	cachev1alpha1 "github.com/example/memcached-operator/apis/v1alpha1"
)

// isOfTeam tells whether the pods carry that label of the user's.
func isOfTeam(team string) func(*appsv1.Deployment) bool {
	return func(d *appsv1.Deployment) bool { return d.Spec.Template.Labels["team"] == team }
}

// isPaused tells whether the status says so of the spec as it is now, and of nothing
// else.
func isPaused(mc *cachev1alpha1.Memcached) bool {
	return is(mc, cachev1alpha1.ConditionReady, metav1.ConditionUnknown, cachev1alpha1.ReasonPaused) &&
		mc.Status.ObservedGeneration == mc.Generation &&
		meta.FindStatusCondition(mc.Status.Conditions, cachev1alpha1.ConditionReconciling) == nil &&
		meta.FindStatusCondition(mc.Status.Conditions, cachev1alpha1.ConditionStalled) == nil
}

func TestPaused_ChangesNothing(t *testing.T) {
	t.Parallel()
	namespace := newNamespace(t)
	o := startOperator(t, suite.operator, namespace, nil)
	mc := newMemcached(t, namespace, "sample", 1)
	ready(t, mc)

	patch(t, mc, `{"spec":{"paused":true}}`)
	eventually(t, mc, "paused", isPaused)
	if !is(mc, cachev1alpha1.ConditionAvailable, metav1.ConditionTrue, "") || len(mc.Status.Nodes) != 1 || *mc.Status.ReadyReplicas != 1 {
		t.Errorf("the status tells no more of what is: %+v", mc.Status)
	}
	written := func() (children []string) {
		for _, verb := range []string{"PATCH", "POST", "PUT", "DELETE"} {
			for _, kind := range []string{"/deployments/", "/services/", "/poddisruptionbudgets/"} {
				children = append(children, o.matching(verb, kind)...)
			}
		}
		return children
	}
	before := len(written())
	fatal(t, suite.Client.Delete(t.Context(), service(namespace, "sample")))
	patch(t, deploymentNow(t, namespace, "sample"), `{"spec":{"replicas":2}}`)
	eventually(t, mc, "the second pod is seen", func(mc *cachev1alpha1.Memcached) bool {
		return isPaused(mc) && len(mc.Status.Nodes) == 2 && *mc.Status.ReadyReplicas == 2
	})
	patch(t, mc, `{"spec":{"size":3,"podMetadata":{"labels":{"team":"web"}}}}`)
	eventually(t, mc, "the new spec is seen", isPaused)
	if after := written(); len(after) != before {
		t.Errorf("while paused the operator wrote %v", after[before:])
	}

	patch(t, mc, `{"spec":{"paused":false}}`)
	eventually(t, deployment(namespace, "sample"), "the change that waited", isOfTeam("web"))
	eventually(t, mc, "three pods", func(mc *cachev1alpha1.Memcached) bool { return isReady(mc) && len(mc.Status.Nodes) == 3 })
	fatal(t, suite.Client.Get(t.Context(), client.ObjectKey{Namespace: namespace, Name: "sample"}, service(namespace, "sample")))

	patch(t, mc, `{"spec":{"paused":true}}`)
	eventually(t, mc, "paused again", isPaused)
	fatal(t, suite.Client.Delete(t.Context(), mc))
	gone(t, mc)
	gone(t, deployment(namespace, "sample"))
	gone(t, service(namespace, "sample"))
}

func TestPaused_CreatesNothing(t *testing.T) {
	t.Parallel()
	namespace := newNamespace(t)
	o := startOperator(t, suite.operator, namespace, nil)
	mc := &cachev1alpha1.Memcached{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "sample"},
		Spec:       cachev1alpha1.MemcachedSpec{Size: new(int32(0)), Paused: new(true)},
	}
	fatal(t, suite.Client.Create(t.Context(), mc))
	eventually(t, mc, "paused", isPaused)
	if all := o.matching(); len(all) != 1 {
		t.Errorf("more was asked for than to write the status: %v", all)
	}
	patch(t, mc, `{"spec":{"paused":null}}`)
	ready(t, mc)
}

func TestReconcile_RejectsPrivilegedFieldsUnlessAllowed(t *testing.T) {
	t.Parallel()
	namespace := newNamespace(t)
	first := setUp{guards: true}.start(t, suite.operator, namespace)
	mc := &cachev1alpha1.Memcached{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "sample"},
		Spec:       cachev1alpha1.MemcachedSpec{Size: new(int32(0)), ServiceAccountName: new(cachev1alpha1.ObjectName("cache"))},
	}
	fatal(t, suite.Client.Create(t.Context(), mc))
	eventually(t, mc, "stalled", func(mc *cachev1alpha1.Memcached) bool {
		return is(mc, cachev1alpha1.ConditionStalled, metav1.ConditionTrue, cachev1alpha1.ReasonPrivilegedField) &&
			is(mc, cachev1alpha1.ConditionReady, metav1.ConditionFalse, cachev1alpha1.ReasonPrivilegedField)
	})
	if writes := first.matching("/deployments/"); len(writes) > 0 {
		t.Errorf("the Memcached is stalled, but %v", writes)
	}
	first.stop()

	setUp{}.start(t, suite.operator, namespace)
	ready(t, mc)
	if name := deploymentNow(t, namespace, "sample").Spec.Template.Spec.ServiceAccountName; name != "cache" {
		t.Errorf("the pods' service account is %q", name)
	}
}
