// SPDX-License-Identifier: Apache-2.0

package reconcilers

import (
	"fmt"
	"sync"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/lru"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"

	cachev1alpha1 "github.com/example/memcached-operator/apis/v1alpha1"
	"github.com/example/memcached-operator/reconcilers/apply"
	"github.com/example/memcached-operator/reconcilers/render"
	"github.com/example/memcached-operator/reconcilers/status"
)

const (
	// podAppLabel and podOwnerLabel select the memcached pods. They are the
	// tutorial's, and the Deployment's immutable selector.
	podAppLabel   = "app"
	podApp        = "memcached"
	podOwnerLabel = "memcached_cr"

	// maxImages bounds how many images are shared between the Deployments in the cache.
	maxImages = 1024
)

// CacheOptions are the manager's cache options: Memcacheds less what their authors alone
// read, memcached pods cut down to
// what the status needs, and of every other kind, also of one that comes to be watched
// later, the objects that carry our label; in namespaces, or everywhere when there
// are none.
func CacheOptions(namespaces []string) (cache.Options, error) {
	pods, err := labels.Parse(fmt.Sprintf("%s=%s,%s", podAppLabel, podApp, podOwnerLabel))
	if err != nil {
		return cache.Options{}, err
	}
	options := cache.Options{
		// An informer that starts by accident would hold a whole kind in memory.
		ReaderFailOnMissingInformer: true,
		DefaultLabelSelector:        labels.SelectorFromSet(labels.Set{render.ManagedByLabel: render.ManagedBy}),
		DefaultTransform:            transform(reduce),
		ByObject: map[client.Object]cache.ByObject{
			&cachev1alpha1.Memcached{}: {Label: labels.Everything(), Transform: stripMemcached},
			&corev1.Pod{}:              {Label: pods, Transform: slimPod},
		},
	}
	for _, namespace := range namespaces {
		if options.DefaultNamespaces == nil {
			options.DefaultNamespaces = map[string]cache.Config{}
		}
		options.DefaultNamespaces[namespace] = cache.Config{}
	}
	return options, nil
}

// transform returns the cache transform that reduces objects.
func transform(reduce func(client.Object) client.Object) func(any) (any, error) {
	return func(object any) (any, error) {
		if object, ok := object.(client.Object); ok {
			return reduce(object), nil
		}
		return object, nil
	}
}

// reduce keeps what is read of a child: what apply.Reduce keeps, and of a Deployment what the
// status is made of.
func reduce(object client.Object) client.Object {
	reduced := apply.Reduce(object)
	deployment, ok := object.(*appsv1.Deployment)
	if !ok {
		return reduced
	}
	kept := reduced.(*appsv1.Deployment)
	kept.Spec.Replicas = deployment.Spec.Replicas
	kept.Spec.Selector = deployment.Spec.Selector
	kept.Spec.MinReadySeconds = deployment.Spec.MinReadySeconds
	kept.Spec.Paused = deployment.Spec.Paused
	for _, container := range deployment.Spec.Template.Spec.Containers {
		if container.Name == status.MainContainer {
			kept.Spec.Template.Spec.Containers = reduceContainer(container)
		}
	}
	kept.Status = reduceStatus(deployment.Status)
	return kept
}

// reduceContainer keeps name and image of the main container. Deployments of one image share
// it, since a container takes more memory than all else that is kept of one.
func reduceContainer(container corev1.Container) []corev1.Container {
	mainContainers.Lock()
	defer mainContainers.Unlock()
	if shared, ok := mainContainers.images.Get(container.Image); ok {
		return shared.([]corev1.Container)
	}
	kept := make([]corev1.Container, 1)
	kept[0].Name, kept[0].Image = container.Name, container.Image
	mainContainers.images.Add(container.Image, kept)
	return kept
}

// mainContainers are those of the images that are in use.
var mainContainers = struct {
	sync.Mutex
	images *lru.Cache
}{images: lru.New(maxImages)}

// reduceStatus keeps of a Deployment's status what the status of a Memcached is made of. What
// else changes in it causes no reconcile.
func reduceStatus(s appsv1.DeploymentStatus) appsv1.DeploymentStatus {
	kept := appsv1.DeploymentStatus{
		ObservedGeneration: s.ObservedGeneration,
		Replicas:           s.Replicas,
		UpdatedReplicas:    s.UpdatedReplicas,
		ReadyReplicas:      s.ReadyReplicas,
		AvailableReplicas:  s.AvailableReplicas,
	}
	for _, c := range s.Conditions {
		switch {
		case c.Type == appsv1.DeploymentAvailable && c.Status == corev1.ConditionTrue && s.AvailableReplicas > 0:
			kept.Conditions = append(kept.Conditions, appsv1.DeploymentCondition{Type: c.Type, Status: c.Status})
		case c.Type == appsv1.DeploymentProgressing && c.Status == corev1.ConditionFalse:
			kept.Conditions = append(kept.Conditions, appsv1.DeploymentCondition{Type: c.Type, Status: c.Status, Reason: c.Reason})
		case c.Type == appsv1.DeploymentReplicaFailure && c.Status == corev1.ConditionTrue:
			kept.Conditions = append(kept.Conditions,
				appsv1.DeploymentCondition{Type: c.Type, Status: c.Status, Reason: c.Reason, Message: c.Message})
		}
	}
	return kept
}

// stripMemcached keeps the metadata that the operator reads. Annotations alone may take
// 256 KiB, so an author could fill the operator's memory with them.
func stripMemcached(object any) (any, error) {
	mc, ok := object.(*cachev1alpha1.Memcached)
	if !ok {
		return object, nil
	}
	uid := string(mc.UID)
	apply.Pack(&mc.Name, &uid, &mc.ResourceVersion, &mc.Status.Endpoint, &mc.Status.Selector)
	mc.ObjectMeta = metav1.ObjectMeta{
		Name:              mc.Name,
		Namespace:         apply.Intern(mc.Namespace),
		UID:               types.UID(uid),
		ResourceVersion:   mc.ResourceVersion,
		Generation:        mc.Generation,
		DeletionTimestamp: mc.DeletionTimestamp,
	}
	mc.Status.Image = apply.Intern(mc.Status.Image)
	for i := range mc.Status.Conditions {
		c := &mc.Status.Conditions[i]
		c.Type, c.Reason = apply.Intern(c.Type), apply.Intern(c.Reason)
		if c.Status == metav1.ConditionTrue {
			c.Message = apply.Intern(c.Message)
		}
	}
	return mc, nil
}

// slimPod keeps of a pod what the status speaks of: identity, labels, and what its
// conditions and containers say.
func slimPod(object any) (any, error) {
	pod, ok := object.(*corev1.Pod)
	if !ok {
		return object, nil
	}
	slim := &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{
			Name:              pod.Name,
			Namespace:         pod.Namespace,
			UID:               pod.UID,
			ResourceVersion:   pod.ResourceVersion,
			DeletionTimestamp: pod.DeletionTimestamp,
			Labels: map[string]string{
				podAppLabel:   pod.Labels[podAppLabel],
				podOwnerLabel: pod.Labels[podOwnerLabel],
			},
		},
		Status: corev1.PodStatus{
			Phase:                 pod.Status.Phase,
			InitContainerStatuses: slimContainers(pod.Status.InitContainerStatuses),
			ContainerStatuses:     slimContainers(pod.Status.ContainerStatuses),
		},
	}
	if controller := metav1.GetControllerOf(pod); controller != nil {
		slim.OwnerReferences = []metav1.OwnerReference{*controller}
	}
	for _, c := range pod.Status.Conditions {
		if c.Type == corev1.PodScheduled && c.Status != corev1.ConditionTrue {
			slim.Status.Conditions = append(slim.Status.Conditions,
				corev1.PodCondition{Type: c.Type, Status: c.Status, Reason: c.Reason, Message: c.Message})
		}
	}
	return slim, nil
}

// slimContainers keeps the containers that wait, and why they last stopped.
func slimContainers(containers []corev1.ContainerStatus) []corev1.ContainerStatus {
	var slim []corev1.ContainerStatus
	for _, container := range containers {
		if container.State.Waiting == nil {
			continue
		}
		kept := corev1.ContainerStatus{Name: container.Name}
		kept.State.Waiting = container.State.Waiting
		if last := container.LastTerminationState.Terminated; last != nil {
			kept.LastTerminationState.Terminated = &corev1.ContainerStateTerminated{Reason: last.Reason, ExitCode: last.ExitCode}
		}
		slim = append(slim, kept)
	}
	return slim
}
