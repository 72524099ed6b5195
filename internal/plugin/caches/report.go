// SPDX-License-Identifier: Apache-2.0

package caches

import (
	"context"
	"slices"
	"strings"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"

	cachev1alpha1 "github.com/example/memcached-operator/apis/v1alpha1"
)

// logLines is how many lines of a log are read at most, the last ones.
const logLines = 5000

// Object returns an object without its managedFields.
func (c *Client) Object(ctx context.Context, kind schema.GroupVersionKind, namespace, name string) (map[string]any, error) {
	object := &unstructured.Unstructured{}
	object.SetGroupVersionKind(kind)
	if err := c.api.Get(ctx, client.ObjectKey{Namespace: namespace, Name: name}, object); err != nil {
		resource, _ := meta.UnsafeGuessKindToResource(kind)
		return nil, c.explain(err, need{verb: "get", resource: resource.GroupResource().String(), name: name, namespace: namespace, purpose: "show it"})
	}
	object.SetManagedFields(nil)
	return object.Object, nil
}

// PodsOf returns the pods that a Deployment selects.
func (c *Client) PodsOf(ctx context.Context, namespace, deployment string) ([]corev1.Pod, error) {
	found := &appsv1.Deployment{}
	if err := c.api.Get(ctx, client.ObjectKey{Namespace: namespace, Name: deployment}, found); err != nil {
		return nil, c.explain(err, need{verb: "get", resource: "deployments.apps", name: deployment, namespace: namespace, purpose: "find its pods"})
	}
	selector, err := metav1.LabelSelectorAsSelector(found.Spec.Selector)
	if err != nil {
		return nil, err
	}
	list := &corev1.PodList{}
	if err := c.api.List(ctx, list, client.InNamespace(namespace), client.MatchingLabelsSelector{Selector: selector}); err != nil {
		return nil, c.explain(err, need{verb: "list", resource: "pods", namespace: namespace, purpose: "show those of the Deployment " + deployment})
	}
	return list.Items, nil
}

// Log returns the last lines of the log of a container of pod, or of the container before its last restart.
func (c *Client) Log(ctx context.Context, pod *corev1.Pod, container string, previous bool) ([]byte, error) {
	options := &corev1.PodLogOptions{Container: container, Previous: previous, TailLines: new(int64(logLines)), Timestamps: true}
	content, err := c.core.Pods(pod.Namespace).GetLogs(pod.Name, options).DoRaw(ctx)
	if err != nil {
		return nil, c.explain(err, need{verb: "get", resource: "pods/log", namespace: pod.Namespace, purpose: "read logs"})
	}
	return content, nil
}

// Events returns the events of a Memcached, its objects and pods, by the beginning of their names, the latest last.
func (c *Client) Events(ctx context.Context, mc *cachev1alpha1.Memcached) ([]corev1.Event, error) {
	list := &corev1.EventList{}
	if err := c.api.List(ctx, list, client.InNamespace(mc.Namespace)); err != nil {
		return nil, c.explain(err, need{verb: "list", resource: "events", namespace: mc.Namespace, purpose: "show those of the Memcached"})
	}
	events := slices.DeleteFunc(list.Items, func(event corev1.Event) bool {
		name := event.InvolvedObject.Name
		return name != mc.Name && !strings.HasPrefix(name, mc.Name+"-")
	})
	slices.SortStableFunc(events, func(a, b corev1.Event) int { return LastSeen(a).Compare(LastSeen(b)) })
	return events, nil
}

// LastSeen returns when event was last seen.
func LastSeen(event corev1.Event) time.Time {
	switch {
	case event.Series != nil:
		return event.Series.LastObservedTime.Time
	case !event.LastTimestamp.IsZero():
		return event.LastTimestamp.Time
	case !event.EventTime.IsZero():
		return event.EventTime.Time
	default:
		return event.CreationTimestamp.Time
	}
}
