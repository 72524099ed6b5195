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
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	cachev1alpha1 "github.com/example/memcached-operator/apis/v1alpha1"
	"github.com/example/memcached-operator/reconcilers/preflight"
	"github.com/example/memcached-operator/reconcilers/status"
)

// observation is what one reconcile knows, filled in step by step.
type observation struct {
	status.Observation
	// absent is why optional kinds cannot be used.
	absent map[schema.GroupVersionKind]preflight.Absence
	pruned []client.Object
	// newlyStalled says that the status tells of a stop that it did not tell before.
	newlyStalled bool
	// overtaken says that the Memcached changed while its status was written.
	overtaken bool
}

// isUsable reports whether objects of kind can be made.
func (o *observation) isUsable(kind schema.GroupVersionKind) bool {
	return o.absent[kind] == preflight.Present
}

// leaveOut notes that object was rendered and not applied.
func (o *observation) leaveOut(object *unstructured.Unstructured, absence preflight.Absence) {
	o.LeftOut = append(o.LeftOut, status.LeftOut{Kind: object.GetKind(), Why: string(absence)})
}

// observe reads the Memcached of req and its pods. It returns nil when there is
// nothing to do: the Memcached is gone, or going, and its objects go with it.
func (r *Reconciler) observe(ctx context.Context, req ctrl.Request) (*observation, error) {
	mc := &cachev1alpha1.Memcached{}
	newest, err := r.recent.Get(ctx, r.client, req.NamespacedName, mc)
	if client.IgnoreNotFound(err) != nil {
		return nil, fmt.Errorf("reading the Memcached: %w", err)
	}
	if mc.UID == "" || mc.DeletionTimestamp != nil {
		return nil, nil
	}
	// Of what was written and the cache does not show yet, only the status is ours.
	if newest.GetUID() == mc.UID {
		mc.Status, mc.ResourceVersion = newest.(*cachev1alpha1.Memcached).Status, newest.GetResourceVersion()
	}
	pods := &corev1.PodList{}
	// Only read, never changed: no copy is needed.
	err = r.client.List(ctx, pods, client.InNamespace(mc.Namespace), client.MatchingFields{podIndex: mc.Name}, client.UnsafeDisableDeepCopy)
	if err != nil {
		return nil, fmt.Errorf("listing the pods: %w", err)
	}
	others := func(pod corev1.Pod) bool { return !isPodOf(mc, &pod) }
	return &observation{
		Observation: status.Observation{Memcached: mc, Pods: slices.DeleteFunc(pods.Items, others)},
		absent:      r.optional.snapshot(),
	}, nil
}

// isPodOf reports whether pod, whose labels name mc, was made by a workload of mc: by a
// ReplicaSet of its Deployment, or by another kind that edited templates have. Labels alone
// make no pod a memcached: anybody may set them.
func isPodOf(mc *cachev1alpha1.Memcached, pod *corev1.Pod) bool {
	controller := metav1.GetControllerOf(pod)
	return controller != nil && (controller.Name == mc.Name || strings.HasPrefix(controller.Name, mc.Name+"-"))
}

// deployment is the Deployment that runs memcached, the one of the Memcached's own
// name: as the apply left it, else as the cache has it. It is nil when there is none.
func (r *Reconciler) deployment(ctx context.Context, observed *observation) (*appsv1.Deployment, error) {
	mc := observed.Memcached
	for _, result := range observed.Results {
		if deployment, ok := result.Live.(*appsv1.Deployment); ok && deployment.Name == mc.Name && metav1.IsControlledBy(deployment, mc) {
			return deployment, nil
		}
	}
	if !slices.Contains(r.kinds, appsv1.SchemeGroupVersion.WithKind("Deployment")) {
		return nil, nil
	}
	deployment := &appsv1.Deployment{}
	if err := r.client.Get(ctx, client.ObjectKeyFromObject(mc), deployment); client.IgnoreNotFound(err) != nil {
		return nil, fmt.Errorf("reading the Deployment: %w", err)
	}
	if !metav1.IsControlledBy(deployment, mc) {
		return nil, nil
	}
	return deployment, nil
}
