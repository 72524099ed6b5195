// SPDX-License-Identifier: Apache-2.0

package reconcilers

import (
	"context"
	"fmt"
	"slices"
	"strings"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	cachev1alpha1 "github.com/example/memcached-operator/apis/v1alpha1"
	"github.com/example/memcached-operator/reconcilers/apply"
	"github.com/example/memcached-operator/reconcilers/nodes"
	"github.com/example/memcached-operator/reconcilers/status"
)

// observe reads the Memcached of req and its pods. It returns nil when there is nothing to do: the
// Memcached is deleted or being deleted, and the garbage collector deletes its objects.
func (r *Reconciler) observe(ctx context.Context, req ctrl.Request) (*cachev1alpha1.Memcached, []corev1.Pod, error) {
	mc := &cachev1alpha1.Memcached{}
	newest, err := r.pendingWrites.Get(ctx, r.client, req.NamespacedName, mc)
	if client.IgnoreNotFound(err) != nil {
		return nil, nil, fmt.Errorf("reading the Memcached: %w", err)
	}
	if mc.UID == "" || mc.DeletionTimestamp != nil {
		return nil, nil, nil
	}
	// Of a Memcached the operator writes only the status.
	if newest.GetUID() == mc.UID {
		mc.Status, mc.ResourceVersion = newest.(*cachev1alpha1.Memcached).Status, newest.GetResourceVersion()
	}
	pods := &corev1.PodList{}
	// The items are only read, so that no copy is needed.
	err = r.client.List(ctx, pods, client.InNamespace(mc.Namespace), client.MatchingFields{podIndex: mc.Name}, client.UnsafeDisableDeepCopy)
	if err != nil {
		return nil, nil, fmt.Errorf("listing the pods: %w", err)
	}
	isForeign := func(pod corev1.Pod) bool { return !isPodOf(mc, &pod) }
	return mc, slices.DeleteFunc(pods.Items, isForeign), nil
}

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
	return nodes.Remembered(mc.Name, endpointSlices).Next(int(ptr.Deref(mc.Spec.Size, 1)), nodes.Pods(pods)), nil
}

// isPodOf reports whether pod, whose labels name mc, is controlled by a workload of mc: by a
// ReplicaSet of its Deployment, or by an object of another kind from edited templates. Labels
// alone are not enough, since any pod can have them.
func isPodOf(mc *cachev1alpha1.Memcached, pod *corev1.Pod) bool {
	controller := metav1.GetControllerOf(pod)
	return controller != nil && (controller.Name == mc.Name || strings.HasPrefix(controller.Name, mc.Name+"-"))
}

// deployment returns the Deployment of the Memcached's name, as the API server returned it from the
// last apply or as the cache has it. It returns nil when there is none.
func (r *Reconciler) deployment(ctx context.Context, templates *templateSet, observed status.Observation) (*appsv1.Deployment, error) {
	mc := observed.Memcached
	for _, result := range observed.Results {
		if deployment, ok := result.Live.(*appsv1.Deployment); ok && deployment.Name == mc.Name && metav1.IsControlledBy(deployment, mc) {
			return deployment, nil
		}
	}
	if !slices.Contains(templates.Found.Kinds, appsv1.SchemeGroupVersion.WithKind("Deployment")) {
		return nil, nil
	}
	object, err := r.pendingWrites.Get(ctx, r.client, client.ObjectKeyFromObject(mc), &appsv1.Deployment{})
	if client.IgnoreNotFound(err) != nil {
		return nil, fmt.Errorf("reading the Deployment: %w", err)
	}
	if deployment, ok := object.(*appsv1.Deployment); ok && err == nil && metav1.IsControlledBy(deployment, mc) {
		return deployment, nil
	}
	return nil, nil
}
