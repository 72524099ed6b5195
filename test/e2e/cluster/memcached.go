// SPDX-License-Identifier: Apache-2.0

//go:build e2e

package cluster

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	cachev1alpha1 "github.com/example/memcached-operator/apis/v1alpha1"
)

// Port is where memcached listens unless a Memcached says otherwise.
const Port = 11211

// The memcached images that the nodes have.
const (
	Image    = "memcached:1.6.45"
	OldImage = "memcached:1.6.38"
)

// NewMemcached creates a Memcached of size pods, with what edits change.
func (c *Cluster) NewMemcached(t testing.TB, namespace, name string, size int32, edits ...func(*cachev1alpha1.MemcachedSpec)) *cachev1alpha1.Memcached {
	t.Helper()
	mc := &cachev1alpha1.Memcached{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name},
		Spec:       cachev1alpha1.MemcachedSpec{Size: &size},
	}
	for _, edit := range edits {
		edit(&mc.Spec)
	}
	Must(t, c.Create(t.Context(), mc))
	return mc
}

// WithImage sets spec.image.
func WithImage(image string) func(*cachev1alpha1.MemcachedSpec) {
	return func(spec *cachev1alpha1.MemcachedSpec) { spec.Image = new(cachev1alpha1.Image(image)) }
}

// MergePatch changes object by a merge patch.
func (c *Cluster) MergePatch(t testing.TB, object client.Object, patch string) {
	t.Helper()
	Must(t, c.Client.Patch(t.Context(), object, client.RawPatch(types.MergePatchType, []byte(patch))))
}

// Ready waits until a Memcached says that all is as its spec asks, and has as many nodes as that.
func (c *Cluster) Ready(t testing.TB, mc *cachev1alpha1.Memcached) *cachev1alpha1.Memcached {
	t.Helper()
	return Until(t, c, mc, "ready", func(mc *cachev1alpha1.Memcached) bool {
		return Is(mc, cachev1alpha1.ConditionReady, metav1.ConditionTrue, "") && len(mc.Status.Nodes) == int(*mc.Spec.Size)
	})
}

// Is tells whether a condition of the spec's latest generation has status and, unless that
// is empty, reason.
func Is(mc *cachev1alpha1.Memcached, condition string, status metav1.ConditionStatus, reason string) bool {
	found := meta.FindStatusCondition(mc.Status.Conditions, condition)
	return found != nil && found.Status == status && (reason == "" || found.Reason == reason) &&
		mc.Status.ObservedGeneration == mc.Generation
}

// NotReady waits until a Memcached is not ready for one of reasons, in a message that contains every one of
// parts.
func (c *Cluster) NotReady(t testing.TB, mc *cachev1alpha1.Memcached, reasons []string, parts ...string) {
	t.Helper()
	Until(t, c, mc, fmt.Sprintf("not ready because of %v %q", reasons, parts), func(mc *cachev1alpha1.Memcached) bool {
		ready := meta.FindStatusCondition(mc.Status.Conditions, cachev1alpha1.ConditionReady)
		if ready == nil || ready.Status != metav1.ConditionFalse || !slices.Contains(reasons, ready.Reason) {
			return false
		}
		return !slices.ContainsFunc(parts, func(part string) bool { return !strings.Contains(ready.Message, part) })
	})
}

// Selector selects the pods of the Memcached of that name.
func Selector(name string) string { return "app=memcached,memcached_cr=" + name }

// Pods are the pods of a Memcached that are not being deleted, sorted by name.
func (c *Cluster) Pods(t testing.TB, namespace, name string) []corev1.Pod {
	t.Helper()
	list, err := c.Clients.CoreV1().Pods(namespace).List(context.WithoutCancel(t.Context()), metav1.ListOptions{LabelSelector: Selector(name)})
	Must(t, err)
	return slices.DeleteFunc(list.Items, func(pod corev1.Pod) bool { return !pod.DeletionTimestamp.IsZero() })
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

// Deployment is the Deployment of that name as it is now.
func (c *Cluster) Deployment(t testing.TB, namespace, name string) *appsv1.Deployment {
	t.Helper()
	d := &appsv1.Deployment{}
	Must(t, c.Get(t.Context(), types.NamespacedName{Namespace: namespace, Name: name}, d))
	return d
}
