// SPDX-License-Identifier: Apache-2.0

//go:build e2e

package cluster

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	cachev1alpha1 "github.com/example/memcached-operator/apis/v1alpha1"
	"github.com/example/memcached-operator/test/testenv"
)

// The images that the nodes have beside the operator's.
const (
	Image           = "docker.io/library/memcached:1.6.45"
	OldImage        = "docker.io/library/memcached:1.6.38"
	BusyboxImage    = "busybox:1.35" // sh, nc and nslookup
	PrometheusImage = "prom/prometheus:v2.42.0"
)

// Ready waits until a Memcached says that all is as its spec asks, and has as many nodes as that.
func (c *Cluster) Ready(t testing.TB, mc *cachev1alpha1.Memcached) *cachev1alpha1.Memcached {
	t.Helper()
	return testenv.EventuallyObject(t, &c.Env, mc, "it should be ready", func(mc *cachev1alpha1.Memcached) bool {
		return testenv.HasCondition(mc, cachev1alpha1.ConditionReady, metav1.ConditionTrue, "") && len(mc.Status.Nodes) == int(*mc.Spec.Size)
	})
}

// NotReady waits until a Memcached is not ready for one of reasons, in a message that contains part.
func (c *Cluster) NotReady(t testing.TB, mc *cachev1alpha1.Memcached, part string, reasons ...string) {
	t.Helper()
	testenv.EventuallyObject(t, &c.Env, mc, fmt.Sprintf("it should not be ready because of %v, %s", reasons, part), func(mc *cachev1alpha1.Memcached) bool {
		ready := meta.FindStatusCondition(mc.Status.Conditions, cachev1alpha1.ConditionReady)
		return ready != nil && ready.Status == metav1.ConditionFalse && slices.Contains(reasons, ready.Reason) && strings.Contains(ready.Message, part)
	})
}

// selector selects the pods of the Memcached of that name.
func selector(name string) string { return "app=memcached,memcached_cr=" + name }

// Pods are the pods of a Memcached that are not being deleted, sorted by name.
func (c *Cluster) Pods(t testing.TB, namespace, name string) []corev1.Pod {
	t.Helper()
	list, err := c.Clients.CoreV1().Pods(namespace).List(context.WithoutCancel(t.Context()), metav1.ListOptions{LabelSelector: selector(name)})
	testenv.NoError(t, err)
	return slices.DeleteFunc(list.Items, func(pod corev1.Pod) bool { return !pod.DeletionTimestamp.IsZero() })
}

// NoneTerminates waits until no pod of a namespace is being deleted: each serves for some seconds after its deletion.
func (c *Cluster) NoneTerminates(t testing.TB, namespace string) {
	t.Helper()
	testenv.Eventually(t, "no pod terminates", func(ctx context.Context) (bool, string, error) {
		list, err := c.Clients.CoreV1().Pods(namespace).List(ctx, metav1.ListOptions{})
		if err != nil {
			return false, "", err
		}
		deleted := slices.DeleteFunc(list.Items, func(pod corev1.Pod) bool { return pod.DeletionTimestamp.IsZero() })
		return len(deleted) == 0, fmt.Sprint(Names(deleted)), nil
	})
}

// Names are the names of pods.
func Names(pods []corev1.Pod) []string {
	names := make([]string, 0, len(pods))
	for _, pod := range pods {
		names = append(names, pod.Name)
	}
	return names
}

// Lives says which pods these are and how often their containers were restarted: it stays the
// same as long as no cache was lost.
func Lives(pods []corev1.Pod) string {
	var b strings.Builder
	for _, pod := range pods {
		fmt.Fprintf(&b, "%s %s", pod.Name, pod.UID)
		for _, container := range slices.Concat(pod.Status.InitContainerStatuses, pod.Status.ContainerStatuses) {
			fmt.Fprintf(&b, " %s restarted %d times", container.Name, container.RestartCount)
		}
		b.WriteByte('\n')
	}
	return b.String()
}
