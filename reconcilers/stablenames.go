// SPDX-License-Identifier: Apache-2.0

package reconcilers

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"time"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	corev1ac "k8s.io/client-go/applyconfigurations/core/v1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/log"

	cachev1alpha1 "github.com/example/memcached-operator/apis/v1alpha1"
	"github.com/example/memcached-operator/reconcilers/apply"
	"github.com/example/memcached-operator/reconcilers/nodes"
)

// podFieldManager is the field manager of the annotations of pods. Like apply.FieldManager, it must never change.
const podFieldManager = apply.FieldManager + "-pods"

// highestDeletionCost is the deletion cost of the pod with the name of ordinal 0. It exceeds every ordinal, so that a pod without a
// cost, which has no name yet, is deleted before those that have one.
const highestDeletionCost = 1000

// layout returns which of pods, those of mc, have which stable name now. It is empty without spec.stableNames, and where the
// templates have no EndpointSlice, which remembers it.
func (r *Reconciler) layout(ctx context.Context, templates *templateSet, owner *apply.Owner, mc *cachev1alpha1.Memcached, pods []corev1.Pod) (nodes.Layout, error) {
	if !mc.Spec.HasStableNames() || !slices.Contains(templates.Found.Kinds, apply.EndpointSliceKind) {
		return nodes.Layout{}, nil
	}
	owned, err := templates.applier.Owned(ctx, owner, apply.EndpointSliceKind)
	if err != nil {
		return nodes.Layout{}, err
	}
	var endpointSlices []discoveryv1.EndpointSlice
	for _, object := range owned {
		if slice, ok := object.(*discoveryv1.EndpointSlice); ok {
			endpointSlices = append(endpointSlices, *slice)
		}
	}
	size := int(ptr.Deref(mc.Spec.Size, 1))
	before := nodes.Remembered(mc.Name, endpointSlices)
	list, err := r.listed(ctx, templates, mc)
	if err != nil {
		return nodes.Layout{}, err
	}
	before = before.WithList(list)
	if before.Misses(size, nodes.Pods(pods)) {
		// A pod is gone, or the cache of pods is behind that of EndpointSlices, as that of a new leader can be.
		selected := client.MatchingLabels{podAppLabel: podApp, podOwnerLabel: mc.Name}
		if pods, err = listPods(ctx, r.live, mc, selected); err != nil {
			return nodes.Layout{}, err
		}
	}
	observed := nodes.Pods(pods)
	return before.HandOver(before.Next(size, observed), observed, r.now(), handover(mc)), nil
}

// handover returns spec.proxy.handoverSeconds of mc; 0 without one.
func handover(mc *cachev1alpha1.Memcached) time.Duration {
	if mc.Spec.Proxy == nil {
		return 0
	}
	return time.Duration(ptr.Deref(mc.Spec.Proxy.HandoverSeconds, 0)) * time.Second
}

// setDeletionCosts has a scale-down delete the pods with the highest stable names: the other ones keep theirs, and the keys. A pod
// whose cost another client has set keeps that.
func (r *Reconciler) setDeletionCosts(ctx context.Context, mc *cachev1alpha1.Memcached, layout nodes.Layout, pods []corev1.Pod) error {
	costs := map[types.UID]string{}
	for _, pod := range pods {
		costs[pod.UID] = pod.Annotations[corev1.PodDeletionCost]
	}
	for _, slot := range layout.Slots {
		want := strconv.Itoa(highestDeletionCost - slot.Ordinal)
		if cost, observed := costs[slot.UID]; !observed || slot.Terminating || cost == want {
			continue
		}
		if err := r.annotate(ctx, mc.Namespace, slot.Name, slot.UID, corev1.PodDeletionCost, want); err != nil {
			return err
		}
	}
	return nil
}

// annotate sets an annotation of a pod, unless another client has set it or the pod is gone.
func (r *Reconciler) annotate(ctx context.Context, namespace, name string, uid types.UID, annotation, value string) error {
	pod := corev1ac.Pod(name, namespace).WithUID(uid).WithAnnotations(map[string]string{annotation: value})
	err := r.client.Apply(ctx, pod, client.FieldOwner(podFieldManager))
	if apierrors.IsConflict(err) || apierrors.IsNotFound(err) {
		log.FromContext(ctx).V(1).Info("An annotation of a pod was not set", "pod", name, "annotation", annotation, "error", err.Error())
		return nil
	}
	if err != nil {
		return fmt.Errorf("setting annotation %s of pod %s: %w", annotation, name, err)
	}
	return nil
}

const (
	// proxyApp is the label podAppLabel of the proxies.
	proxyApp = "memcached-proxy"
	// proxyNodesAnnotation is on the pods of proxies, with the version of their list of nodes.
	proxyNodesAnnotation = "cache.example.com/nodes-version"
)

// proxyNodes is the key of the list of nodes of the proxies of mc.
func proxyNodes(mc *cachev1alpha1.Memcached) client.ObjectKey {
	return client.ObjectKey{Namespace: mc.Namespace, Name: nodes.ListName(mc.Name)}
}

// listed returns the list of nodes that the proxies of mc were last told; "" without one.
func (r *Reconciler) listed(ctx context.Context, templates *templateSet, mc *cachev1alpha1.Memcached) (string, error) {
	if mc.Spec.Proxy == nil || !slices.Contains(templates.Found.Kinds, configMapKind) {
		return "", nil
	}
	object, err := r.pendingWrites.Get(ctx, r.client, proxyNodes(mc), &corev1.ConfigMap{})
	if client.IgnoreNotFound(err) != nil {
		return "", fmt.Errorf("reading the list of nodes: %w", err)
	}
	if list, ok := object.(*corev1.ConfigMap); ok && metav1.IsControlledBy(list, mc) {
		return list.Data["nodes"], nil
	}
	return "", nil
}

var configMapKind = corev1.SchemeGroupVersion.WithKind("ConfigMap")

// touchProxies has the kubelets update the volumes of the proxies when results say that their list of nodes has changed: they do so
// when the pod changes, and otherwise within a minute or two. If the operator ends before it, they do it then, but for a list with a
// hand-over in layout that has not begun to move items: that has to reach all of them before.
func (r *Reconciler) touchProxies(ctx context.Context, mc *cachev1alpha1.Memcached, layout nodes.Layout, results []apply.Result) error {
	i := slices.IndexFunc(results, func(result apply.Result) bool {
		isList := result.Object.GroupVersionKind() == configMapKind && client.ObjectKeyFromObject(result.Object) == proxyNodes(mc)
		return isList && result.Live != nil && (result.Action == apply.Configured || layout.IsPreparing(r.now()))
	})
	if i < 0 {
		return nil
	}
	pods, err := listPods(ctx, r.live, mc, client.MatchingLabels{podAppLabel: proxyApp, podOwnerLabel: mc.Name})
	for _, pod := range pods {
		if version := results[i].Live.GetResourceVersion(); pod.Annotations[proxyNodesAnnotation] != version {
			err = errors.Join(err, r.annotate(ctx, pod.Namespace, pod.Name, pod.UID, proxyNodesAnnotation, version))
		}
	}
	return err
}
