// SPDX-License-Identifier: Apache-2.0

//go:build e2e

package e2e

import (
	"errors"
	"slices"
	"testing"

	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/example/memcached-operator/test/e2e/cluster"
)

func TestPodDisruptionBudget_AllowsOneEvictionAtATime(t *testing.T) {
	t.Parallel()
	namespace := suite.NewNamespace(t)
	mc := suite.Ready(t, suite.NewMemcached(t, namespace, "guarded", 2))
	budget := &policyv1.PodDisruptionBudget{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "guarded"}}
	cluster.Until(t, suite.Cluster, budget, "one disruption allowed", func(budget *policyv1.PodDisruptionBudget) bool {
		return budget.Status.DisruptionsAllowed == 1 && budget.Status.ObservedGeneration == budget.Generation
	})
	pods := suite.Pods(t, namespace, "guarded")
	kept := suite.Cache(t, namespace, pods[1].Name, cluster.Port)
	kept.Set("kept", "yes")

	evict := func(pod corev1.Pod) error {
		return suite.Clients.CoreV1().Pods(namespace).EvictV1(t.Context(), &policyv1.Eviction{ObjectMeta: metav1.ObjectMeta{Name: pod.Name, Namespace: namespace}})
	}
	cluster.Must(t, evict(pods[0]))
	err := evict(pods[1])
	var status apierrors.APIStatus
	if !apierrors.IsTooManyRequests(err) || !errors.As(err, &status) ||
		!slices.ContainsFunc(status.Status().Details.Causes, func(cause metav1.StatusCause) bool { return cause.Type == policyv1.DisruptionBudgetCause }) {
		t.Fatalf("evicting the second pod while the first is gone: %v, want 429 because of the disruption budget", err)
	}
	if got := kept.Get("kept"); got != "yes" {
		t.Errorf("the pod that stays has %q for its key", got)
	}
	// Once another pod is there for the first, the second may go.
	suite.Ready(t, mc)
	cluster.Until(t, suite.Cluster, budget, "one disruption allowed", func(budget *policyv1.PodDisruptionBudget) bool { return budget.Status.DisruptionsAllowed == 1 })
	cluster.Must(t, evict(pods[1]))
}
