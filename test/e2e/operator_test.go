// SPDX-License-Identifier: Apache-2.0

//go:build e2e

package e2e

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	cachev1alpha1 "github.com/example/memcached-operator/apis/v1alpha1"
	"github.com/example/memcached-operator/test/e2e/cluster"
)

// These tests disturb the operator, so they are not parallel.

func TestOperator_WritesNothingAfterRestart(t *testing.T) {
	namespace := suite.NewNamespace(t)
	var all []*cachev1alpha1.Memcached
	for i := range 5 {
		all = append(all, suite.NewMemcached(t, namespace, fmt.Sprintf("settled-%d", i), int32(i%2)))
	}
	for _, mc := range all {
		suite.Ready(t, mc)
	}
	reader := suite.Reader(t, namespace, metricsReader)
	before := versions(t, all)
	suite.Kubectl(t, "--namespace="+suite.operator.Namespace, "rollout", "restart", "deployment/"+suite.operator.Name)
	suite.operator.Settled(t)
	leader := lookedAt(t, reader, len(all))
	if after := versions(t, all); after != before {
		t.Errorf("before the restart:\n%safter it:\n%s", before, after)
	}
	metrics := suite.operator.Metrics(t, leader, reader)
	for _, action := range []string{"created", "configured", "pruned", "failed"} {
		if got := cluster.Value(t, metrics, "memcached_operator_objects_total", `action="`+action+`"`); got != 0 {
			t.Errorf("the new operator counts %.0f objects %s", got, action)
		}
	}
}

// lookedAt waits until the leading operator has looked at count Memcacheds and found each of their objects
// as it should be. It returns the leader's pod.
func lookedAt(t *testing.T, reader string, count int) string {
	t.Helper()
	leader := suite.operator.Leader(t)
	cluster.Eventually(t, fmt.Sprintf("the operator has looked at %d Memcacheds", count), func(ctx context.Context) (bool, string, error) {
		metrics := suite.operator.Metrics(t, leader, reader)
		skipped := cluster.Value(t, metrics, "memcached_operator_objects_total", `action="unchanged"`)
		return skipped >= float64(3*count), fmt.Sprintf("%.0f objects skipped", skipped), nil
	})
	return leader
}

// versions are the resource versions of Memcacheds and of all their objects.
func versions(t *testing.T, all []*cachev1alpha1.Memcached) string {
	t.Helper()
	var b strings.Builder
	for _, mc := range all {
		for _, object := range append(cluster.Children(mc.Namespace, mc.Name), mc) {
			cluster.Must(t, suite.Get(t.Context(), client.ObjectKeyFromObject(object), object))
			fmt.Fprintf(&b, "%T %s %s\n", object, object.GetName(), object.GetResourceVersion())
		}
	}
	return b.String()
}

func TestOperator_CompletesScalingAfterKill(t *testing.T) {
	namespace := suite.NewNamespace(t)
	var all []*cachev1alpha1.Memcached
	for i := range 5 {
		all = append(all, suite.Ready(t, suite.NewMemcached(t, namespace, fmt.Sprintf("killed-%d", i), 0)))
	}
	leader := suite.operator.Leader(t)
	for i, mc := range all {
		suite.MergePatch(t, mc, fmt.Sprintf(`{"spec":{"size":%d}}`, 1+i%2))
		if i == 2 {
			suite.Kubectl(t, "--namespace="+suite.operator.Namespace, "delete", "pod", leader, "--force", "--grace-period=0")
		}
	}
	started := time.Now()
	for _, mc := range all {
		suite.Ready(t, mc)
		if pods := suite.Pods(t, namespace, mc.Name); len(pods) != int(*mc.Spec.Size) {
			t.Errorf("%s has the pods %v, want %d", mc.Name, cluster.Names(pods), *mc.Spec.Size)
		}
	}
	t.Logf("all were ready %s after the kill", time.Since(started).Round(100*time.Millisecond))
	suite.operator.Settled(t)
}

func TestLeaderElection_AnotherReplicaLeads(t *testing.T) {
	namespace := suite.NewNamespace(t)
	suite.operator.Scale(t, 2)
	t.Cleanup(func() { suite.operator.Scale(t, 1) })
	leader := suite.operator.Leader(t)
	started := time.Now()
	cluster.Must(t, suite.Delete(t.Context(), &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: suite.operator.Namespace, Name: leader}}))
	next := suite.operator.Leader(t)
	took := time.Since(started)
	t.Logf("%s led, %s leads %s after the other was deleted", leader, next, took.Round(10*time.Millisecond))
	// The lease lasts 15 seconds; one that is released is taken within the 2 seconds in which
	// the others look.
	if next == leader || took > 10*time.Second {
		t.Errorf("%s leads after %s: the lease was not released", next, took)
	}
	mc := suite.NewMemcached(t, namespace, "served", 0)
	suite.Ready(t, mc)
	suite.operator.Settled(t)
}

func TestLeaderElection_ReleasesTheLeaseOnShutdown(t *testing.T) {
	suite.operator.Leader(t)
	t.Cleanup(func() { suite.operator.Scale(t, 1) })
	suite.operator.Scale(t, 0)
	if holder, err := suite.operator.Holder(t.Context()); err != nil || holder != "" {
		t.Errorf("no operator runs, and the lease is held by %q, %v", holder, err)
	}
}

// TestOperator_StartsFastAndUsesLittleMemory measures the start by the kubelet's stamps, which are whole seconds; the best of
// three counts, since the machine may be busy. Then it looks at the memory of an operator that has nothing to do.
func TestOperator_StartsFastAndUsesLittleMemory(t *testing.T) {
	suite.NoTestNamespaces(t)
	const startTime, memory = 2 * time.Second, 64 << 20
	best := cluster.Patience
	for range 3 {
		suite.operator.Scale(t, 0)
		took := startOf(&suite.operator.Scale(t, 1)[0])
		t.Logf("ready %s after the start of the container", took)
		if best = min(best, took); best <= startTime {
			break
		}
	}
	if best > startTime {
		t.Errorf("at best the container was ready %s after its start, want %s", best, startTime)
	}
	reader := suite.Reader(t, suite.NewNamespace(t), metricsReader)
	leader := suite.operator.Leader(t)
	// What the start took is given back 10 s after it.
	cluster.Eventually(t, fmt.Sprintf("less than %d MiB are resident", memory>>20), func(context.Context) (bool, string, error) {
		resident := cluster.Value(t, suite.operator.Metrics(t, leader, reader), "process_resident_memory_bytes")
		return resident > 0 && resident < memory, fmt.Sprintf("%.1f MiB are", resident/(1<<20)), nil
	})
}

// startOf is how long the pod's container took from its start until it was ready.
func startOf(pod *corev1.Pod) time.Duration {
	started := pod.Status.ContainerStatuses[0].State.Running.StartedAt
	for _, condition := range pod.Status.Conditions {
		if condition.Type == corev1.PodReady {
			return condition.LastTransitionTime.Sub(started.Time)
		}
	}
	return cluster.Patience
}
