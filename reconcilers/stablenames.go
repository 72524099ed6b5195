// SPDX-License-Identifier: Apache-2.0

package reconcilers

import (
	"context"
	"fmt"
	"slices"
	"strconv"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
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
	if mc.Spec.StableNames == nil || !slices.Contains(templates.Found.Kinds, apply.EndpointSliceKind) {
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
	if before.Misses(size, nodes.Pods(pods)) {
		// A pod is gone, or the cache of pods is behind that of EndpointSlices, as that of a new leader can be.
		selected := client.MatchingLabels{podAppLabel: podApp, podOwnerLabel: mc.Name}
		if pods, err = listPods(ctx, r.live, mc, selected); err != nil {
			return nodes.Layout{}, err
		}
	}
	return before.Next(size, nodes.Pods(pods)), nil
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
		pod := corev1ac.Pod(slot.Name, mc.Namespace).WithUID(slot.UID).WithAnnotations(map[string]string{corev1.PodDeletionCost: want})
		switch err := r.client.Apply(ctx, pod, client.FieldOwner(podFieldManager)); {
		case apierrors.IsConflict(err), apierrors.IsNotFound(err):
			log.FromContext(ctx).V(1).Info("The deletion cost of a pod was not set", "pod", slot.Name, "error", err.Error())
		case err != nil:
			return fmt.Errorf("setting the deletion cost of pod %s: %w", slot.Name, err)
		}
	}
	return nil
}
