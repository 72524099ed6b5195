// SPDX-License-Identifier: Apache-2.0

package reconcilers

import (
	"context"
	"fmt"
	"slices"
	"strings"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	cachev1alpha1 "github.com/example/memcached-operator/apis/v1alpha1"
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
	pods, err := listPods(ctx, r.client, mc, client.MatchingFields{podIndex: mc.Name})
	return mc, pods, err
}

// listPods returns the pods of mc, which selected selects. They must not be changed.
func listPods(ctx context.Context, from client.Reader, mc *cachev1alpha1.Memcached, selected client.ListOption) ([]corev1.Pod, error) {
	pods := &corev1.PodList{}
	// The items are only read, so that no copy is needed.
	err := from.List(ctx, pods, client.InNamespace(mc.Namespace), selected, client.UnsafeDisableDeepCopy)
	if err != nil {
		return nil, fmt.Errorf("listing the pods: %w", err)
	}
	isForeign := func(pod corev1.Pod) bool { return !isPodOf(mc, &pod) }
	return slices.DeleteFunc(pods.Items, isForeign), nil
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
